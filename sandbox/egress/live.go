package egress

import (
	"fmt"
	"slices"
	"sync"
)

// maxReloads bounds the distinct policies that a proxy remembers; a box that has been through more is to be started anew.
const maxReloads = 64

// live is the policy in force: what the box was started with, less what each later policy closed. What is closed once
// stays closed, because a program in the box may have been promised so by whoever closed it.
type live struct {
	mu     sync.RWMutex
	launch *policy
	later  []*policy
	source []Policy // of later, to know one that comes again
}

// find decides about name at port. The address a name leads to is that of the launch policy: a later one that moves it
// closes it.
func (l *live) find(name string, port int) (target, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	t, ok := l.launch.find(name, port)
	if !ok {
		return target{}, false
	}
	for _, p := range l.later {
		u, ok := p.find(name, port)
		if !ok || u.addr != t.addr || u.toPort != t.toPort || u.net != t.net {
			return target{}, false
		}
	}
	return t, true
}

func (l *live) knows(name string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, p := range l.later {
		if !p.knows(name) {
			return false
		}
	}
	return l.launch.knows(name)
}

// narrow takes p as one more limit. It returns the rules of p that stay closed.
func (l *live) narrow(p Policy) ([]Rule, error) {
	c, err := p.compile()
	if err != nil {
		return nil, err
	}
	var closed []Rule
	for i, r := range p.Allow {
		if !l.open(&c.allow[i]) {
			closed = append(closed, r)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.ContainsFunc(l.source, func(q Policy) bool { return samePolicy(p, q) }) {
		return closed, nil
	}
	if len(l.later) >= maxReloads {
		return nil, fmt.Errorf("egress: got %d changes of the policy of one box, want at most %d; start the box anew", maxReloads+1, maxReloads)
	}
	l.later, l.source = append(l.later, c), append(l.source, p)
	return closed, nil
}

// open tells whether something that r allows is open now.
func (l *live) open(r *rule) bool {
	name := r.name
	if r.any {
		name = "x.invalid"
	} else if r.below {
		name = "x." + r.name
	}
	ports := []int{80, 443, r.toPort}
	if r.port != 0 {
		ports = []int{r.port}
	}
	for _, port := range ports {
		if t, ok := l.find(name, port); ok && t.addr == r.addr && t.toPort == r.toPort && t.net == r.net {
			return true
		}
	}
	return false
}

func samePolicy(a, b Policy) bool {
	return a.Default == b.Default && slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Deny, b.Deny)
}
