//go:build linux

package spawn

import (
	"context"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/internal/modelserver"
	"github.com/reflection-dev/zeno/internal/npmcli"
)

// TestBoxedWithoutAKey is the model server of a newcomer: on this machine, without TLS and without a key.
func TestBoxedWithoutAKey(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		path := npmcli.Need(t, cli)
		model := modelserver.New(modelserver.Config{})
		t.Cleanup(model.Close)
		_, change := withBoxes(t)
		h := newHouse(t, func(c *Config) {
			c.Path = path
			change(c)
		})
		res := h.Run(context.Background(), Request{Role: "reader", Backend: cli, Prompt: "go [[eval: (+ 1 2)]]", Model: "m1",
			BaseURL: model.URL + traits()[cli].base, Timeout: 2 * time.Minute, Grace: time.Second})
		want(t, res, OK, "")
		if res.Answer != "RESULT: => (+ 1 2)" || !res.Boxed {
			t.Errorf("got %+v", res)
		}
	})
}
