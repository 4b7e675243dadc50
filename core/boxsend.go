package core

import "sync"

// lineSender sends the lines of two streams one at a time.
type lineSender struct {
	mu   sync.Mutex
	send func(any) error
}

func (s *lineSender) line(v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.send(v)
}

// sendTo is a function as an io.Writer.
type sendTo func([]byte) error

// Write implements io.Writer.
func (f sendTo) Write(b []byte) (int, error) {
	if err := f(b); err != nil {
		return 0, err
	}
	return len(b), nil
}
