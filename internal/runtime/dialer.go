package runtime

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"middleman/internal/private"
)

// dialer makes connections to one remote. Its methods are safe for concurrent
// use.
type dialer interface {
	// Dial returns a connection that speaks HTTP with the remote's API. It returns
	// within connectTimeout. An error is an *Error where the reason is known.
	Dial(ctx context.Context) (net.Conn, error)
	// Origin is the scheme and host of the API's URLs.
	Origin() string
	// Token returns what authenticates the calls, "" for nothing.
	Token() (string, error)
	// Close ends all connections, and what the dialer runs.
	Close() error
}

const (
	// connectTimeout bounds the making of one connection.
	connectTimeout = 15 * time.Second
	// maxToken bounds the bytes of a file with a token.
	maxToken = 4 << 10
)

// newDialer returns the dialer for a configuration that Check accepts. ssh is the
// program for ssh addresses.
func newDialer(c Config, ssh string) (dialer, error) {
	u, err := c.url()
	if err != nil {
		return nil, err
	}
	if u.Scheme == "ssh" {
		return newSSH(c, u, ssh), nil
	}
	return &https{config: c, url: u}, nil
}

// https dials with TLS.
type https struct {
	config Config
	url    *url.URL
}

// Origin implements Dialer. The transport adds no TLS of its own, because the
// connections of Dial have it.
func (d *https) Origin() string { return "http://" + d.url.Host }

// Close implements Dialer.
func (d *https) Close() error { return nil }

// Token implements Dialer. The file is read each time, so that another token in
// it is used at once.
func (d *https) Token() (string, error) {
	raw, err := private.ReadFile(d.config.TokenFile)
	token := strings.TrimSpace(string(raw))
	info, statErr := os.Stat(d.config.TokenFile)
	switch {
	case err != nil:
	case statErr != nil:
		err = statErr
	case openToOthers(info):
		err = errors.New("others can read it")
	case token == "" || len(raw) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		err = errors.New("it does not hold one token")
	}
	if err != nil {
		return "", &Error{Reason: NoTokenFile, Cause: err}
	}
	return token, nil
}

// Dial implements Dialer.
func (d *https) Dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	address := d.url.Host
	if d.url.Port() == "" {
		address = net.JoinHostPort(d.url.Hostname(), "443")
	}
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: d.url.Hostname(), NextProtos: []string{"http/1.1"},
		InsecureSkipVerify: true, // verify does it
		VerifyConnection:   d.verify,
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, because(err, NoAnswer)
	}
	return conn, nil
}

// verify accepts the pinned certificate, or one that is valid for the host by an
// authority: the pinned one, or without a pin one of the system's.
func (d *https) verify(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return &Error{Reason: BadCert, Cause: errors.New("no certificate")}
	}
	leaf := s.PeerCertificates[0]
	if d.pinned(leaf) {
		return nil
	}
	o := x509.VerifyOptions{DNSName: d.url.Hostname(), Intermediates: x509.NewCertPool()}
	if d.config.Pin != "" {
		o.Roots = x509.NewCertPool() // of the system none
	}
	for _, c := range s.PeerCertificates[1:] {
		if d.pinned(c) {
			o.Roots.AddCert(c)
		}
		o.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(o); err != nil {
		return &Error{Reason: BadCert, Cause: fmt.Errorf("%w; its SHA-256 is %s", err, fingerprint(leaf))}
	}
	return nil
}

func (d *https) pinned(c *x509.Certificate) bool {
	return d.config.Pin != "" && d.config.Pin == fingerprint(c)
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}
