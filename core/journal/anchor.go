package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Anchor names the event at the end of a journal, for keeping where whoever can change the file cannot: with it, Verify
// finds a journal that was rewritten as a whole, or cut short.
type Anchor struct {
	Seq  uint64 // 0: nothing is recorded yet
	Hash Hash
}

// anchorWord begins an anchor's text.
const anchorWord = "zeno-anchor-1"

// String is the anchor as text: zeno-anchor-1 SEQ HASH.
func (a Anchor) String() string { return fmt.Sprintf("%s %d %s", anchorWord, a.Seq, a.Hash) }

// ParseAnchor reads what String wrote. The first line counts, so that a file with an anchor may hold notes below it.
func ParseAnchor(s string) (Anchor, error) {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	words := strings.Fields(line)
	if len(words) != 3 || words[0] != anchorWord {
		return Anchor{}, fmt.Errorf("anchor: got %q, want %s SEQ HASH as `zeno journal anchor` prints it", line, anchorWord)
	}
	seq, err := strconv.ParseUint(words[1], 10, 63)
	if err != nil {
		return Anchor{}, fmt.Errorf("anchor: got the number %q, want that of an event", words[1])
	}
	hash, err := ParseHash(words[2])
	if err != nil {
		return Anchor{}, fmt.Errorf("anchor: %w", err)
	}
	return Anchor{seq, hash}, nil
}

// Anchor gives the end of the journal.
func (r *Reader) Anchor(ctx context.Context) (Anchor, error) {
	if err := r.settle(ctx); err != nil {
		return Anchor{}, err
	}
	a, err := r.end(ctx, r.db)
	return a, explain(r.file, err)
}

func (r *Reader) end(ctx context.Context, q querier) (Anchor, error) {
	a := Anchor{Hash: r.first}
	var hash []byte
	err := q.QueryRowContext(ctx, "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").Scan(&a.Seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		last, ok, err := lastSegment(ctx, q)
		if ok {
			a = Anchor{last.Last, last.End}
		}
		return a, err
	}
	copy(a.Hash[:], hash)
	return a, err
}
