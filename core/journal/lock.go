package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// lockFile makes this process the only one that writes the journal: whoever holds the lock also resumes what it finds
// begun, and two must not do that. The lock goes with the process, however it ends.
func lockFile(ctx context.Context, file string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			return nil, fmt.Errorf("%w; give this user write access to its directory (%w)", ErrReadOnly, err)
		}
		return nil, fmt.Errorf("failed to make the lock: %w", err)
	}
	for end := time.Now().Add(wait); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if ctx.Err() != nil || time.Now().After(end) || !errors.Is(err, syscall.EWOULDBLOCK) {
			holder, _ := os.ReadFile(file)
			_ = f.Close()
			if !errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, fmt.Errorf("failed to lock it: %w", err)
			}
			return nil, fmt.Errorf("%w; end process %s, or use another home", ErrLocked, strings.TrimSpace(string(holder)))
		}
		time.Sleep(min(20*time.Millisecond, wait))
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%d\n", os.Getpid()) // for the error of another; the lock is what counts
	}
	return f, nil
}
