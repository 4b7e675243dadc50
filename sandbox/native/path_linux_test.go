package native

import (
	"slices"
	"testing"

	"github.com/reflection-dev/zeno/sandbox"
)

// TestPathComesAfter: a spec's Path is looked into after the box's own, whoever says what that is.
func TestPathComesAfter(t *testing.T) {
	for _, c := range []struct {
		spec sandbox.Spec
		want string
	}{
		{sandbox.Spec{Root: sandbox.Root{Env: map[string]string{"PATH": "/image"}}}, "PATH=/image"},
		{sandbox.Spec{Root: sandbox.Root{Env: map[string]string{"PATH": "/image"}}, Path: []string{"/a", "/b"}}, "PATH=/image:/a:/b"},
		{sandbox.Spec{Env: map[string]string{"PATH": "/own"}, Path: []string{"/a"}}, "PATH=/own:/a"},
	} {
		if got := environment(&c.spec); !slices.Contains(got, c.want) {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
}
