package egress

import (
	"encoding/binary"
	"net/netip"
	"sync"
)

// maxNames bounds the names that get an address. A further name below a star has
// to go through the HTTP or SOCKS proxy.
const maxNames = 4096

// firstAddress is the address inside of the first name. The block after it is out
// of the way of what programs use on loopback.
var firstAddress = netip.AddrFrom4([4]byte{127, 96, 0, 1})

// names gives each name an address on loopback inside, for the life of the
// sandbox. It is safe for concurrent use.
type names struct {
	mu     sync.Mutex // guards all below
	byName map[string]netip.Addr
	byAddr map[netip.Addr]string
}

// newNames gives addresses to the names that the list spells out, in its order.
func newNames(r Rules) *names {
	n := &names{byName: map[string]netip.Addr{}, byAddr: map[netip.Addr]string{}}
	for _, e := range r.entries {
		if e.name != "" && !e.below {
			n.address(e.name)
		}
	}
	return n
}

// address returns the address of a name, and makes one for a new name. It is false
// if there are too many.
func (n *names) address(name string) (netip.Addr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.byName[name]; ok {
		return a, true
	}
	if len(n.byName) >= maxNames {
		return netip.Addr{}, false
	}
	next := firstAddress.As4()
	binary.BigEndian.PutUint32(next[:], binary.BigEndian.Uint32(next[:])+uint32(len(n.byName)))
	a := netip.AddrFrom4(next)
	n.byName[name], n.byAddr[a] = a, name
	return a, true
}

// at returns the name that has an address.
func (n *names) at(a netip.Addr) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, ok := n.byAddr[a]
	return name, ok
}

// back replaces an address inside by the name that it stands for, for a program
// that resolved the name by itself.
func (n *names) back(t target) target {
	if t.name == "" {
		if name, ok := n.at(t.addr); ok {
			return target{name: name, port: t.port}
		}
	}
	return t
}
