package spawn

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// checkHeads holds that a session which is resumed goes on where the CLI is started. Its files were an agent's for a while,
// and one that had a shell could write into them: a CLI that goes to the directory its session names would start and read
// what lies there, which the entry's own Dir is to prevent.
func checkHeads(session, pattern, dir string) error {
	if pattern == "" || path.Ext(pattern) != ".jsonl" {
		return nil
	}
	return filepath.WalkDir(session, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("failed to read the session: %w", err)
		}
		if match, _ := path.Match(pattern, entry.Name()); !match || !entry.Type().IsRegular() { // Validate has tried the pattern
			return nil
		}
		in, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("failed to read the session: %w", err)
		}
		defer in.Close()
		if err := checkHead(in, dir); err != nil {
			return &requestError{fmt.Errorf("resume: the session's file %s: %w; start a new session", entry.Name(), err)}
		}
		return nil
	})
}

// maxSessionLine bounds a line of a session's file, in bytes: an agent may have written it, and zeno holds it to read it.
const maxSessionLine = 64 << 20

// checkHead looks at every line, since a CLI may take any of them for the header.
func checkHead(in io.Reader, dir string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxSessionLine)
	for lines.Scan() {
		if err := checkLine(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff")), dir); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("got a line of more than %d MiB, which no CLI writes", maxSessionLine>>20)
	}
	return lines.Err()
}

// checkLine reads each value of a line, for a lenient reader may take several. What is left of a line that was cut off is
// nothing to a CLI, unless it could name a directory.
func checkLine(line []byte, dir string) error {
	values := json.NewDecoder(bytes.NewReader(line))
	for {
		var head map[string]json.RawMessage // a struct would take Cwd for cwd, which no CLI does
		at := values.InputOffset()
		err := values.Decode(&head)
		var other *json.UnmarshalTypeError // a value that is no object
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &other):
		case err != nil:
			if rest := line[at:]; bytes.Contains(rest, []byte("cwd")) || bytes.Contains(rest, []byte(`\u00`)) || bytes.Contains(rest, []byte("Directories")) {
				return errors.New("got a broken line that names a directory")
			}
			return nil
		}
		var kind string
		if json.Unmarshal(head["type"], &kind) != nil || kind != "session" {
			continue
		}
		if err := checkCwd(head["cwd"], head["additionalDirectories"], dir); err != nil {
			return err
		}
	}
}

func checkCwd(cwd, added json.RawMessage, dir string) error {
	var name string
	if len(cwd) > 0 && (json.Unmarshal(cwd, &name) != nil || filepath.Clean(name) != filepath.Clean(dir)) {
		return fmt.Errorf("got %.300s as the directory to go on in, want %s: it began with another :work, or an agent wrote that", cwd, dir)
	}
	if list := strings.TrimSpace(string(added)); list != "" && list != "[]" && list != "null" {
		return fmt.Errorf("got the further directories %.300s, want none: an agent wrote that", list)
	}
	return nil
}
