package budget

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// spendUntilKilled starts spawns that use tokens, and says so after each that was counted.
func spendUntilKilled(path string) {
	l, err := Open(context.Background(), Config{Path: path})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 1; ; i++ {
		m := l.NewMeter(Spawn{ID: fmt.Sprint("s", i), Role: "worker"})
		if err := m.Start(context.Background(), Role{SpawnsPerHour: 1 << 30}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		m.Report(Usage{TokensIn: 1, USD: 0.001})
		fmt.Println("counted", i)
		if i%3 > 0 {
			m.Stop()
		}
	}
}

// A zeno that is killed at any moment has lost no start, token or cent that was counted.
func TestKillNine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget.db")
	told := int64(0)
	for range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "BUDGET_TO_SPEND_FROM="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		var n, i int64
		for lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "counted %d", &i); err != nil {
				t.Fatal(lines.Text())
			}
			if n = i; n == 1 { // it is under way
				time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait() // killed
		told += n
		l, err := Open(context.Background(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Report(context.Background(), map[string]Role{"worker": {Per: Ever}})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		used := r.Roles[0].Used
		if used.Tokens < told || used.Spawns < told || used.USD < Money(told)*Dollar/1000 || used.Tokens > told+8 {
			t.Fatalf("got %+v in the file, want the %d that were counted", used, told)
		}
	}
	t.Logf("%d spends over 8 kills", told)
}
