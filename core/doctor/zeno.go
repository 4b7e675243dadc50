package doctor

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflection-dev/zeno/core/journal"
)

// zeno tries what zeno itself needs.
func zeno(conf Config) []attempt {
	return []attempt{
		{"zeno", "state", true, conf.state},
		{"zeno", "disk", true, conf.disk},
		{"zeno", "journal", true, conf.journal},
		{"zeno", "ports", true, ports},
		{"zeno", "clock", true, conf.clock},
		{"zeno", "files", false, files},
		{"zeno", "zones", false, zones},
		{"zeno", "certificates", false, certificates},
	}
}

// stateDir is where state is, or would be. A home that does not exist is not made.
func (conf Config) stateDir() string {
	for _, dir := range []string{filepath.Join(conf.Home, "state"), conf.Home} {
		if _, err := os.Stat(dir); conf.Home != "" && err == nil {
			return dir
		}
	}
	return os.TempDir()
}

// state writes, syncs, renames and removes a file, as every record of zeno's does.
func (conf Config) state(_ context.Context, c *Check) {
	dir := conf.stateDir()
	start := time.Now()
	if err := writeSynced(dir); err != nil {
		c.bad(Failed, fmt.Sprintf("make %s writable for this user, or name another home with --home", dir), "%v", err)
		return
	}
	c.ok("%s: written, synced and renamed in %d ms", dir, time.Since(start).Milliseconds())
	if info, err := os.Stat(dir); err == nil && filepath.Base(dir) == "state" && info.Mode().Perm()&0o077 != 0 {
		c.bad(Warn, "chmod 700 "+dir, "%s is open to other users (%v)", dir, info.Mode().Perm())
	}
}

func writeSynced(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	name := f.Name()
	defer os.Remove(name)
	_, err = f.Write(make([]byte, 4096))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	to := name + ".renamed"
	if err := os.Rename(name, to); err != nil {
		return err
	}
	return os.Remove(to)
}

// Below these a journal or a box soon fails.
const (
	leastDisk = 100 << 20
	wantDisk  = 1 << 30
)

func (conf Config) disk(_ context.Context, c *Check) {
	dir := conf.stateDir()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		c.bad(Failed, "", "%s: %v", dir, err)
		return
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	c.ok("%s: %.1f GB free", dir, float64(free)/(1<<30))
	if free < leastDisk {
		c.bad(Failed, "free some space, or put the home elsewhere", "%s: %d MB free, want at least %d", dir, free>>20, leastDisk>>20)
	} else if free < wantDisk {
		c.bad(Warn, "free some space: `zeno gc` drops old transcripts", "%s: %d MB free", dir, free>>20)
	}
}

// openJournal gives the home's journal; nil where there is none.
func (conf Config) openJournal(ctx context.Context) (*journal.Reader, error) {
	if conf.Home == "" {
		return nil, nil
	}
	r, err := journal.OpenReader(ctx, filepath.Join(conf.Home, "state", "journal.db"))
	if errors.Is(err, journal.ErrMissing) {
		return nil, nil
	}
	return r, err
}

// journal verifies the chain as far as the time lasts.
func (conf Config) journal(ctx context.Context, c *Check) {
	const fix = "`zeno journal verify` says more; keep a copy of the file before anything else"
	r, err := conf.openJournal(ctx)
	if err != nil {
		c.bad(Failed, fix, "%v", err)
		return
	}
	if r == nil {
		c.ok("none yet; the first event makes it")
		return
	}
	defer r.Close()
	rep, err := r.Verify(ctx, journal.Anchor{})
	switch {
	case ctx.Err() != nil:
		c.bad(Warn, "`zeno journal verify` checks all of it", "%d events hold; the time was too short for the rest", rep.Events)
	case err != nil:
		c.bad(Failed, fix, "%v", err)
	case rep.Broken != nil:
		c.bad(Failed, fix, "%v", rep.Broken)
	default:
		c.ok("%d events hold", rep.Events)
	}
}

// ports listens as the gateway and the editors' door do, and connects to it.
func ports(ctx context.Context, c *Check) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.bad(Failed, "bring up lo: `ip link set lo up`", "no listener on 127.0.0.1: %v", err)
		return
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.WriteString(conn, "x")
			_ = conn.Close()
		}
	}()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	if err == nil {
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		_, err = io.ReadFull(conn, make([]byte, 1))
	}
	if err != nil {
		c.bad(Failed, "let this user's processes talk over lo: a firewall rule or a sandbox around zeno forbids it", "127.0.0.1 does not answer itself: %v", err)
		return
	}
	c.ok("listened and connected on 127.0.0.1")
}

// clock compares the wall clock with the newest event: tokens expire and schedules run by it.
func (conf Config) clock(ctx context.Context, c *Check) {
	const fix = "set the clock: `timedatectl set-ntp true`, or the package chrony"
	now := time.Now()
	if now.Year() < 2025 {
		c.bad(Failed, fix, "the clock says %s", now.Format(time.DateOnly))
		return
	}
	if r, err := conf.openJournal(ctx); err == nil && r != nil {
		defer r.Close()
		if es, err := r.Tail(ctx, 1); err == nil && len(es) == 1 && es[0].At.After(now.Add(time.Minute)) {
			c.bad(Failed, fix, "the clock says %s, and the journal's newest event is of %s", now.UTC().Format(time.RFC3339), es[0].At.UTC().Format(time.RFC3339))
			return
		}
	}
	c.ok("%s", now.UTC().Format(time.RFC3339))
	if !synchronised() {
		c.bad(Warn, fix, "%s; the system does not say that it is kept right", c.Detail)
	}
}

// leastFiles is what spawns with their pipes and connections need, roughly.
const leastFiles = 1024

func files(_ context.Context, c *Check) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		c.bad(Failed, "", "%v", err)
		return
	}
	c.ok("%d open files", l.Cur)
	if l.Cur < leastFiles {
		c.bad(Warn, "`ulimit -n 4096`, or LimitNOFILE= of the unit", "%d open files, want at least %d", l.Cur, leastFiles)
	}
}

func zones(_ context.Context, c *Check) {
	if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
		c.bad(Missing, "apt-get install tzdata", "schedules with a :zone do not work: %v", err)
		return
	}
	c.ok("time zones are known")
}

func certificates(_ context.Context, c *Check) {
	pool, err := x509.SystemCertPool()
	if err != nil || pool.Equal(x509.NewCertPool()) {
		c.bad(Missing, "apt-get install ca-certificates", "no certificates of authorities: no https")
		return
	}
	c.ok("certificates of authorities are there")
}
