//go:build linux || darwin

package server_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/internal/store"
)

// logIn spends a link's secret, with a new key.
func (r *running) logIn(secret string, header ...string) answer {
	r.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		r.t.Fatal(err)
	}
	return r.browse("POST", "/api/v1/login", api.NewLogin{Token: secret, Key: public, Name: "Chromium\x1b[31m \u202eof \u009bme"}, header...)
}

func secretOf(link string) string { return link[strings.Index(link, "#login=")+len("#login="):] }

func TestLoginLinkWorksOnce(t *testing.T) {
	r := newPlace(t).serve(t)
	secret := secretOf(r.link())
	for _, x := range []struct {
		name, secret string
		header       []string
		status       int
	}{
		{"rebound host does not use it up", secret, []string{"Host", "evil.example"}, 421},
		{"another site does not", secret, []string{"Origin", "http://evil.example"}, 403},
		{"a page at localhost does not", secret, []string{"Host", "localhost:1", "Origin", "http://localhost:1"}, 403},
		{"wrong", "wrong", nil, 401},
		{"none", "", nil, 401},
		{"right", secret, nil, 200},
		{"used", secret, nil, 401},
	} {
		a := r.logIn(x.secret, x.header...)
		if a.status != x.status {
			t.Errorf("%s: status %d: %s", x.name, a.status, a.body)
		}
		if a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: got a cookie", x.name)
		}
	}
	past := store.NewSecret()
	if err := r.store.CreateLoginLink(t.Context(), past, time.Now().Add(-time.Minute), time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if a := r.logIn(past); a.status != 401 {
		t.Errorf("expired: status %d", a.status)
	}
}

// What mail programs, chats and browsers do with a link before it is followed
// leaves it as it is: the secret is not even in what they send, and no GET or
// HEAD of anything takes one.
func TestLookingAtALinkDoesNotSpendIt(t *testing.T) {
	r := newPlace(t).serve(t)
	secret := secretOf(r.link())
	for _, path := range []string{"/", "/login?token=" + secret, "/api/v1/login?token=" + secret, "/api/v1/login", "/api/v1/logins"} {
		for _, method := range []string{"GET", "HEAD"} {
			if a := r.browse(method, path, nil, "Sec-Purpose", "prefetch"); a.header.Get("Set-Cookie") != "" || a.status < 300 && path != "/" && path[:6] != "/login" {
				t.Errorf("%s %s: status %d, %v", method, path, a.status, a.header)
			}
		}
	}
	if a := r.logIn(secret); a.status != 200 {
		t.Errorf("the link was spent: %d %s", a.status, a.body)
	}
}

// Wrong secrets of a link, however many and by whomever, lock nobody out.
func TestWrongLinksLockNobodyOut(t *testing.T) {
	r := newPlace(t).serve(t)
	for range 100 {
		if a := r.logIn(store.NewSecret()); a.status != 401 {
			t.Fatalf("wrong: %d %s", a.status, a.body)
		}
	}
	if a := r.logIn(secretOf(r.link())); a.status != 200 {
		t.Errorf("right: %d %s", a.status, a.body)
	}
}

func TestLoginProof(t *testing.T) {
	r := newPlace(t).serve(t)
	b, other := r.browserLogin(), r.browserLogin()
	stranger := *b
	var err error
	if stranger.Key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	elsewhere := *b
	elsewhere.Login.Instance = "another"
	challenge := func(login string) api.LoginNonce {
		t.Helper()
		var nonce api.LoginNonce
		if _, err := b.Post(t.Context(), "/login/challenge", api.LoginChallenge{Login: login, Nonce: "nonce of a browser"}, &nonce); err != nil {
			t.Fatal(err)
		}
		return nonce
	}
	mine, others, forged := challenge(b.Login.ID).Nonce, challenge(other.Login.ID).Nonce, base64.RawURLEncoding.EncodeToString(make([]byte, 56))
	for _, x := range []struct {
		name      string
		nonce     string
		signature []byte
		status    int
	}{
		{"no signature", mine, []byte{}, 422},
		{"half a signature", mine, b.Sign(b.Origin, mine)[:32], 401},
		{"zeros", mine, make([]byte, 64), 401},
		{"another key", mine, stranger.Sign(b.Origin, mine), 401},
		{"another origin in what is signed", mine, b.Sign("http://localhost:1", mine), 401},
		{"another instance in what is signed", mine, elsewhere.Sign(b.Origin, mine), 401},
		{"another nonce in what is signed", mine, b.Sign(b.Origin, others), 401},
		{"a nonce of another login", others, b.Sign(b.Origin, others), 401},
		{"a nonce that we did not give", forged, b.Sign(b.Origin, forged), 401},
		{"no nonce", "", b.Sign(b.Origin, ""), 401},
		{"right, wrong ones before it count for nothing", mine, b.Sign(b.Origin, mine), 200},
		{"the same nonce again", mine, b.Sign(b.Origin, mine), 401},
	} {
		a := r.browse("POST", "/api/v1/login/access", api.LoginProof{Login: b.Login.ID, Nonce: x.nonce, Signature: x.signature})
		if a.status != x.status {
			t.Errorf("%s: status %d: %s", x.name, a.status, a.body)
		}
	}
	for _, host := range []string{"localhost:" + port(r.tcp), "[::1]:" + port(r.tcp), "127.0.0.1:1"} { // another origin of ours
		if a := r.browse("POST", "/api/v1/login/challenge", api.LoginChallenge{Login: b.Login.ID, Nonce: "nonce of a browser"}, "Host", host); a.status != 401 {
			t.Errorf("at %s: status %d: %s", host, a.status, a.body)
		}
	}
}

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

// A page that is still open knows by this that it is not the server any more
// that answers.
func TestServerProvesWhoItIs(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	b := r.browserLogin()
	proves := func() bool {
		t.Helper()
		var nonce api.LoginNonce
		if _, err := b.Post(t.Context(), "/login/challenge", api.LoginChallenge{Login: b.Login.ID, Nonce: "nonce of a browser"}, &nonce); err != nil {
			t.Fatal(err)
		}
		text := strings.Join([]string{"middleman server v1", b.Login.Instance, b.Origin, b.Login.ID, nonce.Nonce, "nonce of a browser"}, "\n")
		sum := sha256.Sum256([]byte(text))
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), b.Login.ServerKey)
		if err != nil {
			t.Fatal(err)
		}
		half := len(nonce.Signature) / 2
		return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(nonce.Signature[:half]), new(big.Int).SetBytes(nonce.Signature[half:]))
	}
	if !proves() {
		t.Error("the server's signature is not its own")
	}
	r.stop()
	p.address = r.at
	if r = p.serve(t); !proves() {
		t.Error("after a restart the server has another key")
	}
	b.Login.ServerKey = r.browserLogin().Login.ServerKey
	if !proves() {
		t.Error("a later login gets another key")
	}
}

func TestLoginsExpire(t *testing.T) {
	r := newPlace(t).serve(t)
	now := time.Now()
	for _, x := range []struct {
		name          string
		idle, expires time.Time
		status        int
	}{
		{"alive", now.Add(time.Hour), now.Add(time.Hour), 200},
		{"expired", now.Add(time.Hour), now.Add(-time.Second), 401},
		{"idle", now.Add(-time.Second), now.Add(time.Hour), 401},
	} {
		b := r.browserLogin()
		l, err := r.store.Login(t.Context(), b.Login.ID, now)
		if err != nil {
			t.Fatal(err)
		}
		if until := now.Add(29 * 24 * time.Hour); l.ExpiresAt.Before(until) || l.IdleAt.After(until) || l.IdleAt.Before(now.Add(6*24*time.Hour)) {
			t.Errorf("a new login: %+v", l)
		}
		if err := r.store.DeleteLogin(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
		l.IdleAt, l.ExpiresAt = x.idle, x.expires
		if err := r.store.CreateLogin(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		a := r.browse("POST", "/api/v1/login/challenge", api.LoginChallenge{Login: l.ID, Nonce: "nonce of a browser"})
		if a.status != x.status {
			t.Errorf("%s: challenge: status %d: %s", x.name, a.status, a.body)
		}
		list := get[api.Logins](r, "GET", "/logins", nil).Logins
		if listed := len(list) > 0 && list[len(list)-1].ID == l.ID; listed != (x.status == 200) {
			t.Errorf("%s: listed: %+v", x.name, list)
		}
	}
}

// Idle means that no key signs: what is open then ends, and the access token.
// The end of the thirty days does the same.
func TestExpiryEndsWhatIsOpen(t *testing.T) {
	const life = 30 * time.Second
	for name, x := range map[string]struct{ idle, expires time.Duration }{
		"idle":    {life, time.Hour},
		"expired": {time.Hour, life},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newPlace(t).serve(t, func(o *server.Options) { o.LoginIdle = x.idle })
			session := r.workspace("open", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
			b := r.browserLogin()
			l, err := r.store.Login(t.Context(), b.Login.ID, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			l.ExpiresAt = time.Now().Add(x.expires)
			if err := errors.Join(r.store.DeleteLogin(t.Context(), l.ID), r.store.CreateLogin(t.Context(), l)); err != nil {
				t.Fatal(err)
			}
			access := r.access(b)
			r.open(session, "Authorization", access).ended(t)
			if token, err := b.Access(t.Context()); err == nil {
				t.Errorf("it gets %q", token)
			}
			for _, path := range []string{"/workspaces", "/version"} {
				if a := r.browse("GET", "/api/v1"+path, nil, "Authorization", access); a.status != 401 {
					t.Errorf("the access token, %s: %d %s", path, a.status, a.body)
				}
			}
		})
	}
}

func TestRevokedLoginEndsWhatIsOpen(t *testing.T) {
	r := newPlace(t).serve(t)
	session := r.workspace("open", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	for _, x := range []struct {
		name   string
		revoke func(login, access string) answer
		all    bool
	}{
		{"logout", func(_, access string) answer { return r.browse("POST", "/api/v1/logout", nil, "Authorization", access) }, false},
		{"revoke", func(login, _ string) answer { return r.call("DELETE", "/logins/"+login, nil) }, false},
		{"revoke all", func(_, _ string) answer { return r.call("DELETE", "/logins", nil) }, true},
	} {
		b, other := r.browserLogin(), r.browserLogin()
		access, others := r.access(b), r.access(other)
		link := r.link()
		o := r.open(session, "Authorization", access)
		ticket := r.ticket(session, "attach", access)
		stays, err := browser.Do(r.request("GET", "http://"+r.tcp+"/api/v1/events", nil, "Authorization", others))
		if err != nil || stays.StatusCode != 200 {
			t.Fatalf("%s: events: %v %+v", x.name, err, stays)
		}
		if a := x.revoke(b.Login.ID, access); a.status != http.StatusNoContent {
			t.Fatalf("%s: %d %s", x.name, a.status, a.body)
		}
		o.ended(t)
		if a := r.browse("GET", "/api/v1/workspaces", nil, "Authorization", access); a.status != 401 {
			t.Errorf("%s: access token: %d", x.name, a.status)
		}
		if _, status := r.dial(session, "", "middleman.v1", "ticket."+ticket); status != 401 {
			t.Errorf("%s: ticket: %d", x.name, status)
		}
		if token, err := b.Access(t.Context()); err == nil {
			t.Errorf("%s: another access token: %s", x.name, token)
		}
		want := map[bool]int{true: 401, false: 200}[x.all]
		if a := r.browse("GET", "/api/v1/workspaces", nil, "Authorization", others); a.status != want {
			t.Errorf("%s: another login: %d", x.name, a.status)
		}
		if a := r.logIn(secretOf(link)); a.status != want {
			t.Errorf("%s: a link that was made before: %d", x.name, a.status)
		}
		if !x.all {
			r.workspace(strings.ReplaceAll(x.name, " ", "-"), nil)
			for lines := bufio.NewScanner(stays.Body); !strings.HasPrefix(lines.Text(), "event: workspace"); {
				if !lines.Scan() {
					t.Fatalf("%s: the other login's events ended: %v", x.name, lines.Err())
				}
			}
		}
		stays.Body.Close()
	}
}

func TestLoginsAreListed(t *testing.T) {
	r := newPlace(t).serve(t)
	secret := secretOf(r.link())
	a := r.logIn(secret, "User-Agent", "Mozilla/\u009b5.0 \u202eevil", "Origin", "http://"+r.tcp)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	b := r.browserLogin()
	for access, current := range map[string]int{r.access(b): 1, "": 0} {
		list := r.browse("GET", "/api/v1/logins", nil, "Authorization", access)
		if access == "" {
			list = r.call("GET", "/logins", nil)
		}
		got := decode[api.Logins](t, list).Logins
		if len(got) != 2 || got[0].UserAgent != `Mozilla/\u009b5.0 \u202eevil` || got[0].Name != `Chromium\x1b[31m \u202eof \u009bme` || got[0].Address != "127.0.0.1" || got[0].Origin != "http://"+r.tcp {
			t.Fatalf("%s", list.body)
		}
		for i, l := range got {
			if l.Current != (i == 1 && current == 1) || l.CreatedAt.IsZero() || l.LastUsedAt.Before(l.CreatedAt) {
				t.Errorf("%+v", l)
			}
		}
	}
	read := "Bearer " + r.token(store.ScopeRead, "", time.Hour)
	for _, x := range [][2]string{{"GET", "/logins"}, {"DELETE", "/logins"}, {"DELETE", "/logins/" + b.Login.ID}, {"POST", "/login-links"}} {
		if a := r.browse(x[0], "/api/v1"+x[1], nil, "Authorization", read); a.status != 403 {
			t.Errorf("%v with a token that only reads: %d", x, a.status)
		}
	}
	if a := r.call("DELETE", "/logins/l0000000000000000", nil); a.status != 404 {
		t.Errorf("revoke an unknown one: %d", a.status)
	}
}

// The page that leads to the link is this user's alone, and gone after use.
func TestLinkFile(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	if a := r.browse("POST", "/api/v1/login-links", api.NewLoginLink{}, "Authorization", r.login()); a.status != 403 {
		t.Errorf("over TCP, by a login: %d %s", a.status, a.body)
	}
	full := "Bearer " + r.token(store.ScopeFull, "", time.Hour) // whose revocation a login would outlive
	if a := r.browse("POST", "/api/v1/login-links", api.NewLoginLink{}, "Authorization", full); a.status != 403 {
		t.Errorf("over TCP, by a token: %d %s", a.status, a.body)
	}
	file := func() (link api.LoginLink) {
		t.Helper()
		link = get[api.LoginLink](r, "POST", "/login-links", api.NewLoginLink{File: true})
		info, err := os.Lstat(link.File)
		if err != nil || info.Mode() != 0o600 || !strings.HasPrefix(link.File, p.dirs.Runtime+"/") {
			t.Fatalf("%s: %v, %v", link.File, info, err)
		}
		page, err := os.ReadFile(link.File)
		if err != nil || strings.Count(string(page), `"`+link.URL+`"`) != 2 {
			t.Fatalf("%v: %s", err, page)
		}
		return link
	}
	gone := func(path string) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
	used, unused := file(), file()
	if a := r.logIn(secretOf(used.URL)); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if !gone(used.File) || gone(unused.File) {
		t.Errorf("after use: gone %t, the other's %t", gone(used.File), gone(unused.File))
	}
	r.stop()
	if !gone(unused.File) {
		t.Error("it outlives the server")
	}
	write(t, unused.File, "of a server that was killed")
	p.serve(t)
	if !gone(unused.File) {
		t.Error("one of a server that was killed stays")
	}
}

func decode[T any](t *testing.T, a answer) (out T) {
	t.Helper()
	if err := json.Unmarshal(a.body, &out); a.status >= 300 || err != nil {
		t.Fatalf("status %d, %v: %s", a.status, err, a.body)
	}
	return out
}
