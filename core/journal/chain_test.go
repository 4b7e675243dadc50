package journal

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whatever is changed, Verify names the first event that does not hold.
func TestVerifyFindsEveryChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j.db")
	s := openAt(t, file, func(c *Config) { c.SegmentEvents = 10 })
	add(t, s, 30, true)
	anchor, err := s.Anchor(bg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Redact(bg, []uint64{5}, "a test"); err != nil {
		t.Fatal(err)
	}
	rep := verified(t, s.Reader, Anchor{})
	if rep.Events != 31 || rep.Segments != 3 || rep.Redacted != 1 || rep.From.Seq != 0 || rep.To.Seq != 31 {
		t.Errorf("got %+v, want 31 events, 3 segments, 1 redacted", rep)
	}
	closeStore(t, s)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change, want string
		anchored     bool // found with the anchor only
	}{
		{"UPDATE events SET kind = 'x' WHERE seq = 7", "event 7: was changed", false},
		{"UPDATE events SET at = at + 1 WHERE seq = 1", "event 1: was changed", false},
		{"UPDATE events SET role = role || 'x' WHERE seq = 12", "event 12: was changed", false},
		{"UPDATE events SET spawn = '' WHERE seq = 12", "event 12: was changed", false},
		{"UPDATE events SET outcome = 'error' WHERE seq = 12", "event 12: was changed", false},
		{"UPDATE events SET elapsed = 0 WHERE seq = 12", "event 12: was changed", false},
		{"UPDATE events SET payload_hash = x'' WHERE seq = 12", "event 12: was changed", false},
		{"UPDATE events SET hash = zeroblob(32) WHERE seq = 31", "event 31: was changed", false},
		{"UPDATE events SET hash = x'00' WHERE seq = 31", "event 31: has a hash of the wrong length", false},
		{"UPDATE payloads SET data = replace(data, '4', '5') WHERE seq = 15", "event 15: has other data", false},
		{"UPDATE payloads SET data = NULL WHERE seq = 15", "event 15: lacks its data", false},
		{"UPDATE payloads SET salt = zeroblob(16) WHERE seq = 15", "event 15: has other data", false},
		{"DELETE FROM payloads WHERE seq = 15", "event 15: lacks its data", false},
		{"DELETE FROM events WHERE seq = 15", "event 16: follows event 14", false},
		{"DELETE FROM events WHERE seq <= 10", "event 11: follows event 0", false},
		{"DELETE FROM events WHERE seq > 25", "event 26: is missing: segment 3", false},
		{"UPDATE segments SET last = 9, dropped = 1 WHERE id = 1", "segment 1: was changed", false},
		{"UPDATE segments SET seal = zeroblob(32) WHERE id = 2", "segment 2: was changed", false},
		{"DELETE FROM segments WHERE id = 2", "segment 2: is missing", false},
		{"UPDATE segments SET dropped = 1 WHERE id = 2", "segment 2: was dropped although", false},
		{"UPDATE meta SET value = zeroblob(16)", "segment 1: was changed", false},
		{"DELETE FROM events WHERE seq > 29; DELETE FROM segments WHERE id = 3", "event 30: is missing: the anchor names it", true},
		{rewrite, "event 30: is not the one that the anchor names", true},
	} {
		harmed := filepath.Join(t.TempDir(), "j.db")
		if err := os.WriteFile(harmed, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		db := raw(t, harmed)
		if tt.change == rewrite {
			rewriteAll(t, db)
		} else {
			exec1(t, db, tt.change)
		}
		_ = db.Close()
		r := reader(t, harmed)
		from := Anchor{}
		if tt.anchored {
			verified(t, r, Anchor{}) // the chain alone does not show it
			from = anchor
		}
		rep, err := r.Verify(bg, from)
		if err != nil || rep.Broken == nil || !strings.HasPrefix(rep.Broken.Error(), tt.want) {
			t.Errorf("%s: got %v, %v, want %s", tt.change, rep.Broken, err, tt.want)
		}
	}
}

const rewrite = "rewrite all"

// rewriteAll changes an event and mends every hash after it, as somebody with the whole file can.
func rewriteAll(t *testing.T, db *sql.DB) {
	t.Helper()
	exec1(t, db, "UPDATE events SET outcome = 'forged' WHERE seq = 3")
	prev, err := genesisOf(bg, db)
	if err != nil {
		t.Fatal(err)
	}
	seal := prev
	var records []record
	if err := eachRecord(bg, db, "1 ORDER BY e.seq", nil, func(r record) error { records = append(records, r); return nil }); err != nil {
		t.Fatal(err)
	}
	ends := map[uint64]Hash{}
	for _, r := range records {
		prev = eventHash(prev, &r.event, r.payloadHash)
		ends[r.event.Seq] = prev
		exec1(t, db, "UPDATE events SET hash = ? WHERE seq = ?", prev[:], r.event.Seq)
	}
	all, err := segments(bg, db, "1")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		s.End = ends[s.Last]
		seal = sealHash(seal, s)
		exec1(t, db, "UPDATE segments SET end = ?, seal = ? WHERE id = ?", s.End[:], seal[:], s.ID)
	}
}

func TestIncrementalVerify(t *testing.T) {
	s := open(t, func(c *Config) { c.SegmentEvents = 10 })
	add(t, s, 25, true)
	a, err := s.Anchor(bg)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseAnchor(a.String() + "\nkept by hand\n"); err != nil || back != a {
		t.Errorf("anchor as text: got %v, %v, want %v", back, err, a)
	}
	add(t, s, 10, true)
	if rep := verified(t, s.Reader, a); rep.Events != 10 || rep.From != a || rep.To.Seq != 35 {
		t.Errorf("got %+v, want the 10 events after the anchor", rep)
	}
	for _, bad := range []string{"", "zeno-anchor-1", "zeno-anchor-1 x " + a.Hash.String(), "zeno-anchor-1 1 abc", "zeno-anchor-2 1 " + a.Hash.String()} {
		if _, err := ParseAnchor(bad); err == nil {
			t.Errorf("anchor %q: got no error", bad)
		}
	}
}

// Retention drops whole segments; what is left proves that it follows what went.
func TestRetention(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, func(c *Config) {
		c.SegmentEvents, c.Now = 10, func() time.Time { return now }
		c.Retention = Retention{Events: 30}
	})
	add(t, s, 5, true)
	a, err := s.Anchor(bg)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.StartMark(bg, "old work", false); err != nil {
		t.Fatal(err)
	}
	for range 95 {
		add(t, s, 1, true)
	}
	rep := verified(t, s.Reader, Anchor{})
	if rep.Dropped == 0 || rep.Events < 30 || rep.Events > 50 {
		t.Errorf("got %+v, want older segments dropped and at least 30 events left", rep)
	}
	es := since(t, s, 0, 1000)
	if first := es[0].Seq; first == 1 || int64(len(es)) != rep.Events {
		t.Errorf("got %d events from %d on, want those that were verified", len(es), first)
	}
	if _, err := s.Verify(bg, a); err == nil || !strings.Contains(err.Error(), "want a later anchor") {
		t.Errorf("an anchor among what was dropped: got %v, want to be told so", err)
	}
	if m, ok, err := s.LookMark(bg, "old work"); err != nil || !ok || m.State != MarkStarted {
		t.Errorf("a mark: got %v, %v, %v, want it to outlive its events", m, ok, err)
	}
	now = now.Add(48 * time.Hour) // the open segment is old now: the next event ends it
	add(t, s, 2, true)
	if err := s.Retain(bg, Retention{PayloadAge: time.Hour}); err != nil {
		t.Fatal(err)
	}
	rep2 := verified(t, s.Reader, Anchor{})
	if rep2.Expired == 0 {
		t.Errorf("got %+v, want old payloads gone", rep2)
	}
	exportAgrees(t, s, rep2)
	if err := s.Retain(bg, Retention{Age: 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	rep3 := verified(t, s.Reader, Anchor{})
	if rep3.Dropped <= rep2.Dropped || rep3.Dropped != rep3.Segments-1 {
		t.Errorf("got %+v, want everything old gone but the newest segment", rep3)
	}
	exportAgrees(t, s, rep3)
}

// exportAgrees wants the export to verify as the journal does.
func exportAgrees(t *testing.T, s *SQLite, want Report) {
	t.Helper()
	var out bytes.Buffer
	if err := s.Export(bg, &out, 0); err != nil {
		t.Fatal(err)
	}
	exported, err := VerifyExport(&out)
	if err != nil || exported.Broken != nil || exported.Events != want.Events || exported.Dropped != want.Dropped || exported.Expired != want.Expired || exported.To != want.To {
		t.Errorf("the export: got %+v, %v, want %+v", exported, err, want)
	}
}

// The file gets smaller, or at least no larger, when events go.
func TestRetentionGivesSpaceBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j.db")
	s := openAt(t, file, func(c *Config) { c.SegmentEvents, c.Retention = 500, Retention{Events: -1} })
	add(t, s, 5000, false)
	closeStore(t, s)
	before := size(t, file)
	s = openAt(t, file, func(c *Config) { c.SegmentEvents = 500 })
	if err := s.Retain(bg, Retention{Events: 1}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if after := size(t, file); after > before/2 {
		t.Errorf("got %d bytes after dropping most events, want well below %d", after, before)
	}
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// What is redacted is in none of the files, not even in free pages or the log.
func TestRedactedDataIsGone(t *testing.T) {
	const canary = "CANARY-of-the-journal-51c2"
	s := open(t)
	add(t, s, 10, true)
	e, err := s.Append(bg, Event{Kind: "k", Data: map[string]any{"text": canary}, Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, 10, true)
	if !onDisk(t, s.conf.Path, canary) {
		t.Fatal("the canary is not in the files to begin with: the search finds nothing")
	}
	if err := s.Redact(bg, []uint64{e.Seq, 999}, "a slip"); err == nil || !strings.Contains(err.Error(), "event 999") {
		t.Errorf("an event that is not there: got %v", err)
	}
	if es := since(t, s, e.Seq-1, 1); es[0].Data["text"] != canary {
		t.Errorf("a refused redaction: got %v, want nothing redacted", es[0].Data)
	}
	if err := s.Redact(bg, []uint64{e.Seq}, "a slip"); err != nil {
		t.Fatal(err)
	}
	if es := since(t, s, e.Seq-1, 1); es[0].Kind != "k" || es[0].Data != nil {
		t.Errorf("got %v, want the event without data", es[0])
	}
	if onDisk(t, s.conf.Path, canary) {
		t.Error("the canary is still in the files")
	}
	if rep := verified(t, s.Reader, Anchor{}); rep.Redacted != 1 {
		t.Errorf("got %+v, want 1 redacted", rep)
	}
	last, err := s.Tail(bg, 1)
	if err != nil || last[0].Kind != Redacted || last[0].Data["why"] != "a slip" {
		t.Errorf("got %v, %v, want the redaction recorded", last, err)
	}
}

func onDisk(t *testing.T, file, text string) bool {
	t.Helper()
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, %v, want files", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}

func TestExport(t *testing.T) {
	s := open(t, func(c *Config) { c.SegmentEvents = 4 })
	for range 10 {
		add(t, s, 1, true)
	}
	if err := s.Redact(bg, []uint64{3}, "x"); err != nil {
		t.Fatal(err)
	}
	for _, after := range []uint64{0, 5} {
		var out bytes.Buffer
		if err := s.Export(bg, &out, after); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		rep, err := VerifyExport(strings.NewReader(text))
		if err != nil || rep.Broken != nil || rep.Events != int64(11-after) || rep.To.Seq != 11 {
			t.Errorf("after %d: got %+v, %v, want events up to 11", after, rep, err)
		}
		for name, changed := range map[string]string{
			"an outcome":  strings.Replace(text, `"outcome":"ok"`, `"outcome":"error"`, 1),
			"data":        strings.Replace(text, `"name":"f"`, `"name":"g"`, 1),
			"a seal":      strings.Replace(text, `"segment":2,"first":5`, `"segment":2,"first":4`, 1),
			"a line less": cutLine(text, `"seq":7`),
		} {
			if rep, err := VerifyExport(strings.NewReader(changed)); err != nil || rep.Broken == nil || changed == text {
				t.Errorf("after %d, %s changed: got %+v, %v, want it found", after, name, rep, err)
			}
		}
	}
	if err := s.Export(bg, &bytes.Buffer{}, 99); err == nil {
		t.Error("export after an event that is not there: got no error")
	}
	if _, err := VerifyExport(strings.NewReader("{}\n")); err == nil || !strings.Contains(err.Error(), "no export") {
		t.Errorf("no export: got %v, want to be told", err)
	}
}

func cutLine(text, part string) string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if !strings.Contains(l, part) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// The formats are promised: these hashes were worked out apart from this program (see docs/guide/journal.md).
func TestTheFormatsStay(t *testing.T) {
	id := bytes.Repeat([]byte{7}, idSize)
	e := Event{Seq: 1, At: time.Date(2026, 3, 1, 12, 0, 0, 500, time.UTC), Kind: "call", Role: "r", Spawn: "s", Outcome: "ok", Elapsed: 5}
	p := payloadHash(bytes.Repeat([]byte{9}, saltSize), []byte(`{"name":"f"}`))
	g := genesis(id)
	h := eventHash(g, &e, p)
	seal := sealHash(g, Segment{ID: 1, First: 1, Last: 1, Sealed: e.At, End: h})
	for _, tt := range [][2]string{
		{fmt.Sprintf("%x", p), wantPayload}, {g.String(), wantGenesis}, {h.String(), wantEvent}, {seal.String(), wantSeal},
	} {
		if tt[0] != tt[1] {
			t.Errorf("got %s, want %s", tt[0], tt[1])
		}
	}
}

const (
	wantPayload = "0ac957131903fb9360c0de41da7fde05b31031a1c44d9133293da3e78ef7d30b"
	wantGenesis = "26621da20cf2f31a9ddb492f103809c98665b8649d1281545f6f87a8be1ae114"
	wantEvent   = "9429ddd5e37df695924c147899f7159cb7ef1ca579831ba5bc4e65237b45a434"
	wantSeal    = "12ee4c865ca8c597541e85f2663eacc1e8da056a1235158dbf8ddb9d4d0c7ce7"
)
