package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestLogs(t *testing.T) {
	clean := func(s string) string { return strings.ReplaceAll(s, "sk-123456", "[secret]") }
	say := func(log *slog.Logger) {
		log.With("at", "sk-123456").WithGroup("g").Warn("m sk-123456", "text", "x sk-123456", "err", errors.New("failed: sk-123456"), "n", 7,
			slog.Group("in", "deep", "sk-123456"), "list", []string{"sk-123456"})
		log.Debug("not at this level")
	}
	var out bytes.Buffer
	log, err := NewLogger(&out, "json", "info")
	if err != nil {
		t.Fatal(err)
	}
	say(log)
	if strings.Count(out.String(), "sk-123456") != 6 {
		t.Fatalf("without the guard: got %s, want the secret everywhere", out.String())
	}
	out.Reset()
	say(Redacting(log, clean))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || strings.Contains(out.String(), "sk-123456") || strings.Count(out.String(), "[secret]") != 6 {
		t.Errorf("got %s, %v, want one line without the secret", out.String(), err)
	}
	if line["level"] != "WARN" || line["g"].(map[string]any)["n"] != 7.0 {
		t.Errorf("got %v", line)
	}
	off := Redacting(slog.New(slog.DiscardHandler), func(string) string { t.Error("a text was looked at that nobody sees"); return "" })
	off.Error("m", "k", "v")
	for _, bad := range [][2]string{{"xml", ""}, {"text", "loud"}} {
		if _, err := NewLogger(&out, bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}
