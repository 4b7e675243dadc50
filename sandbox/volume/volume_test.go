//go:build unix

package volume

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reflection-dev/zeno/sandbox"
)

func TestAVolumeHasOneHolder(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "v")}
	made, err := s.Ensure("a1")
	if err != nil || !made {
		t.Fatalf("got %v %v, want it made", made, err)
	}
	if made, err := s.Ensure("a1"); err != nil || made {
		t.Fatalf("got %v %v, want it there", made, err)
	}
	held, err := s.Lock("a1", "spawn S-1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Lock("a1", "spawn S-2")
	var busy *sandbox.Busy
	if !errors.As(err, &busy) || busy.Holder != "spawn S-1" {
		t.Fatalf("got %v, want it busy with spawn S-1", err)
	}
	if err := s.Remove("a1"); !errors.As(err, &busy) {
		t.Errorf("remove of a held volume: got %v, want Busy", err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Holder != "spawn S-1" {
		t.Errorf("got %+v %v, want one held by spawn S-1", list, err)
	}
	held.Close()
	if again, err := s.Lock("a1", "x"); err != nil {
		t.Errorf("after Close: %v", err)
	} else {
		again.Close()
	}
	if err := s.Remove("a1"); err != nil {
		t.Error(err)
	}
	if list, _ := s.List(); len(list) != 0 {
		t.Errorf("got %v after remove, want none", list)
	}
}

func TestNamesOfVolumes(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	for _, name := range []string{"", "..", ".", "a/b", "../x", "A", "a..b", "-a", strings.Repeat("a", 64), "a\x00b", "ä"} {
		if _, err := s.Ensure(name); err == nil {
			t.Errorf("%q was accepted", name)
		}
		if _, err := s.Lock(name, "x"); err == nil {
			t.Errorf("%q was locked", name)
		}
		if err := s.Remove(name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
}

// A box may leave links: counting and removing follow none.
func TestHostileContent(t *testing.T) {
	outside := t.TempDir()
	keep := filepath.Join(outside, "keep")
	if err := os.WriteFile(keep, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Store{Dir: t.TempDir()}
	if _, err := s.Ensure("v"); err != nil {
		t.Fatal(err)
	}
	os.Symlink(outside, filepath.Join(s.Path("v"), "dir"))
	os.Symlink(keep, filepath.Join(s.Path("v"), "file"))
	os.MkdirAll(filepath.Join(s.Path("v"), "a", "b"), 0o700)
	os.Chmod(filepath.Join(s.Path("v"), "a"), 0)
	if n, _, _ := Usage(s.Path("v"), 1<<40); n >= 1<<20 {
		t.Errorf("got %d bytes, want the link's target not counted", n)
	}
	if err := s.Remove("v"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Errorf("the target of a link was removed: %v", err)
	}
}

// Files in a volume may be anyone's and set-user-id: no other user can reach them.
func TestNobodyElseEntersAVolume(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "v")}
	if _, err := s.Ensure("a"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{s.Dir, filepath.Join(s.Dir, "a")} {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: got %v %v, want 0700", dir, st.Mode(), err)
		}
	}
}

// A lock on the file of a volume that was removed meanwhile would lock nothing.
func TestALockOnARemovedVolume(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	if _, err := s.Ensure("a"); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(s.Dir, "a", lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if gone(f) {
		t.Error("a file that is there is taken for gone")
	}
	if err := s.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if !gone(f) {
		t.Error("a file that is gone is taken for there")
	}
	s.Ensure("a")
	os.Create(filepath.Join(s.Dir, "a", lockName))
	if !gone(f) {
		t.Error("another file of the name is taken for it")
	}
}

// Who lists volumes, or has a copy of the lock because it is being started, keeps nobody from taking one that is free.
func TestAFreeVolumeCanBeTaken(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	if _, err := s.Ensure("a"); err != nil {
		t.Fatal(err)
	}
	done, listing := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(listing)
		for {
			select {
			case <-done:
				return
			default:
				if list, err := s.List(); err != nil || len(list) != 1 {
					t.Errorf("got %v %v, want one volume", list, err)
				}
			}
		}
	}()
	for i := range 300 {
		held, err := s.Lock("a", "x")
		if err != nil {
			t.Fatalf("time %d: got %v, want it taken", i, err)
		}
		copied, err := syscall.Dup(int(held.file.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		held.Close()
		if again, err := s.Lock("a", "y"); err != nil {
			t.Errorf("time %d: got %v, want it free where its holder gave it back", i, err)
		} else {
			again.Close()
		}
		syscall.Close(copied)
	}
	close(done)
	<-listing
}

// What a killed holder wrote is not told of who came after it.
func TestTheHolderIsTheOneThatHolds(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	if _, err := s.Ensure("a"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "a", lockName), []byte("a zeno that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := s.Lock("a", "")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	var busy *sandbox.Busy
	if _, err := s.Lock("a", "x"); !errors.As(err, &busy) || busy.Holder != "another process" {
		t.Errorf("got %v, want the holder not told", err)
	}
}
