package journal

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
)

// Appends that nobody waits for: the rate at which the writer gets them into the file.
func BenchmarkAppendBatched(b *testing.B) {
	s := open(b)
	b.ResetTimer()
	for i := range b.N {
		if _, err := s.Append(bg, event(i, false)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Flush(bg); err != nil {
		b.Fatal(err)
	}
	report(b)
}

// Durable appends by some callers at once: each waits until its event is synced, and one sync serves all who wait.
func BenchmarkAppendDurable(b *testing.B) {
	for _, callers := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b)
			work := make(chan int, callers)
			done := make(chan error, callers)
			b.ResetTimer()
			for range callers {
				go func() {
					var err error
					for i := range work {
						if _, aerr := s.Append(bg, event(i, true)); aerr != nil {
							err = aerr
						}
					}
					done <- err
				}()
			}
			for i := range b.N {
				work <- i
			}
			close(work)
			for range callers {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			report(b)
		})
	}
}

// What SQLite alone does on the same disk: rows of the same size, without chain, hash or index, so many in a transaction
// with synchronous=FULL.
func BenchmarkPlainInserts(b *testing.B) {
	for _, each := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("transaction=%d", each), func(b *testing.B) { plainInserts(b, each) })
	}
}

func plainInserts(b *testing.B, each int) {
	db, err := sql.Open("sqlite", dsn(filepath.Join(b.TempDir(), "p.db"), url.Values{}, "journal_mode(WAL)", "synchronous(FULL)"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(bg)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(bg, "CREATE TABLE e (seq INTEGER PRIMARY KEY, at INTEGER, kind TEXT, data TEXT) STRICT"); err != nil {
		b.Fatal(err)
	}
	insert, err := conn.PrepareContext(bg, "INSERT INTO e (at, kind, data) VALUES (?,?,?)")
	if err != nil {
		b.Fatal(err)
	}
	data, err := canonicalJSON(event(1, false).Data)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := 0; i < b.N; {
		err := inTx(bg, conn, func() error {
			for n := 0; n < each && i < b.N; n++ {
				if _, err := insert.ExecContext(bg, i, Call, string(data)); err != nil {
					return err
				}
				i++
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	report(b)
}

func BenchmarkVerify(b *testing.B) {
	s := open(b)
	add(b, s, 20_000, false)
	b.ResetTimer()
	for range b.N {
		verified(b, s.Reader, Anchor{})
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func report(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s") }
