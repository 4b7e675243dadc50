package stage2

import (
	"bytes"
	"reflect"
	"testing"
)

func sample() *Config {
	return &Config{Hostname: "h", Ranged: true, UID: 5, RootBytes: 1 << 40, Layers: []Source{{"/l", -1, false}}, Binds: []Bind{{Source{"/é", 3, true}, "/d", true, false}},
		Symlinks: []Pair{{"a", "b"}}, Dirs: []Dir{{"/t", 0o1777, true}}, Files: []File{{"/f", 0o644, []byte{0, 1}}}, Workdir: "/w",
		Net: Net{Listen: true, Ports: []int{443}, Bundles: []string{"x"}, BundleAt: "y", Extra: []byte("z")}, Landlock: true, Writable: []string{"/tmp"},
		Rlimits: []Rlimit{{1, 2, 3}}, Affinity: []uint64{1 << 63}, Seccomp: []byte("12345678"),
		Program: Program{ID: 9, Argv: []string{"a", ""}, Env: []string{"K=V"}, Dir: "/w"}}
}

func TestConfigCrosses(t *testing.T) {
	c := sample()
	got, err := DecodeConfig(c.Encode())
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("got %+v %v, want %+v", got, err, c)
	}
	e := &Exit{ID: 1, Status: 139, MaxRSS: 1 << 40, CPU: 7}
	if got, err := DecodeExit(e.Encode()); err != nil || *got != *e {
		t.Errorf("got %+v %v", got, err)
	}
	if _, err := DecodeConfig(append(c.Encode(), 0)); err == nil {
		t.Error("a message with something behind it was accepted")
	}
	text := c.Encode()
	for n := range text {
		if _, err := DecodeConfig(text[:n]); err == nil {
			t.Errorf("a message cut off at %d was accepted", n)
		}
	}
}

// Whatever the bytes are, decoding ends, without a panic and without more memory than they are worth; what it accepts
// encodes to the same config again.
func FuzzDecodeConfig(f *testing.F) {
	f.Add(sample().Encode())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeConfig(b)
		if err != nil {
			return
		}
		again, err := DecodeConfig(c.Encode())
		if err != nil || !bytes.Equal(again.Encode(), c.Encode()) {
			t.Errorf("got %+v %v, want %+v", again, err, c)
		}
	})
}
