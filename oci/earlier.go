package oci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// archiveNote says which file an archive was written to, as what. A file that was changed since has another state.
type archiveNote struct {
	Path  string    `json:"path"`
	Meta  string    `json:"meta"` // digest of its small files, which name all that is in it
	State fileState `json:"state"`
}

// fileState changes with every change of a file's content, and when another takes its name: nobody can set the time of the
// change (ctime) but the kernel.
type fileState struct {
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	Size    int64  `json:"size"`
	Changed int64  `json:"changed"` // ns
}

// earlier is an archive that was written before, unchanged since. Nil is none.
type earlier struct {
	note  archiveNote
	files *tarFiles
}

func (a ArchiveFile) notePath() (path, file string) {
	path, err := filepath.Abs(a.Path)
	if err != nil || a.Notes == "" {
		return "", ""
	}
	h := sha256.Sum256([]byte(path))
	return path, filepath.Join(a.Notes, hex.EncodeToString(h[:16])+".json")
}

// last gives what was written there last; nil where it is not there any more, or was changed.
func (a ArchiveFile) last(ctx context.Context) *earlier {
	path, file := a.notePath()
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	var e earlier
	if err != nil || json.Unmarshal(text, &e.note) != nil || e.note.Path != path {
		return nil
	}
	f, err := os.Open(a.Path)
	if err != nil {
		return nil
	}
	if now, ok := stateOf(f); !ok || now != e.note.State {
		f.Close()
		return nil
	}
	if e.files, err = indexTar(ctx, f); err != nil {
		return nil
	}
	return &e
}

// note notes what was written. That it could not costs time only.
func (a ArchiveFile) note(files []File) {
	path, file := a.notePath()
	if file == "" {
		return
	}
	f, err := os.Open(a.Path)
	if err != nil {
		return
	}
	defer f.Close()
	state, ok := stateOf(f)
	if !ok {
		return
	}
	text, err := json.Marshal(archiveNote{path, metaDigest(files), state})
	if err == nil && os.MkdirAll(a.Notes, 0o700) == nil {
		_ = replace(file, text, false)
	}
}

func metaDigest(files []File) string {
	var all []byte
	for _, f := range files {
		all = append(append(all, f.Name...), 0)
		all = append(append(all, f.Text...), 0)
	}
	return digest(all)
}

func (e *earlier) is(files []File) bool { return e != nil && e.note.Meta == metaDigest(files) }

// has tells where the archive has a blob.
func (e *earlier) has(name string, size int64) (at int64, ok bool) {
	if e == nil {
		return 0, false
	}
	m, ok := e.files.members[name]
	return m.at, ok && m.link == "" && m.size == size
}

func (e *earlier) file() *os.File { return e.files.file }

func (e *earlier) close() {
	if e != nil {
		e.files.Close()
	}
}
