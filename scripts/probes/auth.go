//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"
)

// newLink is a link to log in with, which the owner gets over the Unix socket.
func (s *server) newLink() string {
	a := s.local("POST", "/api/v1/login-links", "{}")
	var v struct{ URL string }
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.URL == "" {
		must(fmt.Errorf("ask for a login link: %s", a))
	}
	return v.URL
}

// auth is header lines that prove a login, the same for all probes of a server
// that leave it logged in.
func (s *server) auth() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proof == nil {
		s.proof = s.login()
	}
	return append([]string{}, s.proof...)
}

// login logs in as a browser does and returns header lines that prove it.
func (s *server) login() []string { return bearer(s.enter().access()) }

func bearer(token string) []string { return []string{"Authorization: Bearer " + token} }

// browser holds a login as a page does.
type browser struct {
	*server
	key          *ecdsa.PrivateKey
	id, instance string
	serverKey    []byte
	origin       string
}

// enter trades a new link for a login.
func (s *server) enter() *browser {
	b := &browser{server: s, key: newKey(), origin: "http://" + s.addr}
	a := b.trade(linkToken(s.newLink()), must1(b.key.PublicKey.Bytes()))
	var v struct {
		ID, Instance string
		ServerKey    []byte `json:"server_key"`
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || a.status >= 300 {
		must(fmt.Errorf("log in: %s", a))
	}
	b.id, b.instance, b.serverKey = v.ID, v.Instance, v.ServerKey
	return b
}

func newKey() *ecdsa.PrivateKey { return must1(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

// post sends JSON over TCP as our page would.
func (s *server) post(path string, body any, headers ...string) answer {
	return s.send(request{method: "POST", path: path, body: string(must1(json.Marshal(body))),
		headers: append(headers, "Content-Type: application/json", "Origin: http://"+s.addr, "Sec-Fetch-Site: same-origin")})
}

// trade asks for a login with a link's secret.
func (s *server) trade(secret string, key []byte) answer {
	return s.post("/api/v1/login", map[string]any{"token": secret, "key": key, "name": "probe"})
}

// challenge gets a nonce and the server's proof of who it is.
func (b *browser) challenge() (nonce string, signature []byte) {
	a := b.post("/api/v1/login/challenge", map[string]any{"login": b.id, "nonce": "a-nonce-of-the-browser"})
	var v struct {
		Nonce     string
		Signature []byte
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.Nonce == "" {
		must(fmt.Errorf("ask for a nonce: %s", a))
	}
	return v.Nonce, v.Signature
}

// text is what a browser signs.
func (b *browser) text(nonce string) string {
	return strings.Join([]string{"middleman login v1", b.instance, b.origin, b.id, nonce}, "\n")
}

// sign is a signature as WebCrypto makes it.
func sign(key *ecdsa.PrivateKey, text string) []byte {
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	must(err)
	return pairOf(r, s)
}

func pairOf(r, s *big.Int) []byte {
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out
}

// prove asks for an access token.
func (b *browser) prove(nonce string, signature []byte) answer {
	return b.post("/api/v1/login/access", map[string]any{"login": b.id, "nonce": nonce, "signature": signature})
}

// access is an access token.
func (b *browser) access() string {
	nonce, _ := b.challenge()
	a := b.prove(nonce, sign(b.key, b.text(nonce)))
	var v struct{ Token string }
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.Token == "" {
		must(fmt.Errorf("ask for access: %s", a))
	}
	return v.Token
}

// ticket is one for a thing of a session.
func (s *server) ticket(auth []string, session, what string) string {
	a := s.post("/api/v1/sessions/"+session+"/tickets", map[string]any{"for": what}, auth...)
	var v struct{ Ticket string }
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.Ticket == "" {
		must(fmt.Errorf("ask for a ticket: %s", a))
	}
	return v.Ticket
}

// works looks whether credentials are good.
func (s *server) works(headers []string) error {
	return s.send(request{method: "GET", path: "/api/v1/workspaces", headers: headers}).wants("a list", http.StatusOK)
}

// worksNot looks whether they are not.
func (s *server) worksNot(headers []string) error {
	return s.send(request{method: "GET", path: "/api/v1/workspaces", headers: headers}).wants("a list", http.StatusUnauthorized)
}

// linkGuess is a guess at a login link.
func linkGuess(i int) request {
	body := must1(json.Marshal(map[string]any{"token": fmt.Sprintf("%026d", i), "key": must1(newKey().PublicKey.Bytes())}))
	return request{method: "POST", path: "/api/v1/login", headers: []string{"Content-Type: application/json"}, body: string(body)}
}
