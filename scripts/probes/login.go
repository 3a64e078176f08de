//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"
)

const loginGain = "a login, hence a shell"

func loginProbes() []probe {
	probes := []probe{{id: "control", title: "a link, a key and a signature log in, and the server proves who it is", control: true,
		gain: "nothing: it shows that the refusals below are refusals", run: loginControl}}
	for _, l := range links {
		probes = append(probes, probe{id: "link/" + l.name, title: l.title, gain: loginGain, run: func(w *world) error {
			s := must1(w.shared())
			return s.trade(l.secret(s, linkToken(s.newLink())), must1(newKey().PublicKey.Bytes())).wants(l.title, http.StatusUnauthorized, http.StatusUnprocessableEntity)
		}})
	}
	for _, x := range sightings {
		probes = append(probes, probe{id: "seen/" + x.name, title: "a link is not spent by " + x.title, gain: "the user locked out, or a login in the wrong hands, by a look at a link", run: func(w *world) error { return sighted(must1(w.shared()), x.at) }})
	}
	for _, k := range keys {
		probes = append(probes, probe{id: "key/" + k.name, title: "a login with " + k.title, gain: "a login that anybody can sign for", run: func(w *world) error { return badKey(must1(w.shared()), k.bytes()) }})
	}
	for _, p := range proofs {
		probes = append(probes, probe{id: "proof/" + p.name, title: p.title, gain: "access without the key that the origin holds", run: func(w *world) error {
			s := must1(w.shared())
			b := s.enter()
			nonce, theirs := b.challenge()
			nonce, signature := p.forge(b, nonce, theirs)
			return b.prove(nonce, signature).wants(p.title, http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge)
		}})
	}
	return append(append(probes, moreLoginProbes()...), ticketProbes()...)
}

func loginControl(w *world) error {
	s := must1(w.shared())
	b := s.enter()
	nonce, signature := b.challenge()
	if !verifies(b.serverKey, strings.Join([]string{"middleman server v1", b.instance, b.origin, b.id, nonce, "a-nonce-of-the-browser"}, "\n"), signature) {
		return errors.New("the server's signature does not verify")
	}
	return s.works(bearer(b.access()))
}

func verifies(key []byte, text string, signature []byte) bool {
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), key)
	if err != nil || len(signature) != 64 {
		return false
	}
	sum := sha256.Sum256([]byte(text))
	return ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
}

// links are secrets that are not a fresh link's of this server.
var links = []struct {
	name, title string
	secret      func(s *server, right string) string
}{
	{"twice", "a link that was used", func(s *server, right string) string {
		must(s.trade(right, must1(newKey().PublicKey.Bytes())).wants("the first use", 200, 201))
		return right
	}},
	{"guess", "a guessed link", func(_ *server, right string) string { return strings.Repeat("A", len(right)) }},
	{"prefix", "a link without its last letter", func(_ *server, right string) string { return right[:len(right)-1] }},
	{"longer", "a link with a letter more", func(_ *server, right string) string { return right + "A" }},
	{"case", "a link in the other case", func(_ *server, right string) string { return swapCase(right) }},
	{"space", "a link with a space", func(_ *server, right string) string { return right + " " }},
	{"empty", "an empty link", func(*server, string) string { return "" }},
	{"wildcard", "a link that is a wildcard", func(*server, string) string { return "%" }},
	{"other-server", "a link of another server", func(s *server, _ string) string { return linkToken(must1(s.w.heavy()).newLink()) }},
	{"session", "a session's id as link", func(s *server, _ string) string { return s.session }},
	{"access", "an access token as link", func(s *server, _ string) string { return s.enter().access() }},
}

// sightings are what mail programs, chats, browsers and scripts do with a link.
var sightings = []struct {
	name, title string
	at          func(s *server, secret string) request
}{
	{"get", "its page being loaded", func(_ *server, secret string) request { return request{method: "GET", path: "/"} }},
	{"query", "a visit with the secret in the query", func(_ *server, secret string) request { return request{method: "GET", path: "/?login=" + secret} }},
	{"old-path", "the address of former versions", func(_ *server, secret string) request { return request{method: "GET", path: "/login?token=" + secret} }},
	{"get-api", "a GET of what takes a POST", func(_ *server, secret string) request {
		return request{method: "GET", path: "/api/v1/login?token=" + secret}
	}},
	{"head", "a HEAD", func(_ *server, secret string) request {
		return request{method: "HEAD", path: "/api/v1/login?token=" + secret}
	}},
	{"form", "a form of another site", func(s *server, secret string) request {
		return request{method: "POST", path: "/api/v1/login", headers: []string{"Content-Type: application/x-www-form-urlencoded", "Origin: http://evil.example", "Sec-Fetch-Site: cross-site"}, body: "token=" + secret}
	}},
	{"other-site", "a fetch of another site's page", func(s *server, secret string) request {
		r := linkGuess(0)
		r.body = strings.ReplaceAll(r.body, strings.Repeat("0", 26), secret)
		r.headers = append(r.headers, "Origin: http://evil.example")
		return r
	}},
	{"other-port", "a fetch of a page on another port", func(s *server, secret string) request {
		r := linkGuess(0)
		r.body = strings.ReplaceAll(r.body, strings.Repeat("0", 26), secret)
		r.headers = append(r.headers, "Origin: http://127.0.0.1:1", "Sec-Fetch-Site: same-site")
		return r
	}},
	{"localhost", "a page at localhost, which is not one program's alone", func(s *server, secret string) request {
		r := linkGuess(0)
		r.body = strings.ReplaceAll(r.body, strings.Repeat("0", 26), secret)
		r.host = "localhost:" + s.port()
		r.headers = append(r.headers, "Origin: http://localhost:"+s.port())
		return r
	}},
	{"bearer", "its secret as bearer token", func(_ *server, secret string) request {
		return request{method: "GET", path: "/api/v1/workspaces", headers: bearer(secret)}
	}},
	{"bad-key", "a login with a key that is none", func(_ *server, secret string) request {
		return request{method: "POST", path: "/api/v1/login", headers: []string{"Content-Type: application/json"}, body: `{"token":"` + secret + `","key":"AAAA"}`}
	}},
	{"large-body", "a login in a body of 8 MiB", func(_ *server, secret string) request {
		return request{method: "POST", path: "/api/v1/login", headers: []string{"Content-Type: application/json"}, body: `{"token":"` + secret + `","key":"` + strings.Repeat("A", 8<<20) + `"}`}
	}},
}

// sighted: afterwards the link still logs in, and nothing that came back helps.
func sighted(s *server, at func(*server, string) request) error {
	secret := linkToken(s.newLink())
	a := s.send(at(s, secret))
	if a.header.Get("Set-Cookie") != "" || strings.Contains(a.body, `"instance"`) {
		return fmt.Errorf("it logged in: %s", a)
	}
	return s.trade(secret, must1(newKey().PublicKey.Bytes())).wants("the user's own use", http.StatusOK, http.StatusCreated)
}

var keys = []struct {
	name, title string
	bytes       func() []byte
}{
	{"empty", "no key", func() []byte { return nil }},
	{"infinity", "the point at infinity", func() []byte { return []byte{0} }},
	{"zeros", "a point of zeros", func() []byte { return append([]byte{4}, make([]byte, 64)...) }},
	{"off-curve", "a point that is not on the curve", func() []byte { k := must1(newKey().PublicKey.Bytes()); k[64] ^= 1; return k }},
	{"other-curve", "a key of P-384", func() []byte {
		return must1(must1(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)).PublicKey.Bytes())
	}},
	{"compressed", "a compressed point", func() []byte { k := newKey(); return elliptic.MarshalCompressed(elliptic.P256(), k.X, k.Y) }},
	{"hybrid", "a point in the hybrid form", func() []byte { k := must1(newKey().PublicKey.Bytes()); k[0] = 6 | k[64]&1; return k }},
	{"over-field", "coordinates past the field", func() []byte {
		return append([]byte{4}, []byte(strings.Repeat("\xff", 64))...)
	}},
	{"short", "a key that ends early", func() []byte { return must1(newKey().PublicKey.Bytes())[:64] }},
	{"long", "a key with a byte more", func() []byte { return append(must1(newKey().PublicKey.Bytes()), 0) }},
}

// badKey is refused, and the link is still good.
func badKey(s *server, key []byte) error {
	secret := linkToken(s.newLink())
	if err := s.trade(secret, key).wants("the key", http.StatusUnprocessableEntity, http.StatusBadRequest); err != nil {
		return err
	}
	return s.trade(secret, must1(newKey().PublicKey.Bytes())).wants("the user's own use", http.StatusOK, http.StatusCreated)
}

// proofs are signed nonces that must not count. theirs is the server's own
// signature of the challenge.
var proofs = []struct {
	name, title string
	forge       func(b *browser, nonce string, theirs []byte) (string, []byte)
}{
	{"replayed", "a proof that was used", func(b *browser, n string, _ []byte) (string, []byte) {
		sig := sign(b.key, b.text(n))
		must(b.prove(n, sig).wants("the first use", 200, 201))
		return n, sig
	}},
	{"replayed-mirrored", "a used proof with its signature mirrored", func(b *browser, n string, _ []byte) (string, []byte) {
		sig := sign(b.key, b.text(n))
		must(b.prove(n, sig).wants("the first use", 200, 201))
		s := new(big.Int).SetBytes(sig[32:])
		return n, pairOf(new(big.Int).SetBytes(sig[:32]), s.Sub(elliptic.P256().Params().N, s))
	}},
	{"other-key", "another key's signature", func(b *browser, n string, _ []byte) (string, []byte) { return n, sign(newKey(), b.text(n)) }},
	{"server-signature", "the server's own signature", func(_ *browser, n string, theirs []byte) (string, []byte) { return n, theirs }},
	{"other-origin", "a signature for another origin", func(b *browser, n string, _ []byte) (string, []byte) {
		b.origin = "http://127.0.0.1:1"
		return n, sign(b.key, b.text(n))
	}},
	{"localhost", "a signature for the origin localhost", func(b *browser, n string, _ []byte) (string, []byte) {
		b.origin = "http://localhost:" + b.port()
		return n, sign(b.key, b.text(n))
	}},
	{"other-instance", "a signature for another server", func(b *browser, n string, _ []byte) (string, []byte) {
		b.instance = must1(b.w.heavy()).instance()
		return n, sign(b.key, b.text(n))
	}},
	{"other-login", "a signature for another login", func(b *browser, n string, _ []byte) (string, []byte) {
		text := strings.ReplaceAll(b.text(n), b.id, b.server.enter().id)
		return n, sign(b.key, text)
	}},
	{"other-version", "a signature of another version", func(b *browser, n string, _ []byte) (string, []byte) {
		return n, sign(b.key, strings.ReplaceAll(b.text(n), "login v1", "login v0"))
	}},
	{"nonce-alone", "a signature of the nonce alone", func(b *browser, n string, _ []byte) (string, []byte) { return n, sign(b.key, n) }},
	{"nonce-of-another", "a nonce of another login", func(b *browser, _ string, _ []byte) (string, []byte) {
		n, _ := b.server.enter().challenge()
		return n, sign(b.key, b.text(n))
	}},
	{"nonce-of-other-server", "a nonce of another server", func(b *browser, _ string, _ []byte) (string, []byte) {
		n, _ := must1(b.w.heavy()).enter().challenge()
		return n, sign(b.key, b.text(n))
	}},
	{"nonce-made-up", "a nonce that we made", func(b *browser, n string, _ []byte) (string, []byte) {
		n = strings.Repeat("A", len(n))
		return n, sign(b.key, b.text(n))
	}},
	{"nonce-changed", "a nonce with its time changed", func(b *browser, n string, _ []byte) (string, []byte) {
		n = "B" + n[1:]
		return n, sign(b.key, b.text(n))
	}},
	{"nonce-empty", "no nonce", func(b *browser, _ string, _ []byte) (string, []byte) { return "", sign(b.key, b.text("")) }},
	{"nonce-line", "a nonce and a line more", func(b *browser, n string, _ []byte) (string, []byte) {
		return n + "\n", sign(b.key, b.text(n+"\n"))
	}},
	{"empty", "no signature", func(_ *browser, n string, _ []byte) (string, []byte) { return n, nil }},
	{"zeros", "a signature of zeros", func(_ *browser, n string, _ []byte) (string, []byte) { return n, make([]byte, 64) }},
	{"zero-r", "a signature whose r is zero", func(b *browser, n string, _ []byte) (string, []byte) {
		sig := sign(b.key, b.text(n))
		clear(sig[:32])
		return n, sig
	}},
	{"zero-s", "a signature whose s is zero", func(b *browser, n string, _ []byte) (string, []byte) {
		sig := sign(b.key, b.text(n))
		clear(sig[32:])
		return n, sig
	}},
	{"order", "a signature of the group's order", func(_ *browser, n string, _ []byte) (string, []byte) {
		return n, pairOf(elliptic.P256().Params().N, elliptic.P256().Params().N)
	}},
	{"ones", "a signature of ones", func(_ *browser, n string, _ []byte) (string, []byte) { return n, pairOf(big.NewInt(1), big.NewInt(1)) }},
	{"short", "half a signature", func(b *browser, n string, _ []byte) (string, []byte) { return n, sign(b.key, b.text(n))[:32] }},
	{"long", "a signature with a byte more", func(b *browser, n string, _ []byte) (string, []byte) { return n, append(sign(b.key, b.text(n)), 0) }},
	{"der", "a signature in DER", func(b *browser, n string, _ []byte) (string, []byte) {
		sum := sha256.Sum256([]byte(b.text(n)))
		return n, must1(ecdsa.SignASN1(rand.Reader, b.key, sum[:]))
	}},
	{"huge", "a signature of 64 KB", func(_ *browser, n string, _ []byte) (string, []byte) { return n, make([]byte, 64<<10) }},
}

func moreLoginProbes() []probe {
	return []probe{
		{id: "origin/localhost", title: "a login's proof from the page at localhost", gain: "access for whoever listens at localhost on the other address", run: func(w *world) error { return proofAtHost(must1(w.shared()), "localhost:") }},
		{id: "origin/v6", title: "a login's proof from the page at [::1]", gain: "access for whoever listens at [::1]", run: func(w *world) error { return proofAtHost(must1(w.shared()), "[::1]:") }},
		{id: "challenge/unknown", title: "a challenge for a login that there is not tells nothing", gain: "which logins there are", run: func(w *world) error {
			return must1(w.shared()).post("/api/v1/login/challenge", map[string]any{"login": "l0000000000000000", "nonce": "a-nonce-of-the-browser"}).wants("the challenge", http.StatusUnauthorized)
		}},
		{id: "challenge/no-nonce", title: "a challenge without a nonce of the browser's", gain: "an old proof of the server's, replayed by another server on its port", run: func(w *world) error {
			b := must1(w.shared()).enter()
			return b.post("/api/v1/login/challenge", map[string]any{"login": b.id, "nonce": ""}).wants("the challenge", http.StatusUnprocessableEntity, http.StatusBadRequest)
		}},
		{id: "challenge/flood", title: "a thousand challenges lock nobody out", gain: "the user locked out by whoever knows the id of a login", run: func(w *world) error { return challengeFlood(w) }},
		{id: "logout/token", title: "an access token after its logout", gain: "a login that outlives its end", run: func(w *world) error { return afterEnd(w, "token", logsOut) }},
		{id: "logout/terminal", title: "a terminal that is open at the logout", gain: "typing after the login has ended", run: func(w *world) error { return afterEnd(w, "terminal", logsOut) }},
		{id: "logout/events", title: "an event stream that is open at the logout", gain: "everything that happens, after the login has ended", run: func(w *world) error { return afterEnd(w, "events", logsOut) }},
		{id: "logout/ticket", title: "a ticket from before the logout", gain: "a terminal after the login has ended", run: func(w *world) error { return afterEnd(w, "ticket", logsOut) }},
		{id: "logout/proof", title: "a proof after the logout", gain: "a login that outlives its end", run: func(w *world) error { return afterEnd(w, "proof", logsOut) }},
		{id: "everywhere/terminal", title: "a terminal that is open when every browser is logged out", gain: "typing by a browser that was logged out", run: func(w *world) error { return afterEnd(w, "terminal", everybodyOut) }},
		{id: "everywhere/proof", title: "a proof after every browser was logged out", gain: "a login that outlives its end", run: func(w *world) error { return afterEnd(w, "proof", everybodyOut) }},
		{id: "everywhere/link", title: "a link from before every browser was logged out", gain: "a login by a link that was forgotten", run: func(w *world) error { return afterEnd(w, "link", everybodyOut) }},
	}
}

// proofAtHost uses a login of 127.0.0.1 at another of our names.
func proofAtHost(s *server, name string) error {
	b := s.enter()
	nonce, _ := b.challenge()
	b.origin = "http://" + name + s.port()
	r := request{method: "POST", path: "/api/v1/login/access", host: name + s.port(), headers: []string{"Content-Type: application/json", "Origin: " + b.origin},
		body: string(must1(marshal(map[string]any{"login": b.id, "nonce": nonce, "signature": sign(b.key, b.text(nonce))})))}
	return s.send(r).wants("the proof at "+name, http.StatusUnauthorized, http.StatusForbidden)
}

func challengeFlood(w *world) error {
	s := w.fresh(serverOptions{})
	defer s.stop()
	b := s.enter()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 125 {
				b.post("/api/v1/login/challenge", map[string]any{"login": b.id, "nonce": "a-nonce-of-the-browser"})
			}
		})
	}
	all.Wait()
	return s.works(bearer(b.access()))
}

func logsOut(b *browser, token string) answer { return b.post("/api/v1/logout", nil, bearer(token)...) }

func everybodyOut(b *browser, _ string) answer { return b.local("DELETE", "/api/v1/logins", "") }

// afterEnd opens something with a login, ends the login, and looks that it is
// over for what was opened too.
func afterEnd(w *world, what string, end func(*browser, string) answer) error {
	s := w.fresh(serverOptions{target: true})
	defer s.stop()
	b := s.enter()
	token := b.access()
	link, ticket := linkToken(s.newLink()), s.ticket(bearer(token), s.session, "attach")
	open, _ := s.dial(s.session, "mode=attach", append(bearer(token), "Origin: "+b.origin)...)
	stream := s.stream("/api/v1/events", bearer(token))
	defer stream.Close()
	if open == nil {
		return errors.New("no terminal could be opened before")
	}
	defer open.close()
	if a := end(b, token); a.status >= 300 {
		return fmt.Errorf("the end of the login: %s", a)
	}
	switch what {
	case "token":
		return s.worksNot(bearer(token))
	case "terminal":
		if err := open.closed(20 * time.Second); err != nil {
			return err
		}
		return s.alive()
	case "events":
		return ends(stream, 20*time.Second)
	case "ticket":
		c, a := s.dial(s.session, "mode=attach", "Origin: "+b.origin, "Sec-WebSocket-Protocol: middleman.v1, ticket."+ticket)
		if c != nil {
			c.close()
			return fmt.Errorf("it opened a terminal: %s", a)
		}
	case "link":
		return s.trade(link, must1(newKey().PublicKey.Bytes())).wants("the link", http.StatusUnauthorized)
	case "proof":
		return b.post("/api/v1/login/challenge", map[string]any{"login": b.id, "nonce": "a-nonce-of-the-browser"}).wants("a challenge", http.StatusUnauthorized)
	}
	return nil
}
