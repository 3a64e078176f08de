package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/internal/private"
)

const (
	authorityFile = "authority.pem"     // for browsers to trust
	keyFile       = "authority-key.pem" // mode 0600
	authorityLife = 10 * 365 * 24 * time.Hour
	serverLife    = 90 * 24 * time.Hour
	// renewBefore is how long before it expires a certificate is replaced.
	renewBefore = 30 * 24 * time.Hour
	backdate    = time.Hour // for clients whose clocks are a little behind
)

// Authority is a local certificate authority. Safe for concurrent use.
type Authority struct {
	// File is the authority's certificate, which browsers have to trust.
	File string

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	now  func() time.Time
	// mu guards shown.
	mu    sync.Mutex
	shown *tls.Certificate
}

// Local returns the authority in dir, and makes dir as private.MakeDir does. If
// dir has no certificate of an authority Local makes a new one, for this
// machine's names and addresses and the names given. A certificate without its
// key is an error: browsers may trust it, and would not trust a new one. An
// authority that expires within 30 days is an error.
func Local(dir string, names []string) (*Authority, error) {
	if err := private.MakeDir(dir); err != nil {
		return nil, err
	}
	a := &Authority{File: filepath.Join(dir, authorityFile), now: time.Now}
	raw, err := private.ReadFile(a.File)
	if errors.Is(err, fs.ErrNotExist) {
		err = a.make(dir, names)
	} else if err == nil {
		err = a.load(raw, filepath.Join(dir, keyFile))
	}
	if err != nil {
		return nil, err
	}
	if a.now().After(a.cert.NotAfter.Add(-renewBefore)) {
		return nil, fmt.Errorf("the local authority in %s expires at %s: remove it, start the server again, and trust the new one that it makes",
			dir, a.cert.NotAfter.Local().Format(time.DateTime))
	}
	return a, nil
}

// load reads the authority with the certificate raw, in PEM.
func (a *Authority) load(raw []byte, keyPath string) error {
	secret, err := private.ReadFile(keyPath)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the local authority %s has lost its key %s: bring the key back, or remove %s, start the server again, and let browsers trust the new authority that it makes",
			a.File, keyPath, a.File)
	}
	if err == nil {
		err = checkKey(keyPath)
	}
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(raw, secret)
	if err != nil {
		return fmt.Errorf("read the local authority %s: %w", a.File, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return fmt.Errorf("%s is not a local authority that middleman made: remove it", a.File)
	}
	a.cert, a.key = pair.Leaf, key
	return nil
}

// make makes an authority that can only vouch for this machine.
func (a *Authority) make(dir string, names []string) (err error) {
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return fmt.Errorf("make a local authority: %w", err)
	}
	host, _ := os.Hostname() // without a name the addresses remain
	now := a.now()
	template := &x509.Certificate{
		SerialNumber:                serial(),
		Subject:                     pkix.Name{CommonName: "middleman on " + host + ", made " + now.Format(time.DateOnly)},
		NotBefore:                   now.Add(-backdate),
		NotAfter:                    now.Add(authorityLife),
		IsCA:                        true,
		BasicConstraintsValid:       true,
		MaxPathLenZero:              true,
		KeyUsage:                    x509.KeyUsageCertSign,
		ExtKeyUsage:                 []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         hostNames(host, names),
	}
	if template.PermittedIPRanges, err = ownRanges(); err != nil {
		return err
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("make a local authority: %w", err)
	}
	if a.cert, err = x509.ParseCertificate(raw); err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return err
	}
	// Write the key first, because load refuses a certificate without its key.
	if err := writePEM(filepath.Join(dir, keyFile), "PRIVATE KEY", secret); err != nil {
		return err
	}
	return writePEM(a.File, "CERTIFICATE", raw)
}

func hostNames(host string, names []string) []string {
	all := append([]string{"localhost", strings.ToLower(host)}, names...)
	if host != "" && !strings.Contains(host, ".") {
		all = append(all, strings.ToLower(host)+".local")
	}
	all = slices.DeleteFunc(all, func(name string) bool { return name == "" || net.ParseIP(name) != nil })
	slices.Sort(all)
	return slices.Compact(all)
}

// ownRanges returns the loopback ranges and each address of this machine.
func ownRanges() ([]*net.IPNet, error) {
	ranges := []*net.IPNet{
		{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)},
		{IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)},
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("find the addresses of this machine: %w", err)
	}
	for _, address := range addresses {
		own, ok := address.(*net.IPNet)
		if !ok || own.IP.IsLoopback() {
			continue
		}
		if ip := own.IP.To4(); ip != nil {
			ranges = append(ranges, &net.IPNet{IP: ip, Mask: net.CIDRMask(32, 32)})
		} else {
			ranges = append(ranges, &net.IPNet{IP: own.IP, Mask: net.CIDRMask(128, 128)})
		}
	}
	return ranges, nil
}

// Covers returns why the authority cannot vouch for a host at which the server
// will listen, or nil.
func (a *Authority) Covers(host string) error {
	ip := net.ParseIP(host)
	if ip == nil || ip.IsUnspecified() {
		return nil // the client checks a name
	}
	for _, r := range a.cert.PermittedIPRanges {
		if r.Contains(ip) {
			return nil
		}
	}
	return fmt.Errorf("the local authority %s was made when this machine did not have the address %s, so it cannot vouch for that: "+
		"remove it with its key, start the server again, and trust the new one that it makes", a.File, host)
}

// Fingerprint returns the SHA-256 of the authority's certificate, in lower-case hex.
// Unlike the server's own, that certificate stays the same when the server starts
// again.
func (a *Authority) Fingerprint() string {
	sum := sha256.Sum256(a.cert.Raw)
	return hex.EncodeToString(sum[:])
}

// Config returns a configuration that serves a certificate of the authority,
// and renews it 30 days before it expires.
func (a *Authority) Config() *tls.Config { return newConfig(a.get) }

func (a *Authority) get() (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shown != nil && a.now().Before(a.shown.Leaf.NotAfter.Add(-renewBefore)) {
		return a.shown, nil
	}
	shown, err := a.issue()
	if err != nil {
		return nil, err
	}
	a.shown = shown
	return shown, nil
}

// issue makes a certificate for all names and single addresses that the
// authority may vouch for. Its key stays in memory.
func (a *Authority) issue() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	now := a.now()
	template := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: "middleman"},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(serverLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     a.cert.PermittedDNSDomains,
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, r := range a.cert.PermittedIPRanges {
		if ones, bits := r.Mask.Size(); ones == bits {
			template.IPAddresses = append(template.IPAddresses, r.IP)
		}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(raw)
	// The authority comes along for clients that know it by its fingerprint alone.
	return &tls.Certificate{Certificate: [][]byte{raw, a.cert.Raw}, PrivateKey: key, Leaf: leaf}, err
}

func serial() *big.Int {
	limit := new(big.Int).Lsh(big.NewInt(1), 120)
	n, err := rand.Int(rand.Reader, limit)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return n.Add(n, big.NewInt(1))
}

// writePEM replaces a file durably.
func writePEM(path, kind string, raw []byte) error {
	err := private.Replace(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), private.Durable)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
