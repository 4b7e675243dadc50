package lisp

import (
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// maxKeywords bounds the keywords that CompleteKeyword looks through.
const maxKeywords = 65_536

// CompleteKeyword lists the keywords that a text, as typed in ns, may go on to, sorted and as they are typed: ":na" to
// :name, "::na" to ::name of ns, "::alias/na" to ::alias/name. They are those that trusted code has read so far.
func (e *Env) CompleteKeyword(ns *value.Namespace, text string) []string {
	shown, prefix := ":", strings.TrimPrefix(text, ":")
	if auto, ok := strings.CutPrefix(prefix, ":"); ok {
		space := ns.Name
		shown, prefix = "::", auto
		if alias, name, ok := strings.Cut(auto, "/"); ok {
			full, ok := ns.Aliased(alias)
			if !ok {
				return nil
			}
			shown, space, prefix = "::"+alias+"/", full, name
		}
		return e.keywords(space+"/", prefix, shown)
	}
	return e.keywords("", prefix, shown)
}

// keywords gives the keywords that start with space and prefix, with shown in place of space.
func (e *Env) keywords(space, prefix, shown string) []string {
	out := e.rt.interns.Keywords(space+prefix, maxKeywords)
	for i, full := range out {
		out[i] = shown + full[len(space):]
	}
	slices.Sort(out)
	return out
}
