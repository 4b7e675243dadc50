package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// line is one line of a stream. A stream that ends without End was cut off.
type line struct {
	Item  json.RawMessage `json:"item,omitempty"`
	Error *Error          `json:"error,omitempty"`
	End   bool            `json:"end,omitempty"`
}

// errCut is what send gives once the caller has gone.
var errCut = errors.New("control: the caller has gone")

// stream answers in lines. An empty line now and then finds a caller that has gone.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, v Verb, q Request) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.flow, func() { cancel(errors.New("zeno is stopping")) })()
	out := &lines{w: w, c: http.NewResponseController(w), timeout: s.conf.WriteTimeout, cut: func() { cancel(errCut) }}
	var beats sync.WaitGroup
	beats.Go(func() { out.beat(ctx, s.conf.Beat) })
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	err := v.Stream(ctx, q, out.item)
	cause := context.Cause(ctx)
	cancel(nil)
	beats.Wait()
	switch {
	case err == nil:
	case errors.Is(cause, errCut):
		return nil // nobody listens
	case !out.begun:
		return err
	default:
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Failed, err.Error()}
		}
		_ = out.put(line{Error: e})
		return nil
	}
	_ = out.put(line{End: true})
	return nil
}

// lines writes the lines of one stream.
type lines struct {
	mu      sync.Mutex
	w       io.Writer
	c       *http.ResponseController
	timeout time.Duration
	cut     func()
	begun   bool
}

func (l *lines) item(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("failed to write a line as JSON: %w", err)
	}
	return l.put(line{Item: b})
}

func (l *lines) put(x line) error {
	b, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("failed to write a line as JSON: %w", err)
	}
	return l.write(append(b, '\n'))
}

func (l *lines) write(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
	_ = l.c.SetWriteDeadline(time.Now().Add(l.timeout))
	_, err := l.w.Write(b)
	if err == nil {
		err = l.c.Flush()
	}
	if err != nil {
		l.cut()
		return errCut
	}
	return nil
}

func (l *lines) beat(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if l.write([]byte("\n")) != nil {
				return
			}
		}
	}
}
