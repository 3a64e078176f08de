// Package pinned connects a client with the server over TLS on loopback, where
// neither can ask the kernel who the other is: programs under Landlock have no Unix
// sockets. The server makes a key that never leaves its memory, and writes its address
// and the digest of its certificate to a file of this user. The client speaks with
// whoever proves to have that key, and with nobody else.
//
// The file holds no secret. Who connects has proved nothing.
package pinned

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"time"

	"middleman/internal/private"
)

// place is the content of the file.
type place struct {
	Address string `json:"address"` // of loopback, with a port
	SHA256  string `json:"sha256"`  // of the certificate, in hexadecimal
}

// ErrNotThere: the server that wrote the file has ended, or there was none.
var ErrNotThere = errors.New("the server cannot be reached from inside the sandbox")

// Listener accepts TCP connections. The caller puts TLS with Config on them.
type Listener struct {
	net.Listener
	Config *tls.Config
}

// Listen listens on a free port of loopback and writes the file. The caller closes the
// listener; the file stays and leads nowhere then.
func Listen(file string) (*Listener, error) {
	certificate, err := newCertificate()
	if err != nil {
		return nil, fmt.Errorf("make a certificate for sandboxed sessions: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for sandboxed sessions: %w", err)
	}
	raw, err := json.Marshal(place{l.Addr().String(), digest(certificate.Certificate[0])})
	if err == nil {
		err = private.Replace(file, raw, private.ThisBoot)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &Listener{l, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}}}, nil
}

// newCertificate makes a certificate and its key. Only its digest counts, not what it
// says.
func newCertificate() (c tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, err
}

func digest(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// Dial connects to the server that wrote the file. The error is ErrNotThere if it has
// ended, also if another program has its port.
func Dial(ctx context.Context, file string) (net.Conn, error) {
	raw, err := private.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotThere
	}
	if err != nil {
		return nil, err
	}
	at, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection compares the one certificate that is right
		VerifyConnection: func(s tls.ConnectionState) error {
			if digest(s.PeerCertificates[0].Raw) != at.SHA256 {
				return errors.New("another program has its port")
			}
			return nil
		},
	}}
	conn, err := dialer.DialContext(ctx, "tcp", at.Address)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrNotThere, err)
	}
	return conn, err
}

// decode reads the content of a file.
func decode(raw []byte) (at place, err error) {
	if err := json.Unmarshal(raw, &at); err != nil {
		return at, err
	}
	address, err := netip.ParseAddrPort(at.Address)
	if err != nil || !address.Addr().IsLoopback() || address.Port() == 0 {
		return at, fmt.Errorf("%q is no address of loopback with a port", at.Address)
	}
	if sum, err := hex.DecodeString(at.SHA256); err != nil || len(sum) != sha256.Size {
		return at, fmt.Errorf("%q is no SHA-256", at.SHA256)
	}
	return at, nil
}
