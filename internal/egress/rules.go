package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxEntries bounds a network list.
	maxEntries = 256
	// maxName is the length of the longest host name (RFC 1035, section 2.3.4,
	// without the root's dot).
	maxName = 253
	// maxLabel is the length of the longest part of a name between dots.
	maxLabel = 63
	// privateWord after an entry lets it lead to private addresses.
	privateWord = "private"
)

// defaultPorts are the ports of an entry that names none.
var defaultPorts = []uint16{80, 443}

// Rules are a parsed network list.
type Rules struct{ entries []entry }

// entry is one host of the list, or all hosts below it.
type entry struct {
	text    string
	name    string     // "" for an address
	below   bool       // all names below name, not name itself
	addr    netip.Addr // only where name is ""
	ports   []uint16
	private bool // may resolve to a private address
}

// target is what a program wants to connect to: a name in its canonical form, or
// an address.
type target struct {
	name string
	addr netip.Addr // only where name is ""
	port uint16
}

func (t target) String() string {
	if t.name != "" {
		return t.name + ":" + strconv.Itoa(int(t.port))
	}
	return netip.AddrPortFrom(t.addr, t.port).String()
}

// Parse parses a network list. An entry is HOST, *.HOST (all names below it),
// HOST:PORT, or one of these with an address instead: 192.168.0.7:5432,
// [2001:db8::1]:443. Without a port it means the ports 80 and 443. A name leads to
// public addresses only, unless the entry ends with the word private:
// "db.internal:5432 private". An address means itself.
func Parse(list []string) (Rules, error) {
	if len(list) > maxEntries {
		return Rules{}, fmt.Errorf("a network list of %d entries: at most %d are allowed", len(list), maxEntries)
	}
	var r Rules
	for _, text := range list {
		e, err := parseEntry(text)
		if err != nil {
			return Rules{}, fmt.Errorf("network entry %q: %w", text, err)
		}
		r.entries = append(r.entries, e)
	}
	if n := len(r.sockets()); n > maxSockets {
		return Rules{}, fmt.Errorf("the network list needs %d listening sockets, and at most %d are allowed: name fewer ports above 1023", n, maxSockets)
	}
	return r, nil
}

func parseEntry(text string) (e entry, err error) {
	e = entry{text: text, ports: defaultPorts}
	rest, word, marked := strings.Cut(text, " ")
	if marked && word != privateWord {
		return e, fmt.Errorf("%q after the host is not known: only the word %s is", word, privateWord)
	}
	e.private = marked
	host, port, hasPort := splitPort(rest)
	if hasPort {
		n, err := parsePort(port)
		if err != nil {
			return e, err
		}
		e.ports = []uint16{n}
	}
	host, e.below = strings.CutPrefix(host, "*.")
	if strings.HasSuffix(host, ".") {
		return e, errors.New("write the name without a dot at its end")
	}
	t, err := parseHost(host)
	if err != nil {
		return e, err
	}
	e.name, e.addr = t.name, t.addr
	return e, e.check(hasPort)
}

// check refuses what is well-formed and makes no sense.
func (e entry) check(hasPort bool) error {
	switch {
	case e.name == "":
		if e.below || e.private {
			return errors.New("an address means itself: write it without a star and without " + privateWord)
		}
		if what, local := classify(e.addr); what != "" && !local {
			return fmt.Errorf("%s is a %s address: it cannot be allowed", e.addr, what)
		}
	case e.below && !strings.Contains(e.name, "."):
		return errors.New("a star over a whole top-level domain cannot be allowed: name the domain below it")
	case e.below && slices.ContainsFunc(e.ports, isOurs):
		return fmt.Errorf("port %d is in use inside the sandbox: name the hosts without a star", e.ports[0])
	case e.private && (e.below || !hasPort):
		return fmt.Errorf("an entry that is %s names one host and its port: HOST:PORT %s", privateWord, privateWord)
	}
	return nil
}

// splitPort splits HOST:PORT and [ADDRESS]:PORT. The brackets stay.
func splitPort(s string) (host, port string, ok bool) {
	if strings.HasSuffix(s, "]") {
		return s, "", false
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// parsePort parses a port in its one spelling: decimal, without sign, without
// leading zeros.
func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != s {
		return 0, fmt.Errorf("port %q is not a number from 1 to 65535", s)
	}
	return uint16(n), nil
}

// parseHost parses a name, an IPv4 address in its one spelling, or an IPv6 address
// in brackets. The target has no port.
func parseHost(host string) (target, error) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" || addr.Is4In6() {
			return target{}, fmt.Errorf("%q is no IPv6 address in brackets", clip(host))
		}
		return target{addr: addr}, nil
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is4() {
		return target{addr: addr}, nil
	}
	name, err := canonical(host)
	return target{name: name}, err
}

// parseTarget parses what a program asks for. A name may end with one dot, which
// means the same.
func parseTarget(host string, port uint16) (target, error) {
	t, err := parseHost(strings.TrimSuffix(host, "."))
	t.port = port
	return t, err
}

// canonical returns a host name in lower case. It accepts letters, digits and
// hyphens in labels by RFC 1123, section 2.1. A name that some programs read as an
// address, because its last label is a number, is refused.
func canonical(name string) (string, error) {
	if !isASCII(name) {
		return "", fmt.Errorf("%q is no host name: write letters beyond ASCII in their ASCII form (xn--...)", clip(name))
	}
	if name == "" || len(name) > maxName {
		return "", fmt.Errorf("%q is no host name: it has %d characters, and 1 to %d are allowed", clip(name), len(name), maxName)
	}
	name = strings.ToLower(name)
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > maxLabel || strings.Trim(label, "-") != label || !isPlain(label) {
			return "", fmt.Errorf("%q is no host name: the part %q is not 1 to %d letters, digits and inner hyphens", clip(name), clip(label), maxLabel)
		}
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", fmt.Errorf("%q is no host name: it ends with a number; write an address as four decimal numbers", clip(name))
	}
	if last == "localhost" {
		return "", fmt.Errorf("%q is the sandbox's own loopback: write 127.0.0.1:PORT for a port of this machine", clip(name))
	}
	return name, nil
}

// isPlain reports whether a label in lower case has no other characters than a
// name may have.
func isPlain(label string) bool {
	for _, c := range []byte(label) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// clip shortens a text of others for a message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// match returns the entry that allows a target. One that may lead to a private
// address comes first.
func (r Rules) match(t target) (found entry, ok bool) {
	for _, e := range r.entries {
		if slices.Contains(e.ports, t.port) && e.covers(t) && (!ok || e.private) {
			found, ok = e, true
		}
	}
	return found, ok
}

// knows reports whether a name is allowed on any port.
func (r Rules) knows(name string) bool {
	return slices.ContainsFunc(r.entries, func(e entry) bool { return e.covers(target{name: name}) })
}

// covers reports whether an entry means the host of a target.
func (e entry) covers(t target) bool {
	switch {
	case e.name == "" || t.name == "":
		return e.name == t.name && e.addr == t.addr
	case e.below:
		return strings.HasSuffix(t.name, "."+e.name)
	}
	return e.name == t.name
}
