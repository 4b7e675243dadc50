package journal

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// What keeps a journal from being opened or written. Errors of this package wrap them.
var (
	ErrClosed   = errors.New("journal: is closed")
	ErrLocked   = errors.New("in use by another process")
	ErrNewer    = errors.New("written by a newer zeno")
	ErrForeign  = errors.New("no journal")
	ErrDamaged  = errors.New("damaged")
	ErrFull     = errors.New("the disk is full")
	ErrReadOnly = errors.New("not writable")
	ErrMissing  = errors.New("not there")
)

const adviceDamaged = "the file is left as it is: `zeno journal verify` tells how far it can be read; move it away, or put a backup in its place, and start again"

// code gives the primary result code of an error of SQLite; 0: it is none.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func noTransaction(err error) bool {
	return code(err) == lib.SQLITE_ERROR && strings.Contains(err.Error(), "no transaction")
}

// explain words an error of the file for whoever can do something about it.
func explain(file string, err error) error {
	if err == nil {
		return nil
	}
	wrap := func(kind error, advice string) error {
		return fmt.Errorf("journal: %s: %w; %s (%w)", file, kind, advice, err)
	}
	switch code(err) {
	case lib.SQLITE_FULL:
		return wrap(ErrFull, "free space; nothing that was accepted is lost")
	case lib.SQLITE_READONLY, lib.SQLITE_PERM:
		return wrap(ErrReadOnly, "give this user write access to the file and its directory")
	case lib.SQLITE_CANTOPEN:
		return wrap(ErrReadOnly, "give this user access to the directory")
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return wrap(ErrDamaged, adviceDamaged)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return wrap(ErrLocked, "end the process that writes to it, such as a sqlite3 shell with an open transaction")
	case lib.SQLITE_IOERR:
		return wrap(ErrFull, "the disk refuses to write or read: look at its space, its limits and its health")
	}
	return fmt.Errorf("journal: %s: %w", file, err)
}
