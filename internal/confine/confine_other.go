//go:build !linux

package confine

import "errors"

// Exec is refused: only Linux has what it needs.
func Exec([]string, string, []string, []string) error {
	return errors.New("confine: got a system without landlock, want Linux")
}
