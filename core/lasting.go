package core

import "sync"

// lasting calls f at the first need and keeps what it gives. What failed, for a disk that is full or a directory that
// cannot be written, is tried again at the next need: an instance that stays must not need a restart when that has passed.
func lasting[T any](f func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var made bool
	var v T
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if made {
			return v, nil
		}
		got, err := f()
		if err == nil {
			v, made = got, true
		}
		return got, err
	}
}
