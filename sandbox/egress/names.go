package egress

import (
	"encoding/binary"
	"net/netip"
	"sync"
)

// maxNames bounds the names that have an address at one time. The one that was given its address first gives it up: what
// still dials that address is refused, since SNI and Host name another.
const maxNames = 1 << 14

// firstAddr is the first synthetic address. The range 198.18.0.0/15 is for benchmarks of networks, so nothing has one.
const firstAddr = 198<<24 | 18<<16 | 1

// names gives each allowed name an address of its own.
type names struct {
	mu   sync.Mutex
	of   map[string]uint32 // name -> index
	at   []string          // index -> name
	next uint32
}

func newNames() *names { return &names{of: map[string]uint32{}} }

// addr gives name's address.
func (n *names) addr(name string) netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, ok := n.of[name]
	if !ok {
		i = n.next % maxNames
		n.next++
		if int(i) == len(n.at) {
			n.at = append(n.at, name)
		} else {
			delete(n.of, n.at[i])
			n.at[i] = name
		}
		n.of[name] = i
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], firstAddr+i)
	return netip.AddrFrom4(b)
}

// name gives the name that was given the address.
func (n *names) name(a netip.Addr) (string, bool) {
	a = a.Unmap()
	if !a.Is4() {
		return "", false
	}
	b := a.As4()
	i := binary.BigEndian.Uint32(b[:]) - firstAddr
	n.mu.Lock()
	defer n.mu.Unlock()
	if int64(i) >= int64(len(n.at)) {
		return "", false
	}
	return n.at[i], true
}
