// Package seccomp makes the filters of system calls of a box. Profiles are data; Assemble makes a program for the kernel
// of them.
//
// Its one invariant: a call that a profile does not name is not made. One that the profile refuses answers EPERM, one that
// it does not know, clone3 among them, answers ENOSYS, so that programs fall back to what they did before that call
// existed; a call of a foreign ABI (32 bit, x32) ends the process, since its numbers mean other calls. Start at Profile,
// then profiles.go.
package seccomp

import (
	"encoding/binary"
	"fmt"
	"sort"
)

// Profile says which system calls a program may make. A name that an architecture lacks is passed over.
type Profile struct {
	Name  string
	Allow []string
	Deny  []string // EPERM: the call exists, the box does not have it
	Rules []Rule   // allowed where every test holds, else EPERM
}

// Rule allows a call by its arguments.
type Rule struct {
	Name  string
	Tests []Test
}

// Test looks at the low 32 bits of an argument; the kernel ignores the rest of those that are tested.
type Test struct {
	Arg    int
	Op     Op
	Values []uint32
	// OnlyIf makes the test hold without looking where argument OnlyIf.Arg is not OnlyIf.Value.
	OnlyIf *Equal
	// OnlyBits makes the test hold without looking where argument OnlyBits.Arg has no bit of OnlyBits.Value.
	OnlyBits *Equal
}

// Equal is an argument's value.
type Equal struct {
	Arg   int
	Value uint32
}

// Op is how a Test compares.
type Op int

// The comparisons.
const (
	OneOf  Op = iota // the argument is one of Values
	NoneOf           // it is none of Values
	NoBits           // it has no bit of Values[0]
)

const (
	retKill  = 0x80000000 // SECCOMP_RET_KILL_PROCESS
	retErrno = 0x00050000
	retAllow = 0x7fff0000
	eperm    = 1
	enosys   = 38

	loadWord = 0x20 // BPF_LD | BPF_W | BPF_ABS
	jump     = 0x05
	jeq      = 0x15
	jge      = 0x35
	jset     = 0x45
	ret      = 0x06

	offNumber, offArch, offArgs = 0, 4, 16
	maxInstructions             = 4096
)

// instruction is struct sock_filter.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// Assemble gives struct sock_filter[] for a GOARCH.
func Assemble(p Profile, goarch string) ([]byte, error) {
	m, ok := machines[goarch]
	if !ok {
		return nil, fmt.Errorf("seccomp: architecture %s: got no table of system calls, want amd64 or arm64", goarch)
	}
	spans, err := p.spans(m)
	if err != nil {
		return nil, err
	}
	prog := []instruction{{loadWord, 0, 0, offArch}, {jeq, 1, 0, m.audit}, {ret, 0, 0, retKill}, {loadWord, 0, 0, offNumber}}
	if m.x32 {
		prog = append(prog, instruction{jge, 0, 1, 1 << 30}, instruction{ret, 0, 0, retKill})
	}
	prog = append(prog, tree(spans)...)
	if len(prog) > maxInstructions {
		return nil, fmt.Errorf("seccomp: profile %s: got %d instructions, want at most %d", p.Name, len(prog), maxInstructions)
	}
	var b []byte
	for _, i := range prog {
		b = binary.NativeEndian.AppendUint16(b, i.code)
		b = append(b, i.jt, i.jf)
		b = binary.NativeEndian.AppendUint32(b, i.k)
	}
	return b, nil
}

// span is a run of numbers that are treated alike, up to the next span.
type span struct {
	from uint32
	code []instruction
	same uint32 // the return value of a span that is only that; 0 where code tests arguments
}

func (p Profile) spans(m machine) ([]span, error) {
	verdict := map[uint32]span{}
	nrs := map[string]uint32{}
	for _, n := range m.numbers {
		nrs[n.name] = n.nr
	}
	put := func(name string, s span) error {
		nr, ok := nrs[name]
		if !ok {
			return nil
		}
		if _, twice := verdict[nr]; twice {
			return fmt.Errorf("seccomp: profile %s: got %s twice, want each call in one list", p.Name, name)
		}
		s.from = nr
		verdict[nr] = s
		return nil
	}
	for _, n := range p.Allow {
		if err := put(n, only(retAllow)); err != nil {
			return nil, err
		}
	}
	for _, n := range p.Deny {
		if err := put(n, only(retErrno|eperm)); err != nil {
			return nil, err
		}
	}
	for _, r := range p.Rules {
		if err := put(r.Name, span{code: r.code()}); err != nil {
			return nil, err
		}
	}
	return fill(verdict), nil
}

func only(r uint32) span { return span{code: []instruction{{ret, 0, 0, r}}, same: r} }

// fill puts ENOSYS between the numbers that have a verdict, and joins neighbours.
func fill(verdict map[uint32]span) []span {
	nrs := make([]uint32, 0, len(verdict))
	for nr := range verdict {
		nrs = append(nrs, nr)
	}
	sort.Slice(nrs, func(i, j int) bool { return nrs[i] < nrs[j] })
	var out []span
	add := func(from uint32, s span) {
		if n := len(out); n > 0 && s.same != 0 && out[n-1].same == s.same {
			return
		}
		s.from = from
		out = append(out, s)
	}
	next := uint32(0)
	for _, nr := range nrs {
		if nr > next {
			add(next, only(retErrno|enosys))
		}
		add(nr, verdict[nr])
		next = nr + 1
	}
	add(next, only(retErrno|enosys))
	return out
}

// tree is a binary search of the number: about nine comparisons for any call.
func tree(spans []span) []instruction {
	if len(spans) == 1 {
		return spans[0].code
	}
	mid := len(spans) / 2
	left, right := tree(spans[:mid]), tree(spans[mid:])
	var out []instruction
	if len(left) <= 255 {
		out = append(out, instruction{jge, uint8(len(left)), 0, spans[mid].from})
	} else {
		out = append(out, instruction{jge, 0, 1, spans[mid].from}, instruction{jump, 0, 0, uint32(len(left))})
	}
	return append(append(out, left...), right...)
}

// code tests the arguments in turn; the first test that fails refuses.
func (r Rule) code() []instruction {
	var out []instruction
	for _, t := range r.Tests {
		test := t.code()
		if t.OnlyIf != nil {
			out = append(out, instruction{loadWord, 0, 0, argument(t.OnlyIf.Arg)}, instruction{jeq, 0, uint8(len(test)), t.OnlyIf.Value})
		}
		if t.OnlyBits != nil {
			out = append(out, instruction{loadWord, 0, 0, argument(t.OnlyBits.Arg)}, instruction{jset, 0, uint8(len(test)), t.OnlyBits.Value})
		}
		out = append(out, test...)
	}
	return append(out, instruction{ret, 0, 0, retAllow})
}

func (t Test) code() []instruction {
	out := []instruction{{loadWord, 0, 0, argument(t.Arg)}}
	refuse := instruction{ret, 0, 0, retErrno | eperm}
	n := len(t.Values)
	for i, v := range t.Values {
		left := uint8(n - 1 - i) // comparisons that follow
		switch t.Op {
		case OneOf:
			out = append(out, instruction{jeq, left + 1, 0, v})
		case NoneOf:
			out = append(out, instruction{jeq, left, boolean(left == 0), v})
		case NoBits:
			out = append(out, instruction{jset, left, boolean(left == 0), v})
		}
	}
	return append(out, refuse)
}

func boolean(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// argument is the offset of the low half of an argument, on little-endian machines.
func argument(n int) uint32 { return uint32(offArgs + 8*n) }

// Without gives the profile with some calls refused that it allowed.
func (p Profile) Without(names ...string) Profile {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	q := Profile{Name: p.Name, Deny: append([]string(nil), p.Deny...), Rules: p.Rules}
	for _, n := range p.Allow {
		if out[n] {
			q.Deny = append(q.Deny, n)
		} else {
			q.Allow = append(q.Allow, n)
		}
	}
	return q
}
