// Package es256 signs and verifies with ECDSA on P-256 and SHA-256, in the format
// that WebCrypto and JSON Web Tokens (RFC 7518, 3.4) share: r and s, 32 bytes each.
package es256

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
)

const scalarSize = 32 // bytes each of r and s

// Generate makes a private key, in the encoding that Parse takes.
func Generate() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return x509.MarshalECPrivateKey(key)
}

// Parse parses a private key of Generate.
func Parse(der []byte) (*ecdsa.PrivateKey, error) {
	key, err := x509.ParseECPrivateKey(der)
	if err == nil && key.Curve != elliptic.P256() {
		err = errors.New("it is on another curve than P-256")
	}
	return key, err
}

// ParsePublic parses a public key in WebCrypto's format "raw": an uncompressed
// point of P-256.
func ParsePublic(raw []byte) (*ecdsa.PublicKey, error) {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return nil, errors.New("it must be an uncompressed point of P-256")
	}
	return key, nil
}

// Sign returns a signature of text.
func Sign(key *ecdsa.PrivateKey, text string) ([]byte, error) {
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	out := make([]byte, 2*scalarSize)
	r.FillBytes(out[:scalarSize])
	s.FillBytes(out[scalarSize:])
	return out, nil
}

// Verify reports whether signature is a signature of text by key.
func Verify(key *ecdsa.PublicKey, text string, signature []byte) bool {
	if len(signature) != 2*scalarSize {
		return false
	}
	sum := sha256.Sum256([]byte(text))
	r, s := new(big.Int).SetBytes(signature[:scalarSize]), new(big.Int).SetBytes(signature[scalarSize:])
	return ecdsa.Verify(key, sum[:], r, s)
}
