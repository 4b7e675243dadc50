package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/reflection-dev/zeno/examples"
	hometemplate "github.com/reflection-dev/zeno/home-template"
)

// templateMachine is the workflow that a new home uses.
const templateMachine = "queue"

// Run implements `zeno init`.
func (i *initCmd) Run(a *app) error {
	dir := i.Dir
	if dir == "" {
		dir = "."
	}
	machine, err := examples.Machine(templateMachine)
	if err != nil {
		return err
	}
	parts := map[string]fs.FS{dir: hometemplate.Files(), filepath.Join(dir, "machines", templateMachine): machine}
	for to, files := range parts {
		if err := refuseExisting(files, to); err != nil {
			return err
		}
	}
	for to, files := range parts {
		if err := extract(files, to); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.std.Out, `A home is in %s:

  init.joke        loaded at start: a process and a role
  src/notes.joke   what the role may do: two capabilities
  deps.edn         where namespaces are looked for, and libraries
  machines/queue   a workflow to share: a queue of work, item by item

Next:

  zeno --home %s                              the REPL; try (tick)
  zeno --home %[2]s eval --role clerk -e '(tools)'   see what an agent of the role sees
`, dir, quote(dir))
	return nil
}

// refuseExisting reports the first file of files that is in dir already.
func refuseExisting(files fs.FS, dir string) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if _, err := os.Lstat(target); err == nil {
			return usage(fmt.Errorf("%s is there already, and nothing is overwritten; name another directory", target))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return usage(err)
		}
		return nil
	})
}

// extract writes files below dir, never over what is there.
func extract(files fs.FS, dir string) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			err = os.MkdirAll(target, 0o755)
		} else {
			err = extractFile(files, path, target)
		}
		if err != nil {
			return fmt.Errorf("failed to write the home: %w", err)
		}
		return nil
	})
}

func extractFile(files fs.FS, path, target string) error {
	b, err := fs.ReadFile(files, path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// quote makes a word safe for a shell where it needs that.
func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-+~") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
