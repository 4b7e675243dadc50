package native

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/sandbox"
)

const (
	idWidth = 65536 // ids of one box
	idFirst = 100000
	idSlots = 4096
)

// idRanges hands out ranges of host ids that nobody else has: not a user of the host, not its /etc/subuid, not another
// box, also of another zeno. Ranges are locked as bytes of one file, so that they come back when a zeno ends.
type idRanges struct {
	file  *os.File
	taken []span

	mu   sync.Mutex
	used map[int]bool
}

type span struct{ from, to int } // to is excluded

func newIDRanges() (*idRanges, error) {
	maps, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return nil, err
	}
	if !mapped(string(maps)) {
		return nil, &sandbox.Unenforceable{Backend: "native", What: "that the box's root is not the host's",
			Why: "this zeno is root in a container that has no ids from 100000 on",
			Fix: "run zeno as an ordinary user, or give the container more ids"}
	}
	dir := "/run/zeno"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("failed to make the directory for locks of ids: %w", err)
	}
	f, err := os.OpenFile(dir+"/ids.lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("failed to open the locks of ids: %w", err)
	}
	r := &idRanges{file: f, used: map[int]bool{}}
	for _, name := range []string{"/etc/subuid", "/etc/subgid"} {
		text, _ := os.ReadFile(name)
		r.taken = append(r.taken, subIDs(string(text))...)
	}
	for _, name := range []string{"/etc/passwd", "/etc/group"} {
		text, _ := os.ReadFile(name)
		r.taken = append(r.taken, userIDs(string(text))...)
	}
	return r, nil
}

// mapped says whether the ids of boxes exist in this user namespace.
func mapped(uidMap string) bool {
	s := bufio.NewScanner(strings.NewReader(uidMap))
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) != 3 {
			continue
		}
		from, _ := strconv.ParseInt(f[0], 10, 64)
		n, _ := strconv.ParseInt(f[2], 10, 64)
		if from <= idFirst && from+n >= idFirst+idWidth {
			return true
		}
	}
	return false
}

func subIDs(text string) (out []span) {
	for _, line := range strings.Split(text, "\n") {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 3 {
			continue
		}
		from, err1 := strconv.Atoi(f[1])
		n, err2 := strconv.Atoi(f[2])
		if err1 == nil && err2 == nil {
			out = append(out, span{from, from + n})
		}
	}
	return out
}

func userIDs(text string) (out []span) {
	for _, line := range strings.Split(text, "\n") {
		if f := strings.Split(line, ":"); len(f) > 2 {
			if id, err := strconv.Atoi(f[2]); err == nil && id >= idFirst {
				out = append(out, span{id, id + 1})
			}
		}
	}
	return out
}

// take gives the first id of a free range and what gives it back.
func (r *idRanges) take() (base int, release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for slot := range idSlots {
		base := idFirst + slot*idWidth
		if r.used[slot] || r.overlaps(base) {
			continue
		}
		l := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(slot), Len: 1}
		err := unix.FcntlFlock(r.file.Fd(), unix.F_OFD_SETLK, &l)
		if err == unix.EAGAIN || err == unix.EACCES {
			continue
		}
		if err != nil {
			return 0, nil, fmt.Errorf("failed to lock a range of ids: %w", err)
		}
		r.used[slot] = true
		return base, func() { r.release(slot) }, nil
	}
	return 0, nil, errors.New("native: ids: got none that is free, want one range of 65536 from 100000 on: end other boxes")
}

func (r *idRanges) overlaps(base int) bool {
	for _, t := range r.taken {
		if base < t.to && t.from < base+idWidth {
			return true
		}
	}
	return false
}

func (r *idRanges) release(slot int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := unix.Flock_t{Type: unix.F_UNLCK, Start: int64(slot), Len: 1}
	unix.FcntlFlock(r.file.Fd(), unix.F_OFD_SETLK, &l)
	delete(r.used, slot)
}

func (r *idRanges) close() error { return r.file.Close() }
