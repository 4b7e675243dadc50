package seccomp

// Bits of modes and of open's flags.
const (
	setUserID = 0o4000
	makesFile = 0x40 | 0x400000 // O_CREAT, __O_TMPFILE: only with these does open look at its mode
)

// WithoutSetUserID gives the profile without the making of set-user-id files. No program in a box gains by one; a person
// on the host would, in a directory that is both the box's and the host's: there it belongs to the box's root as the
// host sees it. openat2, whose mode no filter can read, is unknown then.
func (p Profile) WithoutSetUserID() Profile {
	mode := func(arg int) Test { return Test{Arg: arg, Op: NoBits, Values: []uint32{setUserID}} }
	opened := func(flags, arg int) Test {
		t := mode(arg)
		t.OnlyBits = &Equal{flags, makesFile}
		return t
	}
	more := map[string]Test{"chmod": mode(1), "fchmod": mode(1), "fchmodat": mode(2), "fchmodat2": mode(2), "creat": mode(1),
		"open": opened(1, 2), "openat": opened(2, 3), "mknod": mode(1), "mknodat": mode(2)}
	q := Profile{Name: p.Name, Deny: p.Deny}
	for _, n := range p.Allow {
		switch t, ok := more[n]; {
		case ok:
			q.Rules = append(q.Rules, Rule{n, []Test{t}})
		case n != "openat2":
			q.Allow = append(q.Allow, n)
		}
	}
	for _, r := range p.Rules {
		if t, ok := more[r.Name]; ok {
			r.Tests = append([]Test{t}, r.Tests...)
		}
		q.Rules = append(q.Rules, r)
	}
	return q
}
