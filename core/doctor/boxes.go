package doctor

import (
	"context"
	"strings"

	"github.com/reflection-dev/zeno/sandbox"
)

// boxes has each backend try itself: it runs a box, and says what it can hold it to.
func boxes(conf Config) []attempt {
	var out []attempt
	for _, b := range conf.Boxes {
		out = append(out, attempt{"sandbox", b.Name(), false, func(ctx context.Context, c *Check) { c.box(b.Probe(ctx)) }})
	}
	return out
}

// box words what a backend found of itself: what cannot be had first.
func (c *Check) box(r sandbox.Report) {
	var can, cannot, fixes []string
	for _, x := range r.Checks {
		if x.OK {
			can = append(can, x.What)
			continue
		}
		cannot = append(cannot, x.What+" ("+x.How+")")
		if x.Fix != "" {
			fixes = append(fixes, x.Fix)
		}
	}
	fix := strings.Join(fixes, "; ")
	program, tried := r.Find(r.Backend)
	lacking := tried && !program.OK // the program that it drives
	ran := "usable"
	if x, tried := r.Find("boxes"); tried && x.OK { // not every backend can run one without an image
		ran = "a box ran"
	}
	switch {
	case !r.Usable && lacking:
		c.bad(Missing, fix, "no box runs: %s", strings.Join(cannot, "; "))
	case !r.Usable:
		c.bad(Failed, fix, "no box runs: %s", strings.Join(cannot, "; "))
	case len(cannot) > 0:
		c.bad(Warn, fix, "%s, with %s; not to be had: %s", ran, list(can), strings.Join(cannot, "; "))
	default:
		c.ok("%s, with %s", ran, list(can))
	}
}
