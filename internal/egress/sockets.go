package egress

import (
	"net/netip"
	"slices"
)

const (
	// dnsPort is where the name server listens inside.
	dnsPort = 53
	// proxyPort is where the HTTP and SOCKS proxies listen inside. The program
	// cannot need it for itself: it may not listen below 1024.
	proxyPort = 1023
	// maxSockets bounds the sockets of a list.
	maxSockets = 250
	// firstUnprivileged is the first port that the program itself can listen on.
	firstUnprivileged = 1024
)

var (
	loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	anyLocal = netip.IPv4Unspecified()
)

// socket is one that the proxy opens inside.
type socket struct {
	Network string // tcp or udp
	Address netip.AddrPort
}

// isOurs reports whether the proxy itself listens on a port of 127.0.0.1 inside.
func isOurs(port uint16) bool { return port == dnsPort || port == proxyPort }

// sockets lists the sockets to open inside: two for the name server, one for both
// proxies, then those for direct connections.
func (r Rules) sockets() []socket {
	list := []socket{
		{"udp", netip.AddrPortFrom(loopback, dnsPort)},
		{"tcp", netip.AddrPortFrom(loopback, dnsPort)},
		{"tcp", netip.AddrPortFrom(loopback, proxyPort)},
	}
	everywhere := r.portsEverywhere()
	for _, p := range everywhere {
		list = append(list, socket{"tcp", netip.AddrPortFrom(anyLocal, p)})
	}
	names := newNames(r)
	for _, e := range r.entries {
		at := e.addr
		switch {
		case e.below:
			continue
		case e.name != "":
			at, _ = names.address(e.name)
		case !at.IsLoopback() || !at.Is4():
			continue // no address of the sandbox: only the proxies lead to it
		}
		for _, p := range e.ports {
			s := socket{"tcp", netip.AddrPortFrom(at, p)}
			if !slices.Contains(everywhere, p) && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// portsEverywhere are the ports on which one socket takes the connections to all
// names: those that the program cannot listen on, and those of names that are not
// known yet. On other ports each name has a socket, so that the program can listen
// on the same port of 127.0.0.1.
func (r Rules) portsEverywhere() (ports []uint16) {
	for _, e := range r.entries {
		for _, p := range e.ports {
			if (e.below || p < firstUnprivileged && !isOurs(p)) && !slices.Contains(ports, p) {
				ports = append(ports, p)
			}
		}
	}
	return ports
}
