package testenv

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"middleman/internal/api"
)

// Browser logs in to a server as the web client does. Its fields may be
// changed, to see what becomes of it.
type Browser struct {
	Origin string // http://host:port of the server
	Login  api.NewLoginAnswer
	Key    *ecdsa.PrivateKey
	// HTTP keeps no cookies, as the web client has none.
	HTTP *http.Client
}

// BrowserTransport connects as browsers do: names below localhost are this
// machine, whatever its resolver says. It keeps no connections.
func BrowserTransport() *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, err := net.SplitHostPort(address); err == nil && strings.HasSuffix(host, ".localhost") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}}
}

// LogIn uses a login link.
func LogIn(ctx context.Context, link string) (*Browser, error) {
	at, err := url.Parse(link)
	if err != nil {
		return nil, err
	}
	secret, ok := strings.CutPrefix(at.Fragment, "login=")
	if !ok || at.RawQuery != "" {
		return nil, fmt.Errorf("login link %s has no secret in its fragment alone", link)
	}
	b := &Browser{Origin: at.Scheme + "://" + at.Host, HTTP: &http.Client{Transport: BrowserTransport()}}
	if b.Key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	public, err := b.Key.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	_, err = b.Post(ctx, "/login", api.NewLogin{Token: secret, Key: public, Name: "test"}, &b.Login)
	return b, err
}

// Access gets an access token.
func (b *Browser) Access(ctx context.Context) (string, error) {
	var nonce api.LoginNonce
	if _, err := b.Post(ctx, "/login/challenge", api.LoginChallenge{Login: b.Login.ID, Nonce: rand.Text()}, &nonce); err != nil {
		return "", err
	}
	var access api.Access
	_, err := b.Post(ctx, "/login/access", api.LoginProof{
		Login: b.Login.ID, Nonce: nonce.Nonce, Signature: b.Sign(b.Origin, nonce.Nonce),
	}, &access)
	return access.Token, err
}

// Sign answers a nonce, for a page of that origin.
func (b *Browser) Sign(origin, nonce string) []byte {
	text := strings.Join([]string{"middleman login v1", b.Login.Instance, origin, b.Login.ID, nonce}, "\n")
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, b.Key, sum[:])
	if err != nil {
		panic(err) // a P-256 key and a random source are all that it takes
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signature
}

// Post sends a request of the API and returns its status; other than 200 is
// an error.
func (b *Browser) Post(ctx context.Context, path string, in, out any) (status int, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.Origin+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", b.Origin)
	resp, err := b.HTTP.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(answer, out)
	} else if err == nil {
		err = fmt.Errorf("POST %s: status %d: %s", path, resp.StatusCode, answer)
	}
	return resp.StatusCode, err
}
