package egress

import "strings"

// pattern is a text to find and what to put in its place.
type pattern struct{ find, replace string }

// matcher finds several texts in one pass (Aho and Corasick): in each state it knows the longest suffix of what it has
// seen that some pattern begins with. It is immutable and shared by all streams of a host.
type matcher struct {
	nodes    []node
	patterns []pattern

	// Where no pattern is under way, the text is not read byte by byte (Wu and Manber): jump says by its last two bytes
	// how far a window of the text can be moved on without missing the start of a pattern.
	window int // bytes; 0: no jumps
	jump   [1 << jumpBits]uint8
}

// jumpBits is the size of the table of jumps: it stays in the fastest cache.
const jumpBits = 13

func jumpIndex(a, b byte) int { return (int(a)<<5 ^ int(b)) & (1<<jumpBits - 1) }

type node struct {
	row   *[256]int32 // of the states near the root, where most time is spent: the next state for each byte
	edges []edge
	fail  int32 // the state of the next shorter suffix
	hold  int32 // how many of the last bytes may begin a pattern that is not complete
	out   int32 // the longest pattern that ends here, or -1
	depth int32
}

type edge struct {
	b  byte
	to int32
}

// denseDepth is up to which depth states have a row.
const denseDepth = 1

// newMatcher makes one; of patterns with the same find the first counts, and an empty find is left out.
func newMatcher(patterns []pattern) *matcher {
	m := &matcher{nodes: []node{{out: -1}}}
	for _, p := range patterns {
		m.add(p)
	}
	m.link()
	m.jumps()
	return m
}

// jumps fills in how far a window ending in two bytes can move: less, the later they stand in the beginning of a pattern.
func (m *matcher) jumps() {
	window := 64
	for _, p := range m.patterns {
		window = min(window, len(p.find))
	}
	if len(m.patterns) == 0 || window < 3 {
		return
	}
	m.window = window
	for i := range m.jump {
		m.jump[i] = uint8(window - 1)
	}
	for _, p := range m.patterns {
		for end := 1; end < window; end++ {
			at := &m.jump[jumpIndex(p.find[end-1], p.find[end])]
			*at = min(*at, uint8(window-1-end))
		}
	}
}

// skip gives the first place at or after i where a pattern may begin.
func (m *matcher) skip(data []byte, i int) int {
	if m.window > 0 {
		for end := i + m.window - 1; end < len(data); end = i + m.window - 1 {
			by := m.jump[jumpIndex(data[end-1], data[end])]
			if by == 0 {
				break
			}
			i += int(by)
		}
	}
	for root := m.nodes[0].row; i < len(data) && root[data[i]] == 0; {
		i++
	}
	return i
}

func (m *matcher) add(p pattern) {
	if p.find == "" {
		return
	}
	at := int32(0)
	for i := range len(p.find) {
		next := m.child(at, p.find[i])
		if next == 0 {
			next = int32(len(m.nodes))
			m.nodes = append(m.nodes, node{out: -1, depth: m.nodes[at].depth + 1})
			m.nodes[at].edges = append(m.nodes[at].edges, edge{p.find[i], next})
		}
		at = next
	}
	if m.nodes[at].out < 0 {
		m.nodes[at].out = int32(len(m.patterns))
		m.patterns = append(m.patterns, p)
	}
}

func (m *matcher) child(at int32, b byte) int32 {
	for _, e := range m.nodes[at].edges {
		if e.b == b {
			return e.to
		}
	}
	return 0
}

// link fills in what a state takes over from the state of its next shorter suffix, breadth first.
func (m *matcher) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		n := &m.nodes[at]
		fail := &m.nodes[n.fail]
		if n.out < 0 && at != 0 {
			n.out = fail.out
		}
		if n.hold = fail.hold; len(n.edges) > 0 {
			n.hold = n.depth
		}
		for _, e := range n.edges {
			if at != 0 {
				m.nodes[e.to].fail = m.step(n.fail, e.b)
			}
			queue = append(queue, e.to)
		}
		if n.depth <= denseDepth {
			m.fillRow(at)
		}
	}
}

func (m *matcher) fillRow(at int32) {
	n := &m.nodes[at]
	row := new([256]int32)
	if at != 0 {
		*row = *m.nodes[n.fail].row
	}
	for _, e := range n.edges {
		row[e.b] = e.to
	}
	n.row = row
}

// step gives the state after b.
func (m *matcher) step(at int32, b byte) int32 {
	for {
		n := &m.nodes[at]
		if n.row != nil {
			return n.row[b]
		}
		for _, e := range n.edges {
			if e.b == b {
				return e.to
			}
		}
		at = n.fail
	}
}

// region is a stretch of text that patterns cover.
type region struct {
	from, to int
	with     string
	open     bool // its beginning, and with, are written
}

// rewriter replaces the patterns of a matcher in a stream. Where occurrences overlap, what they cover together is replaced
// once, by the text of the one that begins first (of those, the longest): so no part of any stays. It keeps back only what
// may still become part of an occurrence. A rewriter serves one stream.
type rewriter struct {
	m       *matcher
	state   int32
	held    []byte
	regions []region // found and not yet written; offsets into held
	hits    int
	// keep makes the result as long as the text: what is put in is cut, or filled up with *.
	keep bool
}

// feed takes p and appends to dst what is certain.
func (w *rewriter) feed(dst, p []byte) []byte {
	data, i := p, 0
	if len(w.held) > 0 {
		i = len(w.held)
		w.held = append(w.held, p...)
		data = w.held
	}
	w.scan(data, i)
	return w.write(dst, data, len(data)-int(w.m.nodes[w.state].hold))
}

// take is feed that leaves the beginning of p where it is, if nothing is found in p and nothing was kept: clean bytes of it
// are certain. Else it is feed.
func (w *rewriter) take(dst, p []byte) (out []byte, clean int) {
	if len(w.held) > 0 || len(w.regions) > 0 {
		return w.feed(dst, p), 0
	}
	w.scan(p, 0)
	clean = len(p) - int(w.m.nodes[w.state].hold)
	if len(w.regions) > 0 {
		return w.write(dst, p, clean), 0
	}
	w.held = append(w.held[:0], p[clean:]...)
	return dst, clean
}

// finish appends the rest.
func (w *rewriter) finish(dst []byte) []byte {
	w.state = 0
	return w.write(dst, w.held, len(w.held))
}

func (w *rewriter) scan(data []byte, i int) {
	m, state := w.m, w.state
	for i < len(data) {
		if state == 0 {
			if i = m.skip(data, i); i >= len(data) {
				break
			}
		}
		state = m.step(state, data[i])
		i++
		if out := m.nodes[state].out; out >= 0 {
			p := &m.patterns[out]
			w.cover(region{from: i - len(p.find), to: i, with: p.replace})
		}
	}
	w.state = state
}

// cover adds r, joined with the regions that it overlaps.
func (w *rewriter) cover(r region) {
	w.hits++
	for n := len(w.regions); n > 0 && r.from < w.regions[n-1].to; n = len(w.regions) {
		if last := w.regions[n-1]; last.open || last.from < r.from {
			r.from, r.with, r.open = last.from, last.with, last.open
		}
		w.regions = w.regions[:n-1]
	}
	w.regions = append(w.regions, r)
}

// write appends what lies before limit, which nothing found later can reach, and keeps the rest.
func (w *rewriter) write(dst, data []byte, limit int) []byte {
	done, kept := 0, w.regions[:0]
	for _, r := range w.regions {
		if r.from >= limit && r.to > limit {
			kept = append(kept, r)
			continue
		}
		// The region begins where it does for good. Its text is needed no more; what is open is where it ends.
		dst = append(dst, data[done:r.from]...)
		if done = r.to; r.to > limit {
			done = limit
			kept = append(kept, region{from: limit, to: r.to, open: true})
		}
		dst = append(dst, w.instead(r.with, done-r.from)...)
	}
	if done < limit {
		dst = append(dst, data[done:limit]...)
		done = limit
	}
	w.held = append(w.held[:0], data[done:]...)
	for i := range kept {
		kept[i].from -= done
		kept[i].to -= done
	}
	w.regions = kept
	return dst
}

// instead gives what is put in for n bytes.
func (w *rewriter) instead(with string, n int) string {
	switch {
	case !w.keep:
		return with
	case len(with) > n:
		return with[:n]
	}
	return with + strings.Repeat("*", n-len(with))
}

// text replaces in a whole text.
func (m *matcher) text(s string) string {
	w := rewriter{m: m}
	w.scan([]byte(s), 0)
	if w.hits == 0 {
		return s
	}
	w.state = 0
	return string(w.write(nil, []byte(s), len(s)))
}

// finder tells which patterns occur in a stream. It serves one goroutine at a time.
type finder struct {
	m     *matcher
	state int32
	found []bool // by pattern
}

func newFinder(m *matcher) *finder { return &finder{m: m, found: make([]bool, len(m.patterns))} }

func (f *finder) read(data []byte) {
	for i := 0; i < len(data); {
		if f.state == 0 {
			if i = f.m.skip(data, i); i >= len(data) {
				return
			}
		}
		f.state = f.m.step(f.state, data[i])
		i++
		if out := f.m.nodes[f.state].out; out >= 0 {
			f.found[out] = true
		}
	}
}
