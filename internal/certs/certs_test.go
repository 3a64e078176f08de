package certs

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func local(t *testing.T, dir string) *Authority {
	t.Helper()
	a, err := Local(dir, []string{"box.example"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func shown(t *testing.T, c *tls.Config) *x509.Certificate {
	t.Helper()
	cert, err := c.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return cert.Leaf
}

// The authority vouches for this machine, and can vouch for nothing else.
func TestLocalAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	a := local(t, dir)
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	leaf := shown(t, a.Config())
	for name, ok := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "::1": true, "box.example": true, "evil.example": false, "192.0.2.1": false,
	} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Whoever gets hold of the key makes no certificate for another name.
	cert := *a.cert
	cert.PermittedDNSDomains = []string{"evil.example"}
	forger := &Authority{cert: &cert, key: a.key, now: time.Now}
	forged, err := forger.issue()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := forged.Leaf.Verify(x509.VerifyOptions{DNSName: "evil.example", Roots: roots}); err == nil {
		t.Error("the authority vouches for another name")
	}
	for _, name := range []string{authorityFile, keyFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if again := local(t, dir); !again.cert.Equal(a.cert) {
		t.Error("another start makes another authority")
	}
	if err := a.Covers("192.0.2.1"); err == nil || a.Covers("127.0.0.1") != nil || a.Covers("0.0.0.0") != nil {
		t.Errorf("covers: %v", err)
	}
}

// The server's certificate is replaced before it ends, by the same authority.
func TestRenewal(t *testing.T) {
	a := local(t, t.TempDir())
	now := time.Now()
	a.now = func() time.Time { return now }
	first := shown(t, a.Config())
	if now = now.Add(serverLife - renewBefore - time.Hour); !shown(t, a.Config()).Equal(first) {
		t.Error("renewed too early")
	}
	now = now.Add(2 * time.Hour)
	if second := shown(t, a.Config()); second.Equal(first) || second.CheckSignatureFrom(a.cert) != nil {
		t.Error("not renewed")
	}
}

// pair writes a certificate and its key for a test.
func pair(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	a := local(t, t.TempDir())
	issued, err := a.issue()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(issued.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := writePEM(cert, "CERTIFICATE", issued.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	if err := writePEM(key, "PRIVATE KEY", secret); err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// Files that change are read again; what cannot be used is told and passed over.
func TestFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir)
	var told []error
	f := &files{cert: cert, key: key, failed: func(err error) { told = append(told, err) }}
	look := func() *x509.Certificate {
		f.looked = time.Time{}
		c, err := f.get()
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf
	}
	first := look()
	pair(t, dir)
	later := time.Now().Add(time.Minute) // whatever the clock of the file system is like
	if err := os.Chtimes(cert, later, later); err != nil {
		t.Fatal(err)
	}
	second := look()
	if second.Equal(first) || len(told) != 0 {
		t.Errorf("not read again: %v", told)
	}
	if err := os.WriteFile(cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !look().Equal(second) {
			t.Error("what is no certificate is shown")
		}
	}
	if len(told) != 1 {
		t.Errorf("told %v", told)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir)
	if _, err := Files(cert, key, nil); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o604, 0o602, 0o620, 0o666} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Files(cert, key, nil); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	other, _ := pair(t, t.TempDir())
	for name, c := range map[string]string{"of another key": other, "missing": filepath.Join(dir, "none")} {
		if _, err := Files(c, key, nil); err == nil {
			t.Errorf("certificate %s was taken", name)
		}
	}
}

// A certificate that browsers may trust is not replaced when its key is gone. An
// interrupted start has left a key without a certificate, which is no authority.
func TestAuthorityWithoutItsKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	a := local(t, dir)
	key := filepath.Join(dir, keyFile)
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	_, err := Local(dir, nil)
	if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "remove "+a.File) {
		t.Errorf("without the key: %v", err)
	}
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	if again := local(t, dir); !again.cert.Equal(a.cert) {
		t.Error("the authority was replaced")
	}
	if err := os.Remove(a.File); err != nil {
		t.Fatal(err)
	}
	if other := local(t, dir); other.cert.Equal(a.cert) || other.key.Equal(a.key) {
		t.Error("a key without a certificate was used")
	}
}

// A handshake with the oldest version that is allowed, and with one before.
func TestVersions(t *testing.T) {
	a := local(t, t.TempDir())
	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		client, server := net.Pipe()
		done := make(chan error, 1)
		go func() { done <- tls.Server(server, a.Config()).Handshake() }()
		roots := x509.NewCertPool()
		roots.AddCert(a.cert)
		err := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: version, MaxVersion: version}).Handshake()
		client.Close()
		<-done
		server.Close()
		if (err == nil) != ok {
			t.Errorf("version %x: %v", version, err)
		}
	}
}
