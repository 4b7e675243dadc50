package cli

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"

	"github.com/reflection-dev/zeno/core/home"
)

// historyFile is where the REPL's lines are kept: in the state directory of the home, else with the state of the user.
// It is "" where neither is to be had.
func historyFile(h *home.Home, getenv func(string) string) string {
	if h != nil && h.Exists() {
		if dir, err := h.State(); err == nil {
			return filepath.Join(dir, "history")
		}
	}
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		if !filepath.IsAbs(getenv("HOME")) {
			return ""
		}
		dir = filepath.Join(getenv("HOME"), ".local", "state")
	}
	return filepath.Join(dir, "zeno", "history")
}

// Bounds of the history: a file that has grown to twice the entries is cut when it is opened.
const (
	maxEntries = liner.HistoryLimit
	maxEntry   = 4096 // bytes; longer inputs are not kept
)

// history is a file of one entry a line. Entries are added at once, so that a killed zeno keeps them, and only appended,
// so that two REPLs can share it. Without a file it keeps nothing: no REPL fails for its history.
type history struct {
	entries []string
	file    string
}

func openHistory(file string) *history {
	h := &history{file: file}
	if file == "" {
		return h
	}
	f, err := os.Open(file)
	if err != nil {
		return h
	}
	defer discard(f)
	total := 0
	in := bufio.NewScanner(io.LimitReader(f, 4*maxEntries*maxEntry))
	in.Buffer(nil, 2*maxEntry)
	for in.Scan() {
		total++
		h.entries = append(h.entries, in.Text())
		if len(h.entries) > maxEntries {
			h.entries = h.entries[1:]
		}
	}
	if total > 2*maxEntries {
		h.rewrite()
	}
	return h
}

// rewrite replaces the file by its last entries.
func (h *history) rewrite() {
	temp := h.file + ".new"
	if os.WriteFile(temp, []byte(strings.Join(h.entries, "\n")+"\n"), 0o600) == nil {
		_ = os.Rename(temp, h.file)
	}
}

func (h *history) add(entry string) {
	if h.file == "" || len(entry) > maxEntry {
		return
	}
	if os.MkdirAll(filepath.Dir(h.file), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer discard(f)
	_, _ = f.WriteString(entry + "\n")
}

// entriesOf gives what to keep of an input: nothing of one that starts with a space, as shells do, so that a secret can
// be typed. Several lines become one where that cannot change what they say.
func entriesOf(input string) []string {
	if strings.HasPrefix(input, " ") {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(input), "\n")
	for _, l := range lines {
		if len(lines) > 1 && (strings.Contains(l, ";") || strings.Count(l, `"`)%2 != 0) {
			return lines
		}
	}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return []string{strings.Join(lines, " ")}
}
