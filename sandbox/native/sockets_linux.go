package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reflection-dev/zeno/sandbox"
)

// checkRead refuses to show what a service of the host listens in: that a mount is read-only keeps nobody from connecting to
// a socket in it. The kernel lists the sockets of this network namespace; one that is made later, or by another namespace,
// is not seen. real are the same paths without links.
func checkRead(read, real []string) error {
	if len(read) == 0 {
		return nil
	}
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return fmt.Errorf("failed to list the sockets of this host: %w", err)
	}
	for i, shown := range read {
		if s := socketIn(string(text), real[i]); s != "" {
			return &sandbox.FieldError{Field: fmt.Sprintf(":read %d", i),
				Text: fmt.Sprintf("got %q, where the socket %s is, want files and directories without one: a box could talk to the service behind it", shown, s)}
		}
	}
	return nil
}

// socketIn gives a socket that is shown, or "". It may be named by way of links.
func socketIn(table, real string) string {
	for line := range strings.Lines(table) {
		at := strings.IndexByte(line, '/')
		if at < 0 || strings.HasSuffix(line[:at], "@") {
			continue // without a name, or an abstract one, which the network namespace keeps out
		}
		name := strings.TrimSuffix(line[at:], "\n")
		dir, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil {
			continue
		}
		if full := filepath.Join(dir, filepath.Base(name)); within(full, real) {
			if st, err := os.Lstat(full); err == nil && st.Mode()&os.ModeSocket != 0 {
				return full
			}
		}
	}
	return ""
}
