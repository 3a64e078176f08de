package webpush

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"middleman/internal/es256"
	"middleman/internal/store"
)

const (
	requestTime = 10 * time.Second
	maxHeader   = 16 << 10
	maxAnswer   = 4 << 10 // bytes of an answer that are read, so that the connection can be used again
	// keep is how long a notice is worth telling: for the push service, and for us
	// while it takes none.
	keep = time.Hour
	// tokenLife is how long a signature is valid for its service; a day is the most.
	tokenLife = 12 * time.Hour
	// contact is the contact that services want. There is nobody but the user.
	contact = "https://middleman.invalid"
	// maxRetryAfter bounds how long a service can make us wait.
	maxRetryAfter = 24 * time.Hour
)

// answer is what a push service said.
type answer struct {
	status     int
	retryAfter time.Duration
}

// newClient returns the client for requests to push services. It takes no proxy from
// the environment: of a proxy we would know whose address it is, and of nothing
// behind it.
func newClient(private bool) *http.Client {
	dialer := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return mayReach(at.Addr(), private)
	}}
	return &http.Client{
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableCompression: true,
			MaxResponseHeaderBytes: maxHeader, MaxIdleConns: 8, IdleConnTimeout: time.Minute,
		},
	}
}

// post sends a message to a subscription at its endpoint, signed by key.
func post(ctx context.Context, client *http.Client, key *ecdsa.PrivateKey, to store.Subscription, endpoint *url.URL, text []byte) (answer, error) {
	body, err := encrypt(to.Key, to.Auth, text)
	if err != nil {
		return answer{}, err
	}
	now := time.Now()
	proof, err := authorization(key, endpoint, now)
	if err != nil {
		return answer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for name, value := range map[string]string{
		"Authorization": proof, "Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream",
		"TTL": strconv.Itoa(int(keep.Seconds())), "Urgency": "high", "User-Agent": "middleman",
	} {
		r.Header.Set(name, value)
	}
	got, err := client.Do(r)
	if err != nil {
		return answer{}, withoutPath(err, endpoint)
	}
	defer got.Body.Close()
	_, _ = io.CopyN(io.Discard, got.Body, maxAnswer)
	return answer{got.StatusCode, retryAfter(got.Header.Get("Retry-After"), now)}, nil
}

// withoutPath returns a client's error without the endpoint's path, by which anybody
// could send to the browser.
func withoutPath(err error, endpoint *url.URL) error {
	if in, ok := err.(*url.Error); ok {
		err = in.Err
	}
	return fmt.Errorf("ask push service %s: %w", endpoint.Host, err)
}

// authorization returns the header by which a service knows us (RFC 8292).
func authorization(key *ecdsa.PrivateKey, endpoint *url.URL, now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{
		"aud": endpoint.Scheme + "://" + endpoint.Host, "exp": now.Add(tokenLife).Unix(), "sub": contact,
	})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	token := encode([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encode(claims)
	signature, err := es256.Sign(key, token)
	if err != nil {
		return "", err
	}
	public, err := key.PublicKey.Bytes()
	return "vapid t=" + token + "." + encode(signature) + ", k=" + encode(public), err
}

// retryAfter parses the header of that name: seconds, or a date (RFC 9110, 10.2.3).
// It is 0 where the header says nothing.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
