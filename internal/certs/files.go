package certs

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"middleman/internal/plainfile"
)

// lookEvery is the shortest time between two checks whether files changed.
const lookEvery = time.Second

// maxPEM bounds the size in bytes of a certificate chain, and of a key.
const maxPEM = 1 << 20

// newConfig returns a configuration that serves the certificate of get. It
// offers HTTP/1.1 only, because our streams and WebSockets use that.
func newConfig(get func() (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return get() },
	}
}

// files are a certificate and its key that another program renews.
type files struct {
	cert, key string
	failed    func(error)
	// mu guards the fields below.
	mu     sync.Mutex
	shown  *tls.Certificate
	seen   [2]stamp // as of shown, or of the last attempt to load
	looked time.Time
}

// stamp tells two versions of a file apart.
type stamp struct {
	changed time.Time
	size    int64
}

// Files serves the certificate chain in the PEM file cert with the key in the
// PEM file key. It reads both again when they change, and checks that at most
// once a second. If reading fails it keeps the old certificate and calls failed
// once for each change.
func Files(cert, key string, failed func(error)) (*tls.Config, error) {
	f := &files{cert: cert, key: key, failed: failed}
	var err error
	if f.seen, err = f.stamps(); err == nil {
		f.shown, err = f.load()
	}
	if err != nil {
		return nil, err
	}
	f.looked = time.Now()
	return newConfig(f.get), nil
}

func (f *files) get() (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < lookEvery {
		return f.shown, nil
	}
	f.looked = time.Now()
	seen, err := f.stamps()
	if err != nil || seen == f.seen {
		return f.shown, nil // it is being replaced, or has not changed
	}
	f.seen = seen
	shown, err := f.load()
	if err != nil {
		f.failed(fmt.Errorf("the changed certificate cannot be used, so the one before is still in use: %w", err))
		return f.shown, nil
	}
	f.shown = shown
	return shown, nil
}

func (f *files) stamps() (s [2]stamp, err error) {
	for i, file := range []struct{ what, path string }{{"certificate", f.cert}, {"private key", f.key}} {
		info, err := os.Stat(file.path)
		if err != nil {
			return s, fmt.Errorf("look at the %s: %w", file.what, err)
		}
		s[i] = stamp{info.ModTime(), info.Size()}
	}
	return s, nil
}

func (f *files) load() (*tls.Certificate, error) {
	if err := checkKey(f.key); err != nil {
		return nil, err
	}
	chain, err := plainfile.ReadFollowed(f.cert, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("read certificate %s: %w", f.cert, err)
	}
	key, err := plainfile.ReadFollowed(f.key, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("read private key %s: %w", f.key, err)
	}
	c, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("read certificate %s with key %s: %w", f.cert, f.key, err)
	}
	if now := time.Now(); now.After(c.Leaf.NotAfter) || now.Before(c.Leaf.NotBefore) {
		return nil, fmt.Errorf("certificate %s is valid from %s to %s, which is not now", f.cert,
			c.Leaf.NotBefore.Local().Format(time.DateTime), c.Leaf.NotAfter.Local().Format(time.DateTime))
	}
	return &c, nil
}
