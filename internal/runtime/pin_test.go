package runtime

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"testing"

	"middleman/internal/certs"
)

// presented returns the chain of a server with --tls local, as a new start of it
// shows it.
func presented(t *testing.T, dir string) []*x509.Certificate {
	t.Helper()
	authority, err := certs.Local(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := authority.Config().GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	var chain []*x509.Certificate
	for _, raw := range shown.Certificate {
		c, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, c)
	}
	return chain
}

// A pin of the authority holds after a restart of the server, whose certificate is
// another one then; and it opens nothing else.
func TestPins(t *testing.T) {
	dir := t.TempDir()
	chain, again, other := presented(t, dir), presented(t, dir), presented(t, t.TempDir())
	for _, tt := range []struct {
		name, host string
		pin        *x509.Certificate
		chain      []*x509.Certificate
		ok         bool
	}{
		{"the certificate", "127.0.0.1", chain[0], chain, true},
		{"the certificate, by another name", "box", chain[0], chain, true},
		{"the certificate, after a restart", "127.0.0.1", chain[0], again, false},
		{"the authority", "127.0.0.1", chain[1], chain, true},
		{"the authority, after a restart", "127.0.0.1", chain[1], again, true},
		{"the authority, for a host that it does not vouch for", "evil.example", chain[1], chain, false},
		{"another authority", "127.0.0.1", other[1], chain, false},
		{"the authority, shown by somebody else", "127.0.0.1", chain[1], []*x509.Certificate{other[0], chain[1]}, false},
		{"the authority alone", "127.0.0.1", chain[1], other[:1], false},
		{"nothing", "127.0.0.1", chain[1], nil, false},
	} {
		d := &https{config: Config{Pin: fingerprint(tt.pin)}, url: &url.URL{Host: tt.host}}
		if err := d.verify(tls.ConnectionState{PeerCertificates: tt.chain}); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
