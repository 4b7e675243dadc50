package stdlib

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/reflection-dev/zeno/lisp/value"
)

// failed makes the exception of who, which failed to do something to what: `slurp: failed to read x.txt: …`.
func failed(who, do, what string, err error) *value.Exception {
	ex := value.Errorf(classOf(err), "%s: failed to %s %s: %s%s", who, do, what, reason(err), advice(err))
	ex.Err = err
	return ex
}

// check throws when err is one.
func check(who, do, what string, err error) {
	if err != nil {
		panic(failed(who, do, what, err))
	}
}

func classOf(err error) string {
	var ex *value.Exception
	switch {
	case errors.As(err, &ex):
		return ex.Class
	case errors.Is(err, fs.ErrNotExist):
		return "FileNotFoundException"
	case errors.Is(err, context.DeadlineExceeded):
		return "TimeoutException"
	}
	return "IOException"
}

// reason is err without the operation and the path, which the message has already.
func reason(err error) string {
	var p *fs.PathError
	var l *os.LinkError
	var s *os.SyscallError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	case errors.As(err, &s):
		err = s.Err
	}
	return err.Error()
}

func advice(err error) string {
	switch {
	case errors.Is(err, syscall.EISDIR):
		return "; (joker.os/ls …) lists a directory"
	case errors.Is(err, syscall.ENOTEMPTY):
		return "; (joker.os/remove-all …) removes a directory with what is in it"
	case errors.Is(err, fs.ErrClosed):
		return "; it is closed already"
	}
	return ""
}

// tooMuch says that a bound of the configuration was met.
func tooMuch(what string, limit int64, instead string) error {
	return fmt.Errorf("%s is larger than %d bytes; %s", what, limit, instead)
}
