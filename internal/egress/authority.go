package egress

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// An authority lives as long as a session may. Its key is known to the proxy alone.
const (
	backdate      = time.Hour // for clocks that differ
	authorityLife = 5 * 365 * 24 * time.Hour
)

// authorize makes the authority. It can vouch for these hosts and for no other.
func (m *Masks) authorize(hosts []string) error {
	var names []string
	for _, at := range hosts {
		name, _, err := net.SplitHostPort(at)
		if err != nil {
			return err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "middleman, for the secrets of one sandbox"},
		IsCA:    true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, PermittedDNSDomainsCritical: true, PermittedDNSDomains: names,
		// No address may be vouched for: an empty list would allow all of them.
		ExcludedIPRanges: []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}},
	}
	key, raw, err := issue(template, template, nil)
	if err != nil {
		return err
	}
	m.Certificate = raw
	m.Key, err = x509.MarshalPKCS8PrivateKey(key)
	return err
}

// Authority returns the certificate that programs inside have to trust, in PEM.
func (m *Masks) Authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate})
}

// serve returns what the proxy answers with in the name of a host.
func (m Masks) serve(host string) (*tls.Config, error) {
	authority, err := x509.ParseCertificate(m.Certificate)
	if err != nil {
		return nil, fmt.Errorf("read the authority for secrets: %w", err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(m.Key)
	if err != nil {
		return nil, fmt.Errorf("read the key of the authority for secrets: %w", err)
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key of the authority for secrets cannot sign")
	}
	key, raw, err := issue(&x509.Certificate{
		DNSNames: []string{host}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority, signer)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}},
	}, nil
}

// issue makes a key and a certificate for it, signed by that of parent, nil for itself.
func issue(template, parent *x509.Certificate, signer crypto.Signer) (key *ecdsa.PrivateKey, raw []byte, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	if signer == nil {
		signer = key
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-backdate), now.Add(authorityLife)
	raw, err = x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	return key, raw, err
}
