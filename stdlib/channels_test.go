package stdlib_test

import (
	"context"
	"testing"
	"time"

	"github.com/reflection-dev/zeno/stdlib"
)

func TestChannels(t *testing.T) {
	newWorld(t, stdlib.Config{}).run([]row{
		{`(let [c (chan)] (go (>! c 1) (>! c 2) (close! c)) [(<! c) (<! c) (<! c) (<! c)])`, `[1 2 nil nil]`},
		{`(let [c (chan 2)] [(>! c 1) (>! c 2) (close! c) (>! c 3) (<! c) (<! c) (<! c)])`, `[true true nil false 1 2 nil]`},
		{`[(<! (go 1)) (<! (go)) (<! (go nil)) (<! (go false))]`, `[1 nil nil false]`},
		{`(try (<! (go (/ 1 0))) (catch ArithmeticException e (ex-message e)))`, `"Divide by zero"`},
		{`(def ^:dynamic *d* 1) (binding [*d* 2] (<! (go *d*)))`, `2`},
		{`(let [c (chan 3)] (dotimes [i 200] (go (>! c i))) (reduce + (repeatedly 200 #(<! c))))`, `19900`},
		{`(let [c (chan)] (dotimes [i 200] (go (<! c))) (every? true? (map #(>! c %) (range 200))))`, `true`},
		{`(let [c (chan) waits (doall (repeatedly 5 #(go (nil? (<! c)))))] (close! c) (mapv #(<! %) waits))`, `[true true true true true]`},
		{`(let [c (chan) full (go (>! c 1))] (joker.time/sleep 20000000) (close! c) (<! full))`, `false`},
		{`(close! (doto (chan) close!))`, `nil`},
		{`(>! (chan 1) nil)`, `!>!: got nil`},
		{`(<! 5)`, `!<!: got 5 (integer), want a channel`},
		{`(chan -1)`, `!chan: got -1`},
	})
}

// A wait at a channel ends with the evaluation, and what is put later is not lost to it.
func TestChannelWaitIsCancelled(t *testing.T) {
	w := newWorld(t, stdlib.Config{})
	w.eval(`(def c (chan)) (def d (chan)) (go (<! d))`) // one that waits to the end of the environment
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.env.Eval(ctx, `(<! c)`, "test"); err == nil {
		t.Errorf("got %v, want the end of the wait", err)
	}
	w.run([]row{{`(let [p (go (>! c :late))] [(<! c) (<! p)])`, `[:late true]`}})
}
