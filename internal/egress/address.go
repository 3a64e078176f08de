package egress

import (
	"net"
	"net/netip"
	"slices"
)

// addressClass is a range of addresses that a name must not lead to.
type addressClass struct {
	prefix netip.Prefix
	what   string
	// local addresses can be allowed by an entry; the others cannot.
	local bool
}

// notPublic are the ranges that IANA's registries of special-purpose addresses
// name, as far as they are no way to the public network. The first that contains
// an address counts. Ranges that embed IPv4 addresses (6to4, Teredo, NAT64) are in
// it, because they lead to any IPv4 address.
var notPublic = []addressClass{
	class("0.0.0.0/8", "unspecified", false),
	class("10.0.0.0/8", "private", true),
	class("100.64.0.0/10", "carrier-grade NAT", true),
	class("127.0.0.0/8", "loopback", true),
	class("169.254.0.0/16", "link-local", false),
	class("168.63.129.16/32", "cloud provider's", false), // Azure: settings and secrets of the machine
	class("172.16.0.0/12", "private", true),
	class("192.0.0.0/24", "reserved", false),
	class("192.0.2.0/24", "documentation", false),
	class("192.88.99.0/24", "6to4", false),
	class("192.168.0.0/16", "private", true),
	class("198.18.0.0/15", "benchmarking", false),
	class("198.51.100.0/24", "documentation", false),
	class("203.0.113.0/24", "documentation", false),
	class("224.0.0.0/4", "multicast", false),
	class("240.0.0.0/4", "reserved", false),
	class("::1/128", "loopback", true),
	class("fc00::/7", "private", true),
	class("64:ff9b::/96", "NAT64", false),
	class("64:ff9b:1::/48", "NAT64", false),
	class("fe80::/10", "link-local", false),
	class("ff00::/8", "multicast", false),
	class("2001:db8::/32", "documentation", false),
	class("2001::/32", "Teredo", false),
	class("2001::/23", "reserved", false),
	class("2002::/16", "6to4", false),
	class("3fff::/20", "documentation", false),
}

// global is where all other public IPv6 addresses are.
var global = netip.MustParsePrefix("2000::/3")

func class(prefix, what string, local bool) addressClass {
	return addressClass{netip.MustParsePrefix(prefix), what, local}
}

// classify tells why an address is not public; what is "" for a public one. A local
// one can be allowed by an entry of the list.
func classify(a netip.Addr) (what string, local bool) {
	if a.Zone() != "" {
		return "link-local", false
	}
	a = a.Unmap()
	for _, c := range notPublic {
		if c.prefix.Contains(a) {
			return c.what, c.local
		}
	}
	if a.Is6() && !global.Contains(a) {
		return "reserved", false
	}
	return "", false
}

// widest is the shortest prefix of an interface that counts as the local network. Behind a
// shorter one, as some tunnels have, is everything.
const widest = 8

// ownNetworks returns the networks of this machine's interfaces. Their addresses may be
// public, most of all with IPv6, and still lead to this machine, behind its firewall, or
// to its neighbours.
func ownNetworks() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var found []netip.Prefix
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue // no network
		}
		if p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()); p.Bits() < widest {
			p = netip.PrefixFrom(p.Addr(), p.Addr().BitLen())
		}
		found = append(found, p)
	}
	return found, nil
}

// classify is classifyIn with the networks of the machine that the proxy is on.
func (p *proxy) classify(a netip.Addr) (what string, local bool, err error) {
	return classifyIn(a, p.networks)
}

// ClassifyHere tells why an address is not public, seen from this machine; what is ""
// for a public one. A local one is near by, and may be what a user wants.
func ClassifyHere(a netip.Addr) (what string, local bool, err error) {
	return classifyIn(a, ownNetworks)
}

// classifyIn is the function classify, and an address of these networks is local.
func classifyIn(a netip.Addr, networks func() ([]netip.Prefix, error)) (what string, local bool, err error) {
	if what, local = classify(a); what != "" {
		return what, local, nil
	}
	own, err := networks()
	if slices.ContainsFunc(own, func(n netip.Prefix) bool { return n.Contains(a.Unmap()) }) {
		return "local network's", true, nil
	}
	return "", false, err
}
