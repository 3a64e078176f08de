package egress

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("a", 63)
	tests := []struct {
		name, in string
		want     string // "" is accepted, else part of the error
	}{
		{"a name", "registry.example", ""},
		{"a name with a port", "registry.example:8443", ""},
		{"capitals", "Registry.EXAMPLE", ""},
		{"one label", "nas:445", ""},
		{"an A-label", "xn--bcher-kva.example", ""},
		{"all below a name", "*.example.org:443", ""},
		{"a private name", "db.internal:5432 private", ""},
		{"an IPv4 address", "10.0.0.7:5432", ""},
		{"an IPv6 address", "[fd00::7]:443", ""},
		{"an IPv6 address without a port", "[2001:4860::1]", ""},
		{"the longest label", long + ".example", ""},

		{"nothing", "", "0 characters"},
		{"a label too long", long + "a.example", "is not 1 to 63"},
		{"a name too long", strings.Repeat(long+".", 4) + "example", "1 to 253"},
		{"an empty label", "a..example", "is not 1 to 63"},
		{"a dot first", ".example.org", "is not 1 to 63"},
		{"a dot last", "registry.example.", "without a dot at its end"},
		{"a hyphen first", "-a.example", "is not 1 to 63"},
		{"a hyphen last", "a-.example", "is not 1 to 63"},
		{"an underscore", "a_b.example", "is not 1 to 63"},
		{"a NUL", "good.example\x00.evil.example", "is not 1 to 63"},
		{"a letter beyond ASCII", "bücher.example", "ASCII form"},
		{"a letter that folds into ASCII", "\u212aernel.example", "ASCII form"},
		{"a URL", "https://registry.example", "is not a number"},
		{"a path", "registry.example/x", "is not 1 to 63"},
		{"a user", "me@registry.example", "is not 1 to 63"},
		{"a star alone", "*", "is not 1 to 63"},
		{"a star over a top-level domain", "*.org", "top-level domain"},
		{"a star inside", "a.*.example.org", "is not 1 to 63"},
		{"a star in a label", "a*.example.org", "is not 1 to 63"},
		{"two stars", "*.*.example.org", "is not 1 to 63"},
		{"a star over an address", "*.10.0.0.1:80", "without a star"},
		{"port 0", "a.example:0", "is not a number"},
		{"port 65536", "a.example:65536", "is not a number"},
		{"a port with a sign", "a.example:+80", "is not a number"},
		{"a port with a zero first", "a.example:080", "is not a number"},
		{"no port after the colon", "a.example:", "is not a number"},
		{"a star on the name server's port", "*.example.org:53", "in use inside"},
		{"localhost", "localhost:80", "loopback"},
		{"below localhost", "a.localhost", "loopback"},
		{"a decimal address", "2130706433:80", "ends with a number"},
		{"a short address", "127.1:80", "ends with a number"},
		{"an octal address", "0177.0.0.1:80", "ends with a number"},
		{"a hexadecimal address", "0x7f000001:80", "ends with a number"},
		{"a hexadecimal part", "127.0.0.0x1:80", "ends with a number"},
		{"an address with a dot last", "10.0.0.1.:80", "without a dot"},
		{"IPv6 without brackets", "fd00::7", "is not 1 to 63"},
		{"IPv6 with a zone", "[fe80::1%eth0]:80", "no IPv6 address"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:80", "no IPv6 address"},
		{"IPv4 in brackets", "[10.0.0.1]:80", "no IPv6 address"},
		{"an open bracket", "[fd00::7", "no IPv6 address"},
		{"a link-local address", "169.254.169.254:80", "cannot be allowed"},
		{"a multicast address", "224.0.0.1:80", "cannot be allowed"},
		{"NAT64 as an address", "[64:ff9b::a00:1]:80", "cannot be allowed"},
		{"another word", "a.example:80 public", "is not known"},
		{"private without a port", "a.example private", "names one host and its port"},
		{"private with a star", "*.a.example:80 private", "names one host and its port"},
		{"a private address", "10.0.0.1:80 private", "means itself"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]string{test.in})
			if got := errText(err); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("Parse(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
	if _, err := Parse(make([]string, maxEntries+1)); err == nil {
		t.Error("a list of any length is accepted")
	}
	var many []string
	for i := range maxSockets {
		many = append(many, "a.example:"+strconv.Itoa(2000+i))
	}
	if _, err := Parse(many); err == nil {
		t.Error("more sockets than one message carries are accepted")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMatch(t *testing.T) {
	r, err := Parse([]string{"registry.example", "*.example.org:443", "db.internal:5432", "db.internal:5432 private", "10.0.0.7:5432"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		host          string
		port          uint16
		want, private bool
	}{
		{"registry.example", 443, true, false},
		{"REGISTRY.example", 80, true, false},
		{"registry.example.", 443, true, false},
		{"registry.example", 22, false, false},
		{"a.registry.example", 443, false, false},
		{"notregistry.example", 443, false, false},
		{"registry.example.evil.test", 443, false, false},
		{"a.example.org", 443, true, false},
		{"a.b.example.org", 443, true, false},
		{"example.org", 443, false, false},
		{"evilexample.org", 443, false, false},
		{"a.example.org", 80, false, false},
		{"db.internal", 5432, true, true},
		{"10.0.0.7", 5432, true, false},
		{"10.0.0.8", 5432, false, false},
	}
	for _, test := range tests {
		target, err := parseTarget(test.host, test.port)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := r.match(target)
		if ok != test.want || e.private != test.private {
			t.Errorf("%s: %v, private %v; want %v, %v", target, ok, e.private, test.want, test.private)
		}
	}
}

func TestClassify(t *testing.T) {
	tests := map[string]string{
		"93.184.216.34": "", "2606:2800:220:1::1": "", "1.1.1.1": "",
		"0.0.0.0": "unspecified", "10.1.2.3": "private", "100.64.0.1": "carrier-grade NAT", "100.127.255.255": "carrier-grade NAT", "100.128.0.0": "",
		"127.0.0.1": "loopback", "127.96.0.1": "loopback", "169.254.169.254": "link-local", "168.63.129.16": "cloud provider's", "172.16.0.1": "private", "172.31.255.255": "private", "172.32.0.0": "",
		"192.168.1.1": "private", "192.88.99.1": "6to4", "198.18.0.1": "benchmarking", "224.0.0.1": "multicast", "255.255.255.255": "reserved",
		"::": "reserved", "::1": "loopback", "::ffff:10.0.0.1": "private", "::ffff:127.0.0.1": "loopback", "::10.0.0.1": "reserved",
		"64:ff9b::a00:1": "NAT64", "64:ff9b:1::a00:1": "NAT64", "2002:a00:1::": "6to4", "2001::1": "Teredo", "fc00::1": "private", "fd00::1": "private",
		"fe80::1": "link-local", "fe80::1%lo": "link-local", "fec0::1": "reserved", "ff02::1": "multicast", "2001:db8::1": "documentation", "4000::1": "reserved",
	}
	for text, want := range tests {
		if got, _ := classify(netip.MustParseAddr(text)); got != want {
			t.Errorf("classify(%s) = %q, want %q", text, got, want)
		}
	}
}

// What is accepted means the same when it is written in its canonical form.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"registry.example", "*.example.org:443", "db.internal:5432 private", "10.0.0.7:5432", "[fd00::7]:443", "127.1", "a..b", "\u212a.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse([]string{text})
		if err != nil {
			return
		}
		e := r.entries[0]
		host := e.name
		if e.name == "" {
			host = e.addr.String()
			if e.addr.Is6() {
				host = "[" + host + "]"
			}
		}
		asked := host
		if e.below {
			asked, host = "any."+host, "*."+host
		}
		if len(asked) > maxName {
			return
		}
		again := host + ":" + strconv.Itoa(int(e.ports[0]))
		if e.private {
			again += " " + privateWord
		}
		r2, err := Parse([]string{again})
		if err != nil {
			t.Fatalf("%q was accepted, %q is not: %v", text, again, err)
		}
		e2 := r2.entries[0]
		if e2.name != e.name || e2.addr != e.addr || e2.below != e.below || e2.private != e.private || !slices.Contains(e.ports, e2.ports[0]) {
			t.Fatalf("%q became %+v, and %q %+v", text, e, again, e2)
		}
		target, err := parseTarget(asked, e.ports[0])
		if err != nil {
			t.Fatalf("%q is in the list, and cannot be asked for: %v", asked, err)
		}
		if _, ok := r.match(target); !ok {
			t.Fatalf("%q does not allow %s", text, target)
		}
	})
}
