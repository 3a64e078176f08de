package egress

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"
)

// The parts of a DNS message that the name server uses (RFC 1035, section 4).
const (
	dnsHeader    = 12
	maxQuery     = 512 // a query has one question, and maybe an EDNS record
	typeA        = 1
	classIN      = 1
	flagResponse = 1 << 15
	flagRecurse  = 1 << 8 // desired, copied to the response
	flagCan      = 1 << 7 // recursion is available
	maskOpcode   = 0xf << 11
	rcodeFailed  = 2
	rcodeNoName  = 3
	rcodeNotDone = 4 // not implemented
	// answerTTL is short enough that a program sees a new sandbox's addresses.
	answerTTL = 60
	// dnsIdle is how long a TCP connection to the name server may be silent.
	dnsIdle = 30 * time.Second
)

var errQuery = errors.New("no DNS query")

// query is a parsed DNS query.
type query struct {
	id     uint16
	flags  uint16
	name   string // as it came, labels joined by dots; "" is the root
	qtype  uint16
	qclass uint16
	asked  []byte // the question section
}

// parseQuery parses a query with one question. Labels may have any bytes but a dot.
// Compression is refused: the first question has nothing to refer to.
func parseQuery(p []byte) (q query, err error) {
	if len(p) < dnsHeader || len(p) > maxQuery {
		return q, errQuery
	}
	q.id, q.flags = binary.BigEndian.Uint16(p), binary.BigEndian.Uint16(p[2:])
	if q.flags&flagResponse != 0 || binary.BigEndian.Uint16(p[4:]) != 1 {
		return q, errQuery
	}
	at := dnsHeader
	var labels []string
	for {
		if at >= len(p) {
			return q, errQuery
		}
		n := int(p[at])
		at++
		if n == 0 {
			break
		}
		if n > maxLabel || at+n > len(p) || strings.IndexByte(string(p[at:at+n]), '.') >= 0 {
			return q, errQuery
		}
		labels = append(labels, string(p[at:at+n]))
		at += n
	}
	if at+4 > len(p) {
		return q, errQuery
	}
	q.name = strings.Join(labels, ".")
	q.qtype, q.qclass = binary.BigEndian.Uint16(p[at:]), binary.BigEndian.Uint16(p[at+2:])
	q.asked = p[dnsHeader : at+4]
	return q, nil
}

// response is the answer to q: with an address if a is valid.
func (q query) response(rcode uint16, a netip.Addr) []byte {
	flags := flagResponse | q.flags&(maskOpcode|flagRecurse) | flagCan | rcode
	answers := uint16(0)
	if a.IsValid() {
		answers = 1
	}
	p := make([]byte, 0, dnsHeader+len(q.asked)+16)
	for _, field := range []uint16{q.id, flags, 1, answers, 0, 0} {
		p = binary.BigEndian.AppendUint16(p, field)
	}
	p = append(p, q.asked...)
	if answers > 0 {
		p = append(p, 0xc0, dnsHeader) // the name of the question
		p = append(p, 0, typeA, 0, classIN)
		p = binary.BigEndian.AppendUint32(p, answerTTL)
		p = append(append(p, 0, 4), a.AsSlice()...)
	}
	return p
}

// answer answers one query; nil is no answer. No query leaves the sandbox: whether
// a name of the list exists is found out when a program connects to it.
func (p *proxy) answer(raw []byte) []byte {
	q, err := parseQuery(raw)
	if err != nil {
		return nil
	}
	if q.flags&maskOpcode != 0 || q.qclass != classIN {
		return q.response(rcodeNotDone, netip.Addr{})
	}
	if strings.EqualFold(q.name, "localhost") || strings.EqualFold(q.name, p.machine) {
		return q.response(0, ifA(q, loopback))
	}
	t, err := parseTarget(q.name, 0)
	if err != nil || t.name == "" || !p.rules.knows(t.name) {
		if !strings.HasSuffix(strings.ToLower(q.name), ".arpa") { // names of addresses: asked for without being wanted
			p.log.add("dns", q.name, "no entry of the network list has this name")
		}
		return q.response(rcodeNoName, netip.Addr{})
	}
	a, ok := p.names.address(t.name)
	if !ok {
		p.log.add("dns", t.name, "too many names were asked for")
		return q.response(rcodeFailed, netip.Addr{})
	}
	return q.response(0, ifA(q, a))
}

// ifA is a, or nothing if q asks for another type than an IPv4 address.
func ifA(q query, a netip.Addr) netip.Addr {
	if q.qtype != typeA {
		return netip.Addr{}
	}
	return a
}

// serveDNS answers queries by UDP until c is closed.
func (p *proxy) serveDNS(c net.PacketConn) {
	buf := make([]byte, maxQuery+1)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		if r := p.answer(buf[:n]); r != nil {
			_, _ = c.WriteTo(r, from) // who did not wait for it asks again
		}
	}
}

// handleDNS answers queries on a TCP connection, each with its length before it.
func (p *proxy) handleDNS(c net.Conn) {
	buf := make([]byte, 2+maxQuery)
	for {
		if c.SetDeadline(time.Now().Add(dnsIdle)) != nil {
			return
		}
		if _, err := io.ReadFull(c, buf[:2]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(buf))
		if n > maxQuery {
			return
		}
		if _, err := io.ReadFull(c, buf[2:2+n]); err != nil {
			return
		}
		r := p.answer(buf[2 : 2+n])
		if r == nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(r))), r...)); err != nil {
			return
		}
	}
}
