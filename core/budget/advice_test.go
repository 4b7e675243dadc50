package budget

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
)

// A full disk is no reason to move the file away.
func TestAdvice(t *testing.T) {
	db, err := sql.Open("sqlite", "file::memory:?_pragma=max_page_count(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, full := db.Exec("create table t (x); insert into t values (zeroblob(100000))")
	if full == nil || !strings.Contains(advice(full), "look at its space") {
		t.Errorf("%v: got %q", full, advice(full))
	}
	if got := advice(errors.New("made by another program")); !strings.Contains(got, "move it away") {
		t.Errorf("a file of another: got %q", got)
	}
}
