package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"
	"time"

	"middleman/internal/es256"
)

// FuzzLoginProof: no nonce and no signature but the right ones are taken.
func FuzzLoginProof(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	l, now := newLogins(), time.Now()
	nonce := l.newNonce("login", now)
	signature, err := es256.Sign(key, "text")
	if err != nil {
		f.Fatal(err)
	}
	if until, ok := l.parseNonce(nonce, "login"); !ok || !until.Equal(now.Add(nonceLife)) || !es256.Verify(&key.PublicKey, "text", signature) {
		f.Fatal("the right ones are not taken")
	}
	f.Add(nonce, signature)
	f.Add(nonce+"=", signature[:63])
	f.Add("", []byte{})
	f.Add(nonce[:32], make([]byte, 64))
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		if _, ok := l.parseNonce(text, "login"); ok != (text == nonce) {
			t.Errorf("nonce %q: %t", text, ok)
		}
		if _, ok := l.parseNonce(text, "another"); ok {
			t.Errorf("nonce %q is taken for another login", text)
		}
		if es256.Verify(&key.PublicKey, "text", raw) && !bytes.Equal(raw[:32], signature[:32]) {
			t.Errorf("signature %x", raw)
		}
	})
}

// Strangers who ask for nonces push nobody's out, and a used one stays used
// for as long as it would hold.
func TestNonces(t *testing.T) {
	l, now := newLogins(), time.Now()
	mine := l.newNonce("mine", now)
	for range 10_000 {
		l.newNonce("mine", now)
	}
	until, ok := l.parseNonce(mine, "mine")
	if !ok || len(l.spent) != 0 {
		t.Fatalf("%t, %d are kept", ok, len(l.spent))
	}
	for _, also := range []string{mine + "\n", "\r" + mine, mine[:9] + "\n" + mine[9:]} {
		if _, ok := l.parseNonce(also, "mine"); ok {
			t.Errorf("%q passes as another nonce", also)
		}
	}
	if _, ok := newLogins().parseNonce(mine, "mine"); ok {
		t.Error("another server takes it")
	}
	for _, x := range []struct {
		name string
		at   time.Time
		want bool
	}{
		{"in time", now.Add(nonceLife), true},
		{"again", now.Add(nonceLife), false},
		{"late", now.Add(nonceLife + 1), false},
	} {
		if got := l.spend(mine, until, x.at); got != x.want {
			t.Errorf("%s: %t", x.name, got)
		}
	}
	if !l.spend("another", now.Add(2*nonceLife), now.Add(nonceLife+1)) || len(l.spent) != 1 {
		t.Errorf("kept: %v", l.spent)
	}
}

func TestPassesAreBounded(t *testing.T) {
	passes, now := map[digest]pass{}, time.Now()
	add := func(secret, subject string, ends time.Time) {
		keep(passes, secret, pass{identity: identity{subject: subject}, ends: ends}, 2, now)
	}
	add("over", "b", now.Add(-time.Second))
	add("other", "b", now.Add(time.Second))
	for i, secret := range []string{"first", "second", "third"} {
		add(secret, "a", now.Add(time.Duration(i+1)*time.Minute))
	}
	for secret, want := range map[string]bool{"over": false, "other": true, "first": false, "second": true, "third": true} {
		if _, ok := passes[digestOf(secret)]; ok != want {
			t.Errorf("%s: %t", secret, ok)
		}
	}
}
