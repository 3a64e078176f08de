package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const theValue = "sk-real/+ value"

// maskedPlace is a proxy with one secret for example.com, and a host outside that
// records what it is asked.
type maskedPlace struct {
	t           *testing.T
	proxy       *proxy
	placeholder string
	client      *http.Client
	authority   *x509.CertPool
	at          string // of the proxy

	mu    sync.Mutex // guards asked
	asked []string
}

func newMaskedPlace(t *testing.T) *maskedPlace {
	t.Helper()
	m := &maskedPlace{t: t, authority: x509.NewCertPool()}
	host := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.asked = append(m.asked, fmt.Sprintf("%s %s key=%q auth=%q body=%d %v", r.Method, r.URL, r.Header.Get("X-Key"), r.Header.Get("Authorization"), len(body), err))
		fmt.Fprint(w, "answered")
	}))
	host.Config.ErrorLog = log.New(io.Discard, "", 0)
	host.StartTLS()
	t.Cleanup(host.Close)
	rules, err := Parse([]string{"example.com", "www.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(rules, newDenials(filepath.Join(privateDir(t), "denials")), limits{connections: 64, request: patience, idle: patience})
	p.resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}
	p.dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
		return net.Dial("tcp", host.Listener.Addr().String())
	}
	p.roots = x509.NewCertPool()
	p.roots.AddCert(host.Certificate())
	secret, err := parseSecret("KEY example.com")
	if err != nil {
		t.Fatal(err)
	}
	var masks Masks
	if m.placeholder, err = masks.Add(secret, theValue); err != nil {
		t.Fatal(err)
	}
	raw, err := masks.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if p.masks, err = decodeMasks(raw); err != nil {
		t.Fatal(err)
	}
	if !m.authority.AppendCertsFromPEM(masks.Authority()) {
		t.Fatal("the authority is no certificate")
	}
	m.authority.AddCert(host.Certificate())
	m.proxy = p
	m.serve()
	return m
}

// serve lets the proxy listen, and makes a client that goes through it.
func (m *maskedPlace) serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatal(err)
	}
	s := newServer(m.proxy)
	var served sync.WaitGroup
	served.Go(func() { s.serve(context.Background(), l, s.handleProxy) })
	m.at = l.Addr().String()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: m.at}), TLSClientConfig: &tls.Config{RootCAs: m.authority}}
	m.client = &http.Client{Transport: transport}
	m.t.Cleanup(func() { transport.CloseIdleConnections(); l.Close(); s.closeAll(); served.Wait() })
}

// seen returns what the host was asked.
func (m *maskedPlace) seen() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

func (m *maskedPlace) ask(method, where string, body io.Reader, change func(*http.Request)) (string, error) {
	m.t.Helper()
	req, err := http.NewRequest(method, where, body)
	if err != nil {
		m.t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return string(raw), err
}

func TestSecretReachesItsHost(t *testing.T) {
	m := newMaskedPlace(t)
	for i, c := range []struct {
		method, url string
		body        io.Reader
		change      func(*http.Request)
		want        string
	}{
		{"GET", "https://example.com/a", nil, func(r *http.Request) { r.Header.Set("X-Key", m.placeholder) }, fmt.Sprintf(`GET /a key=%q auth="" body=0`, theValue)},
		{"GET", "https://example.com/b", nil, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+m.placeholder) }, fmt.Sprintf("auth=%q", "Bearer "+theValue)},
		{"GET", "https://example.com/c", nil, func(r *http.Request) { r.SetBasicAuth("git", m.placeholder) }, `auth="Basic Z2l0OnNrLXJlYWwvKyB2YWx1ZQ=="`},
		{"GET", "https://example.com/d?key=" + m.placeholder, nil, nil, "GET /d?key=sk-real%2F%2B+value"},
		{"POST", "https://example.com/e", bytes.NewReader(make([]byte, 1<<20)), nil, "POST /e key=\"\" auth=\"\" body=1048576 <nil>"},
		{"POST", "https://example.com/f", io.MultiReader(strings.NewReader("no length"), bytes.NewReader(make([]byte, 1<<20))), nil, "POST /f key=\"\" auth=\"\" body=1048585 <nil>"},
		// A body is the program's own: what is in it stays.
		{"POST", "https://example.com/g", strings.NewReader(m.placeholder), nil, fmt.Sprintf("body=%d <nil>", len(m.placeholder))},
		// Another host has no secret, and its connection is not opened.
		{"GET", "https://www.example.com/h", nil, func(r *http.Request) { r.Header.Set("X-Key", m.placeholder) }, fmt.Sprintf("key=%q", m.placeholder)},
	} {
		got, err := m.ask(c.method, c.url, c.body, c.change)
		if err != nil || got != "answered" {
			t.Fatalf("%s %s: %q, %v", c.method, c.url, got, err)
		}
		if seen := m.seen(); len(seen) != i+1 || !strings.Contains(seen[i], c.want) {
			t.Errorf("%s %s: the host was asked %q, want %q", c.method, c.url, seen, c.want)
		}
	}
}

// hostileRequests are bytes on a connection to the secret's host with which a program
// could have another server see the value, or a request in another's body.
func hostileRequests(placeholder string) map[string]string {
	key := "X-Key: " + placeholder + "\r\n"
	host := "Host: example.com\r\n"
	return map[string]string{
		"another host":              "GET / HTTP/1.1\r\nHost: evil.test\r\n" + key + "\r\n",
		"two hosts":                 "GET / HTTP/1.1\r\n" + host + "Host: evil.test\r\n" + key + "\r\n",
		"no host":                   "GET / HTTP/1.1\r\n" + key + "\r\n",
		"another port":              "GET / HTTP/1.1\r\nHost: example.com:8443\r\n" + key + "\r\n",
		"a user before the host":    "GET / HTTP/1.1\r\nHost: example.com@evil.test\r\n" + key + "\r\n",
		"a whole URL":               "GET https://evil.test/ HTTP/1.1\r\n" + host + key + "\r\n",
		"CONNECT":                   "CONNECT evil.test:443 HTTP/1.1\r\n" + host + key + "\r\n",
		"TRACE":                     "TRACE / HTTP/1.1\r\n" + host + key + "\r\n",
		"HTTP/2":                    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"two lengths":               "POST / HTTP/1.1\r\n" + host + key + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"a length and chunks":       "POST / HTTP/1.1\r\n" + host + key + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"another encoding":          "POST / HTTP/1.1\r\n" + host + key + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"a signed length":           "POST / HTTP/1.1\r\n" + host + key + "Content-Length: +1\r\n\r\na",
		"a line without CR":         "GET / HTTP/1.1\n" + host + key + "\r\n",
		"a folded header":           "GET / HTTP/1.1\r\n" + host + "X-A: b\r\n " + key + "\r\n",
		"a blank in a header":       "GET / HTTP/1.1\r\n" + host + "Transfer-Encoding : chunked\r\n" + key + "\r\n",
		"a control character":       "GET / HTTP/1.1\r\n" + host + "X-A: b\x00c\r\n" + key + "\r\n",
		"a length with two numbers": "POST / HTTP/1.1\r\n" + host + key + "Content-Length: 1, 1\r\n\r\na",
	}
}

func TestHostileRequests(t *testing.T) {
	m := newMaskedPlace(t)
	for name, raw := range hostileRequests(m.placeholder) {
		c, err := net.Dial("tcp", m.at)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
		if _, err := readHead(bufio.NewReaderSize(oneByte{c}, 16)); err != nil {
			t.Fatal(err)
		}
		inner := tls.Client(c, &tls.Config{RootCAs: m.authority, ServerName: "example.com"})
		if _, err := io.WriteString(inner, raw); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(inner); bytes.Contains(got, []byte("answered")) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		c.Close()
	}
	if seen := m.seen(); len(seen) > 0 {
		t.Errorf("the host was asked %q", seen)
	}
	denied, err := ReadDenials(m.proxy.log.path, 100)
	if err != nil || len(denied) == 0 || denied[0].Via != "secret" || denied[0].Target != "example.com:443" {
		t.Errorf("the log has %+v: %v", denied, err)
	}
}

// A program cannot have the value sent without TLS to a port that is for TLS.
func TestSecretNeedsTLS(t *testing.T) {
	m := newMaskedPlace(t)
	var sent bytes.Buffer
	var mu sync.Mutex // guards sent
	var done sync.WaitGroup
	m.proxy.dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
		near, far := net.Pipe()
		done.Go(func() {
			raw, _ := io.ReadAll(far) // until the proxy closes it
			mu.Lock()
			defer mu.Unlock()
			sent.Write(raw)
		})
		return near, nil
	}
	request := "GET %s HTTP/1.1\r\nHost: example.com:443\r\nX-Key: " + m.placeholder + "\r\n\r\n"
	for _, raw := range []string{fmt.Sprintf(request, "http://example.com:443/"), "CONNECT example.com:443 HTTP/1.1\r\n\r\n" + fmt.Sprintf(request, "/")} {
		c, err := net.Dial("tcp", m.at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, raw); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite() // the proxy may have reset it already
		if strings.HasPrefix(raw, "CONNECT") {
			_, _ = io.Copy(io.Discard, c) // until the proxy resets it
		}
		c.Close()
	}
	done.Wait()
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(sent.String(), theValue) {
		t.Errorf("sent without TLS: %q", sent.String())
	}
}

// oneByte reads one byte at a time, so that nothing beyond a head is read.
type oneByte struct{ io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.Reader.Read(p[:1]) }

// A host whose certificate is not valid gets nothing.
func TestHostIsNotTheOne(t *testing.T) {
	m := newMaskedPlace(t)
	m.proxy.roots = x509.NewCertPool()
	_, err := m.ask("GET", "https://example.com/", nil, func(r *http.Request) { r.Header.Set("X-Key", m.placeholder) })
	if seen := m.seen(); err == nil || len(seen) > 0 {
		t.Errorf("%v; the host was asked %q", err, seen)
	}
}

// The authority inside vouches for the hosts of secrets alone.
func TestAuthorityIsNarrow(t *testing.T) {
	m := newMaskedPlace(t)
	for name, good := range map[string]bool{"example.com": true, "evil.test": false, "127.0.0.1": false} {
		config, err := m.proxy.masks.serve(name)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: m.authority}); (err == nil) != good {
			t.Errorf("%s: %v, want success to be %t", name, err, good)
		}
	}
}

func TestParseSecret(t *testing.T) {
	s, err := parseSecret("API_KEY api.example Other.Example:8443")
	if err != nil || s.Variable != "API_KEY" || !slices.Equal(s.Hosts, []string{"api.example:443", "other.example:8443"}) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, text := range []string{"", "KEY", "1KEY api.example", "K-Y api.example", "KEY *.example.org", "KEY 192.0.2.1", "KEY api.example:0", "KEY https://api.example"} {
		if s, err := parseSecret(text); err == nil {
			t.Errorf("%q: %+v", text, s)
		}
	}
	if _, err := ParseSecrets([]string{"KEY a.example", "KEY b.example"}); err == nil {
		t.Error("one variable is accepted twice")
	}
	var m Masks
	for _, value := range []string{"12345678\r\nHost: evil.test", "12345678\x00", "short", strings.Repeat("x", maxValue+1)} {
		if _, err := m.Add(s, value); err == nil {
			t.Errorf("the value %.20q is accepted", value)
		}
	}
}

// Whatever comes in, another server that reads what goes out finds requests to the one
// host alone.
func FuzzForwardRequests(f *testing.F) {
	const placeholder = "masked-XXXX"
	secrets := []masked{{placeholder, "value", []string{"example.com:443"}}}
	f.Add([]byte("POST /x?y HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\nHost: example.com\r\n\r\n"))
	for _, raw := range hostileRequests(placeholder) {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var out bytes.Buffer
		err := forwardRequests(&out, bufio.NewReader(bytes.NewReader(raw)), target{name: "example.com", port: 443}, secrets)
		if err != nil && !errors.Is(err, errRequest) {
			t.Fatal(err)
		}
		for r := bufio.NewReader(&out); ; {
			q, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if host, _, _ := strings.Cut(strings.ToLower(q.Host), ":"); strings.TrimSuffix(host, ".") != "example.com" {
				t.Fatalf("a request for %q came out of %q", q.Host, raw)
			}
			if q.Header.Get("Upgrade") != "" {
				return
			}
			if _, err := io.Copy(io.Discard, q.Body); err != nil {
				return
			}
		}
	})
}

func FuzzDecodeMasks(f *testing.F) {
	var m Masks
	if _, err := m.Add(Secret{"KEY", []string{"a.example:443"}}, "12345678"); err != nil {
		f.Fatal(err)
	}
	raw, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"masked":[{"placeholder":"","value":"x"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decodeMasks(raw)
		if err != nil {
			return
		}
		if slices.ContainsFunc(m.Masked, func(s masked) bool { return s.Placeholder == "" }) {
			t.Error("an empty placeholder stands for everything")
		}
		if _, err := m.serve("a.example"); err != nil {
			return
		}
	})
}
