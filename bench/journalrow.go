package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver of the peer, and of the journal

	"github.com/reflection-dev/zeno/core/journal"
)

const (
	journalCallers = 256    // that wait for their events at the same time
	journalEvents  = 20_000 // of one turn
)

// appendEvents measures durable appends by many callers at once, each of which waits until its event is synced, beside
// plain SQLite on the same disk: rows of the same size in transactions of as many, synchronous=FULL too, without chain,
// hashes and index. It is the clock's time, since the disk is waited for.
func appendEvents(rounds int) ([]measured, error) {
	dir, err := os.MkdirTemp("", "zeno-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var a, b []float64
	for i := range rounds {
		x, err := journalTurn(filepath.Join(dir, fmt.Sprintf("j%d.db", i)))
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		y, err := plainTurn(filepath.Join(dir, fmt.Sprintf("p%d.db", i)))
		if err != nil {
			return nil, fmt.Errorf("plain SQLite: %w", err)
		}
		a, b = append(a, x.Seconds()), append(b, y.Seconds())
	}
	const us = 1e6 / journalEvents
	return []measured{
		{fmt.Sprintf("a durable event of the journal, %d callers", journalCallers), median(a) * us, 200, "µs"}, // 5,000 a second
		{fmt.Sprintf("a plain SQLite insert, transactions of %d", journalCallers), median(b) * us, 0, "µs"},
		{"the journal beside plain SQLite", ratio(a, b), 0, "x"},
	}, nil
}

func eventData() map[string]any {
	return map[string]any{"name": "fetch", "args": strings.Repeat("x", 100)}
}

func journalTurn(file string) (time.Duration, error) {
	ctx := context.Background()
	s, err := journal.Open(ctx, journal.Config{Path: file})
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	work := make(chan int)
	errs := make(chan error, journalCallers)
	var wg sync.WaitGroup
	begun := time.Now()
	for range journalCallers {
		wg.Go(func() {
			for range work {
				e := journal.Event{Kind: journal.Call, Role: "worker", Spawn: "s1", Outcome: "ok", Data: eventData(), Durable: true}
				if _, err := s.Append(ctx, e); err != nil {
					errs <- err
					for range work { // the others' turns
					}
					return
				}
			}
		})
	}
	for i := range journalEvents {
		work <- i
	}
	close(work)
	wg.Wait()
	took := time.Since(begun)
	select {
	case err := <-errs:
		return 0, err
	default:
		return took, nil
	}
}

func plainTurn(file string) (time.Duration, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE e (seq INTEGER PRIMARY KEY, at INTEGER, kind TEXT, role TEXT, spawn TEXT, data TEXT) STRICT"); err != nil {
		return 0, err
	}
	begun := time.Now()
	for i := 0; i < journalEvents; {
		tx, err := db.Begin()
		if err != nil {
			return 0, err
		}
		insert, err := tx.Prepare("INSERT INTO e (at, kind, role, spawn, data) VALUES (?,?,?,?,?)")
		if err != nil {
			return 0, err
		}
		for n := 0; n < journalCallers && i < journalEvents; n++ {
			if _, err := insert.Exec(i, journal.Call, "worker", "s1", `{"args":"`+strings.Repeat("x", 100)+`","name":"fetch"}`); err != nil {
				return 0, err
			}
			i++
		}
		if err := tx.Commit(); err != nil {
			return 0, err
		}
	}
	return time.Since(begun), nil
}
