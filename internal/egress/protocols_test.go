package egress

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
)

// ask is a DNS query for a name.
func ask(name string, qtype uint16) []byte {
	p := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, ".") {
		p = append(append(p, byte(len(label))), label...)
	}
	p = binary.BigEndian.AppendUint16(append(p, 0), qtype)
	return binary.BigEndian.AppendUint16(p, classIN)
}

func TestParseQuery(t *testing.T) {
	good := ask("a.example", typeA)
	q, err := parseQuery(good)
	if err != nil || q.name != "a.example" || q.qtype != typeA || q.id != 0x1234 {
		t.Fatalf("parseQuery = %+v, %v", q, err)
	}
	r := q.response(0, netip.MustParseAddr("127.96.0.1"))
	if want := append(append([]byte{0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0}, good[dnsHeader:]...),
		0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 96, 0, 1); !bytes.Equal(r, want) {
		t.Errorf("response = %x, want %x", r, want)
	}
	for name, p := range map[string][]byte{
		"nothing":         {},
		"a header alone":  good[:dnsHeader],
		"a cut name":      good[:dnsHeader+3],
		"a cut type":      good[:len(good)-3],
		"a response":      append([]byte{0, 0, 0x80}, good[3:]...),
		"two questions":   append([]byte{0, 0, 1, 0, 0, 2}, good[6:]...),
		"a pointer":       append(bytes.Clone(good[:dnsHeader]), 0xc0, 12, 0, 1, 0, 1),
		"a long label":    append(bytes.Clone(good[:dnsHeader]), 64),
		"a dot in it":     ask("a", typeA)[:dnsHeader+1],
		"a long message":  append(bytes.Clone(good), make([]byte, maxQuery)...),
		"a dot as letter": append(bytes.Clone(good[:dnsHeader]), 3, 'a', '.', 'b', 0, 0, 1, 0, 1),
	} {
		if _, err := parseQuery(p); err == nil {
			t.Errorf("%s is a query", name)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add(ask("registry.example", typeA))
	f.Add(ask("a", 28))
	f.Fuzz(func(t *testing.T, p []byte) {
		q, err := parseQuery(p)
		if err != nil {
			return
		}
		r := q.response(0, loopback)
		if len(r) > 2*maxQuery || !bytes.Contains(r, q.asked) {
			t.Fatalf("response %x to %x", r, p)
		}
		if q.name != "" && !bytes.Equal(ask(q.name, q.qtype)[dnsHeader:len(q.asked)+dnsHeader-2], q.asked[:len(q.asked)-2]) {
			t.Fatalf("name %q was read from %x", q.name, q.asked)
		}
	})
}

func TestParseRequest(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"connect", "CONNECT a.example:443 HTTP/1.1\r\nHost: other\r\n\r\n", "a.example:443 "},
		{"a URL", "GET http://a.example/x?y HTTP/1.1\r\nHost: evil.example\r\nAccept: */*\r\nProxy-Authorization: x\r\nConnection: keep-alive\r\n\r\n",
			"a.example:80 GET /x?y HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nConnection: close\r\n\r\n"},
		{"a port", "GET HTTP://a.example:8080 HTTP/1.0\r\n\r\n", "a.example:8080 GET / HTTP/1.1\r\nHost: a.example:8080\r\nConnection: close\r\n\r\n"},
		{"a query without a path", "GET http://a.example?y HTTP/1.1\r\n\r\n", "a.example:80 GET /?y HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"},
		{"IPv6", "GET http://[fd00::7]/ HTTP/1.1\r\n\r\n", "[fd00::7]:80 GET / HTTP/1.1\r\nHost: [fd00::7]\r\nConnection: close\r\n\r\n"},
		{"no port", "CONNECT a.example HTTP/1.1\r\n\r\n", "has no port"},
		{"a user", "GET http://a.example@evil.example/ HTTP/1.1\r\n\r\n", "bad request"},
		{"a user in CONNECT", "CONNECT a.example:443@evil.example:443 HTTP/1.1\r\n\r\n", "bad request"},
		{"https", "GET https://a.example/ HTTP/1.1\r\n\r\n", "https goes by CONNECT"},
		{"no proxy request", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "this is a proxy"},
		{"two lengths", "POST http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "length of its body twice"},
		{"a folded header", "GET http://a.example/ HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n", "is no header"},
		{"a space before the colon", "GET http://a.example/ HTTP/1.1\r\nA : b\r\n\r\n", "is no header"},
		{"a line feed alone", "GET http://a.example/ HTTP/1.1\nHost: a.example\r\n\r\n", "control character"},
		{"a NUL", "CONNECT a.example\x00.evil.example:443 HTTP/1.1\r\n\r\n", "control character"},
		{"an escaped NUL", "CONNECT a.example%00.evil.example:443 HTTP/1.1\r\n\r\n", "bad request"},
		{"three spaces", "GET  http://a.example/ HTTP/1.1\r\n\r\n", "bad request"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\n", "bad request"},
		{"a backslash", "GET http://a.example\\@evil.example/ HTTP/1.1\r\n\r\n", "bad request"},
		{"a fragment", "GET http://a.example/#@evil HTTP/1.1\r\n\r\n", "characters that a URL cannot have"},
		{"huge headers", "GET http://a.example/ HTTP/1.1\r\nA: " + strings.Repeat("x", maxHead) + "\r\n\r\n", "a head of over"},
		{"a huge line", "GET " + strings.Repeat("x", maxHead) + "\r\n\r\n", "a head of over"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := requestText(test.in)
			if strings.HasSuffix(test.want, "\n") || strings.HasSuffix(test.want, " ") {
				if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			} else if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want an error with %q", got, test.want)
			}
		})
	}
}

// requestText is the target of a request and what is sent to it, or the error.
func requestText(in string) string {
	lines, err := readHead(bufio.NewReader(strings.NewReader(in)))
	if err != nil {
		return err.Error()
	}
	q, err := parseRequest(lines)
	if err != nil {
		return err.Error()
	}
	if q.path == "" {
		return q.target.String() + " "
	}
	return q.target.String() + " " + string(q.forward())
}

// What is sent on is one request for the target that was checked, whatever came.
func FuzzParseRequest(f *testing.F) {
	f.Add("GET http://a.example/x?y HTTP/1.1\r\nHost: evil.example\r\nAccept: */*\r\n\r\n")
	f.Add("CONNECT a.example:443 HTTP/1.1\r\n\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		lines, err := readHead(bufio.NewReader(strings.NewReader(in)))
		if err != nil {
			return
		}
		q, err := parseRequest(lines)
		if err != nil || q.path == "" {
			return
		}
		sent := string(q.forward())
		again, err := readHead(bufio.NewReader(strings.NewReader(sent)))
		if err != nil {
			t.Fatalf("%q was sent on: %v", sent, err)
		}
		if n := strings.Count(sent, "\n"); n != len(again)+1 {
			t.Fatalf("%q has %d lines, want %d", sent, n, len(again)+1)
		}
		hosts := 0
		for _, line := range again[1:] {
			if strings.HasPrefix(strings.ToLower(line), "host:") {
				hosts++
				if want := "Host: " + strings.TrimSuffix(q.target.String(), ":80"); line != want {
					t.Fatalf("%q, want %q", line, want)
				}
			}
		}
		if hosts != 1 {
			t.Fatalf("%d Host headers in %q", hosts, sent)
		}
	})
}

func FuzzReadSOCKS(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x03\x09a.example\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x04\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x01\xbb"))
	f.Fuzz(func(t *testing.T, in []byte) {
		host, port, err := readSOCKS(bytes.NewReader(in))
		if err != nil {
			return
		}
		target, err := parseTarget(host, port)
		if err != nil {
			return
		}
		if strings.ContainsAny(target.String(), "\x00 /@\r\n") || target.port != port {
			t.Fatalf("%q is the target %s", in, target)
		}
	})
}
