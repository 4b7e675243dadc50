package msb

import (
	"context"
	"time"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/volume"
)

// diskTick is how often a volume is counted, at most: never for more than a fifth of the time.
const diskTick = 100 * time.Millisecond

// maxFiles bounds the files of a volume, where Disk allows fewer of 4 KiB.
const maxFiles = 1 << 16

// watch ends the box when a bound of time, silence or disk is passed, or ctx ends. stop ends the watching and waits for it.
func (y *body) watch(ctx context.Context, first *program, volumeDir string) (stop func()) {
	done := make(chan struct{})
	over := make(chan struct{}, 2)
	go func() {
		y.watchTime(ctx, first, done)
		over <- struct{}{}
	}()
	go func() {
		if volumeDir != "" {
			y.watchDisk(volumeDir, done)
		}
		over <- struct{}{}
	}()
	return func() {
		close(done)
		<-over
		<-over
	}
}

func (y *body) watchTime(ctx context.Context, first *program, done <-chan struct{}) {
	timeout := time.NewTimer(y.spec.Timeout)
	defer timeout.Stop()
	ttl := time.NewTimer(y.spec.TTL)
	defer ttl.Stop()
	var idle <-chan time.Time
	if y.spec.IdleTimeout > 0 {
		t := time.NewTicker(max(y.spec.IdleTimeout/20, time.Millisecond))
		defer t.Stop()
		idle = t.C
	}
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			y.kill(sandbox.KilledCancel)
			return
		case <-timeout.C:
			y.kill(sandbox.KilledTimeout)
			return
		case <-ttl.C:
			y.kill(sandbox.KilledTTL)
			return
		case <-idle:
			if y.idleFor(first) > y.spec.IdleTimeout {
				y.kill(sandbox.KilledIdle)
				return
			}
		}
	}
}

// idleFor is how long no program of the box has put anything out; its start is no silence.
func (y *body) idleFor(first *program) time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	if !y.up {
		return 0
	}
	last := first.last.Load()
	for p := range y.programs {
		last = max(last, p.last.Load())
	}
	return time.Since(time.Unix(0, last))
}

// watchDisk counts the volume: msb bounds a volume only when it makes it, and never again.
func (y *body) watchDisk(dir string, done <-chan struct{}) {
	most := max(int64(maxFiles), y.spec.Disk/4096)
	for {
		begin := time.Now()
		bytes, files, err := volume.Usage(dir, y.spec.Disk)
		if err != nil || bytes > y.spec.Disk || files > most {
			y.kill(sandbox.KilledDisk)
			return
		}
		select {
		case <-done:
			return
		case <-time.After(max(diskTick, 5*time.Since(begin))):
		}
	}
}
