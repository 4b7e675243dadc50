package nrepl

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reflection-dev/zeno/nrepl/bencode"
)

// output gathers what a job and the futures it started print, and sends it while they run: a chunk when there is one, or
// what there is after a moment. The order of the two streams is kept. What is printed after the job's end, by a future,
// carries its id too.
type output struct {
	j *job

	mu    sync.Mutex
	key   string // of buf: out or err
	buf   []byte
	timer *time.Timer // set while something waits for it
}

// stream is one of the two streams, to write to.
type stream struct {
	o   *output
	key string
}

func (s stream) Write(p []byte) (int, error) {
	s.o.write(s.key, p)
	return len(p), nil
}

func (o *output) write(key string, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if key != o.key {
		o.sendAll()
		o.key = key
	}
	chunk := o.j.x.s.conf.Chunk
	for len(p) > 0 {
		n := min(len(p), max(chunk-len(o.buf), 1))
		o.buf = append(o.buf, p[:n]...)
		p = p[n:]
		if len(o.buf) >= chunk {
			o.sendWhole()
		}
	}
	if len(o.buf) > 0 && o.timer == nil {
		o.timer = time.AfterFunc(o.j.x.s.conf.FlushAfter, o.tick)
	}
}

func (o *output) tick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = nil
	o.sendWhole()
}

// flush sends everything.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sendAll()
}

// conclude sends everything before the last message of the job.
func (o *output) conclude() {
	if o.j.interrupted.Load() { // who interrupts wants no more, and what does not stop may be printing
		return
	}
	o.flush()
}

// sendWhole sends all but the beginning of a character whose rest is still to come.
func (o *output) sendWhole() {
	n := whole(o.buf)
	o.emit(string(o.buf[:n]))
	o.buf = append(o.buf[:0], o.buf[n:]...)
}

func (o *output) sendAll() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	o.emit(string(o.buf))
	o.buf = o.buf[:0]
}

func (o *output) emit(s string) {
	if s == "" || o.j.interrupted.Load() {
		return
	}
	ctx := o.j.ctx
	if o.j.over.Load() {
		ctx = o.j.x.ctx
	}
	_ = o.j.r.c.out.send(ctx, o.j.r.dress(bencode.Dict{o.key: strings.ToValidUTF8(s, "\uFFFD")})) // a client that has gone reads nothing
}

// whole is how much of b ends with a character.
func whole(b []byte) int {
	for i := len(b) - 1; i >= max(len(b)-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				return len(b)
			}
			return i
		}
	}
	return len(b)
}
