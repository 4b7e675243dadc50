package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reflection-dev/zeno/core/home"
)

// failedDir is where deliveries lie whose work failed or whose end nobody knows, until somebody decides.
const failedDir = "failed"

// maxFailed bounds how many of them are kept; the oldest go.
const maxFailed = 1000

// Delivery is one request that was accepted.
type Delivery struct {
	Hook     string            `json:"hook"`
	ID       string            `json:"id"`
	Received time.Time         `json:"received"`
	Headers  map[string]string `json:"headers"` // names in small letters
	Body     string            `json:"body"`
	Error    string            `json:"error,omitempty"` // why it lies with the failed ones
}

// spool keeps the deliveries of one hook, each in a file, so that none that was accepted is lost. It is used with the
// hook's mu held.
type spool struct {
	dir   string
	last  int64
	files []string        // pending, the oldest first
	keys  map[string]bool // of the pending
}

func keyOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// key is that of a file: TIME-KEY.json.
func key(file string) string {
	_, k, _ := strings.Cut(strings.TrimSuffix(file, ".json"), "-")
	return k
}

func openSpool(dir string) (*spool, error) {
	if err := os.MkdirAll(filepath.Join(dir, failedDir), 0o700); err != nil {
		return nil, fmt.Errorf("webhook: failed to make the place for deliveries: %w", err)
	}
	s := &spool{dir: dir, keys: map[string]bool{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("webhook: failed to look for deliveries: %w", err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, ".part-"):
			_ = os.Remove(filepath.Join(dir, name)) // never accepted
		case strings.HasSuffix(name, ".json"):
			s.files = append(s.files, name)
			s.keys[key(name)] = true
		}
	}
	slices.Sort(s.files)
	return s, nil
}

// add keeps d. When it returns, d would survive a crash of the machine.
func (s *spool) add(d Delivery) (file string, err error) {
	b, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	s.last = max(s.last+1, d.Received.UnixNano())
	file = fmt.Sprintf("%020d-%s.json", s.last, keyOf(d.ID))
	if err := home.WriteSynced(filepath.Join(s.dir, file), b); err != nil {
		return "", fmt.Errorf("failed to keep the delivery: %w", err)
	}
	s.files = append(s.files, file)
	s.keys[key(file)] = true
	return file, nil
}

func (s *spool) read(file string) (Delivery, error) {
	var d Delivery
	b, err := os.ReadFile(filepath.Join(s.dir, file))
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	return d, err
}

// remove forgets a pending file; it is gone before anything else is done.
func (s *spool) remove(file string) error {
	s.files = slices.DeleteFunc(s.files, func(f string) bool { return f == file })
	delete(s.keys, key(file))
	err := os.Remove(filepath.Join(s.dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// fail puts a pending delivery to the failed ones.
func (s *spool) fail(file string, d Delivery, why string) error {
	d.Error = why
	b, err := json.Marshal(d)
	if err == nil {
		err = home.WriteSynced(filepath.Join(s.dir, failedDir, file), b)
	}
	if err != nil {
		return fmt.Errorf("failed to put the delivery to the failed ones: %w", err)
	}
	old := s.failedFiles()
	for _, f := range old[:max(0, len(old)-maxFailed)] {
		_ = os.Remove(filepath.Join(s.dir, failedDir, f))
	}
	return s.remove(file)
}

func (s *spool) failedFiles() []string {
	entries, _ := os.ReadDir(filepath.Join(s.dir, failedDir))
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			out = append(out, e.Name())
		}
	}
	return out // ReadDir sorts
}

// failed gives the failed deliveries, the oldest first.
func (s *spool) failed() []Delivery {
	var out []Delivery
	for _, f := range s.failedFiles() {
		if d, err := s.read(filepath.Join(failedDir, f)); err == nil {
			out = append(out, d)
		}
	}
	return out
}

// again makes a failed delivery pending, as the newest.
func (s *spool) again(id string) (bool, error) {
	for _, f := range s.failedFiles() {
		if key(f) != keyOf(id) {
			continue
		}
		d, err := s.read(filepath.Join(failedDir, f))
		if err != nil {
			return false, err
		}
		d.Error = ""
		if _, err := s.add(d); err != nil {
			return false, err
		}
		return true, os.Remove(filepath.Join(s.dir, failedDir, f))
	}
	return false, nil
}
