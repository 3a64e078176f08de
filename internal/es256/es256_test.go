package es256

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"testing"
)

func TestSign(t *testing.T) {
	der, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	key, err := Parse(der)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := Sign(key, "text")
	if err != nil || !Verify(&key.PublicKey, "text", signature) {
		t.Errorf("%x, %v", signature, err)
	}
	if Verify(&key.PublicKey, "texts", signature) || Verify(&key.PublicKey, "text", append(signature, 0)) {
		t.Error("another text, or a longer signature, is taken")
	}
	other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if der, err = x509.MarshalECPrivateKey(other); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(der); err == nil {
		t.Error("a key of P-384 is taken")
	}
}

// FuzzPublicKey: what is taken for a key is one, and is written back the same.
func FuzzPublicKey(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(public)
	f.Add(append([]byte{4}, make([]byte, 64)...))
	f.Add([]byte{0})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		key, err := ParsePublic(raw)
		if err != nil {
			return
		}
		again, err := key.Bytes()
		if err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%x became %x, %v", raw, again, err)
		}
		if Verify(key, "text", raw[1:]) { // its own coordinates are no signature
			t.Errorf("%x signs", raw)
		}
	})
}
