package native

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// seat is a first process that waits to be told what to be, with what it holds on the host: nothing of it depends on the
// spec, so that one can be made before it is asked for.
type seat struct {
	b      *Backend
	id     string
	base   int // first id of the box on the host; 0 where the box has the caller's
	group  *group
	record *os.File
	proc   *process
	undo   []func()
}

// newSeat makes one.
func (b *Backend) newSeat() (*seat, error) {
	s := &seat{b: b, id: newID()}
	if err := s.make(); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

func (s *seat) make() error {
	h := &s.b.host
	prog, err := h.stageTwo(s.b.cfg.Stage2, s.b.cfg.Self)
	if err != nil {
		return err
	}
	if h.root {
		base, release, err := h.ids.take()
		if err != nil {
			return err
		}
		s.base = base
		s.undo = append(s.undo, release)
	}
	if err := s.claim(); err != nil {
		return err
	}
	if s.proc, err = fork(prog, s.group, s.base, h.dumpable); err != nil {
		return err
	}
	return s.note(record{Pid: s.proc.pid, PidStart: s.proc.start})
}

// claim writes the record and makes the cgroups.
func (s *seat) claim() (err error) {
	h := &s.b.host
	rec := &record{ID: s.id, Owner: os.Getpid(), OwnerStart: h.start}
	var g *group
	if h.cgroups.usable() {
		g = h.cgroups.plan(s.id, os.Getpid(), h.start)
		rec.Cgroups = g.paths()
	}
	if s.record, err = s.b.create(rec); err != nil {
		return err
	}
	s.undo = append(s.undo, func() {
		s.record.Close()
		os.Remove(s.b.recordPath(s.id))
	})
	if g != nil {
		if err := g.make(); err != nil {
			return err
		}
		s.group = g
		s.undo = append(s.undo, s.removeGroup)
	}
	return nil
}

func (s *seat) removeGroup() {
	if err := s.group.remove(); err != nil {
		s.b.event("leftover", s.id, "%v", err)
	}
}

// note adds a line to the record: what is zero in it stays as it was.
func (s *seat) note(r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := s.record.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("failed to record a box: %w", err)
	}
	return nil
}

// release gives everything back; called again it does nothing. The process has ended, or nobody has been given the seat.
func (s *seat) release() {
	if s.proc != nil {
		s.proc.end()
	}
	for i := len(s.undo) - 1; i >= 0; i-- {
		s.undo[i]()
	}
	s.undo = nil
}

// spareLife is how long a spare waits, and how closely runs have to follow one another for one to be made.
const spareLife = 2 * time.Second

// takeSeat gives the spare, or a new one.
func (b *Backend) takeSeat() (*seat, error) {
	h := &b.host
	h.mu.Lock()
	s := h.spare
	h.spare = nil
	h.mu.Unlock()
	if s != nil && alive(s.proc.pid, s.proc.start) {
		return s, nil
	}
	if s != nil {
		s.release()
	}
	return b.newSeat()
}

// follow is called at the end of a run: where runs follow one another it has the seat of the next one made meanwhile.
func (b *Backend) follow() {
	h := &b.host
	h.mu.Lock()
	defer h.mu.Unlock()
	soon := time.Since(h.lastRun) < spareLife
	h.lastRun = time.Now()
	if !soon || b.cfg.NoSpare || h.closed || h.making || h.spare != nil {
		return
	}
	h.making = true
	h.background.Add(1)
	go b.makeSpare()
}

func (b *Backend) makeSpare() {
	h := &b.host
	defer h.background.Done()
	s, err := b.newSeat()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.making = false
	if err != nil {
		return // the next run makes its own, and says why it cannot
	}
	h.spare = s // Close waits for this goroutine and then looks
	time.AfterFunc(spareLife, func() { h.expire(s) })
}

// expire ends a spare that nobody wanted.
func (h *host) expire(s *seat) {
	h.mu.Lock()
	if h.spare != s || h.closed {
		h.mu.Unlock()
		return
	}
	h.spare = nil
	h.background.Add(1)
	h.mu.Unlock()
	defer h.background.Done()
	s.release()
}

// endSpares ends the spare and waits for one that is being made.
func (h *host) endSpares() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.background.Wait()
	h.mu.Lock()
	s := h.spare
	h.spare = nil
	h.mu.Unlock()
	if s != nil {
		s.release()
	}
}
