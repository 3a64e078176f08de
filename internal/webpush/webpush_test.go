package webpush

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/internal/api"
	"middleman/internal/es256"
	"middleman/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a Store.
type memory struct {
	mu   sync.Mutex
	key  []byte
	list []store.Subscription
}

func (m *memory) Key(_ context.Context, _ string, generate func() ([]byte, error)) (_ []byte, err error) {
	if m.key == nil {
		m.key, err = generate()
	}
	return m.key, err
}

func (m *memory) Subscriptions(context.Context, time.Time) ([]store.Subscription, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list, nil
}

func (m *memory) DeleteSubscription(_ context.Context, login, endpoint string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, s := range m.list {
		if s.Login == login && s.Endpoint == endpoint {
			m.list = append(m.list[:i:i], m.list[i+1:]...)
			return nil
		}
	}
	return store.ErrNotFound
}

// browser has what a browser has of its subscription.
type browser struct {
	key  *ecdh.PrivateKey
	auth []byte
}

func newBrowser(t testing.TB) browser {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	auth := make([]byte, authSize)
	_, _ = rand.Read(auth)
	return browser{key, auth}
}

func (b browser) subscription(login, endpoint string, content bool) store.Subscription {
	return store.Subscription{Login: login, Endpoint: endpoint, Key: b.key.PublicKey().Bytes(), Auth: b.auth, Content: content}
}

// open decrypts a message as a browser does.
func (b browser) open(t testing.TB, body []byte) []byte {
	t.Helper()
	salt, rest := body[:16], body[16:]
	if size := binary.BigEndian.Uint32(rest); int(size) < len(rest)-70 || rest[4] != 65 {
		t.Fatalf("record size %d, id of %d bytes", size, rest[4])
	}
	public, sealed := rest[5:70], rest[70:]
	theirs, err := ecdh.P256().NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := b.key.ECDH(theirs)
	if err != nil {
		t.Fatal(err)
	}
	input, err := hkdf.Key(sha256.New, shared, b.auth, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(public), 32)
	if err != nil {
		t.Fatal(err)
	}
	aead, nonce, err := contentKey(input, salt)
	if err != nil {
		t.Fatal(err)
	}
	record, err := aead.Open(nil, nonce, sealed, nil)
	if err != nil {
		t.Fatal(err)
	}
	record = bytes.TrimRight(record, "\x00")
	if len(record) == 0 || record[len(record)-1] != lastRecord {
		t.Fatalf("the record ends with %x", record)
	}
	return record[:len(record)-1]
}

func decode(t testing.TB, text string) []byte {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The example of RFC 8291, section 5 and appendix A.
func TestSealExample(t *testing.T) {
	own, err := ecdh.P256().NewPrivateKey(decode(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdh.P256().NewPrivateKey(decode(t, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	const text, want = "When I grow up, I want to be a watermelon", "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	b := browser{key, decode(t, "BTBZMqHH6r4Tts7J_aSIgg")}
	got, err := seal(own, decode(t, "DGv6ra1nlYgDCS1FRnbzlw"), key.PublicKey().Bytes(), b.auth, append([]byte(text), lastRecord))
	if err != nil || !bytes.Equal(got, decode(t, want)) {
		t.Errorf("got %x, %v", got, err)
	}
	if got := b.open(t, got); string(got) != text {
		t.Errorf("opened %q", got)
	}
}

// service is a push service that answers as told, and what it got.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	answer   func(w http.ResponseWriter, r *http.Request)
	requests []*http.Request
	bodies   [][]byte
}

func newService(t *testing.T, answer http.HandlerFunc) *service {
	s := &service{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, body)
		s.mu.Unlock()
		s.answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
	}
}

func newSender(t *testing.T, private bool, list ...store.Subscription) (*Sender, *memory) {
	m := &memory{list: list}
	s := New(m, private, slog.New(slog.DiscardHandler))
	t.Cleanup(s.client.CloseIdleConnections)
	return s, m
}

var asks = []api.NoticeItem{{Kind: api.NeedsInput, Session: "s1", SessionName: "claude", WorkspaceName: "fix", Reason: "Bash: rm -rf \x1b[2J<build>"}}

// A message is signed for its service, encrypted for its browser, of one size, and has
// no content unless the user allows it.
func TestMessage(t *testing.T) {
	one, two := newBrowser(t), newBrowser(t)
	push := newService(t, status(http.StatusCreated))
	s, _ := newSender(t, true, one.subscription("l1", push.URL+"/one", false), two.subscription("l2", push.URL+"/two", true))
	next, err := s.send(t.Context(), asks)
	if err != nil || !next.IsZero() || s.Failure("l1")+s.Failure("l2") != "" || len(push.requests) != 2 {
		t.Fatalf("next %v, %v; %q %q; %d requests", next, err, s.Failure("l1"), s.Failure("l2"), len(push.requests))
	}
	want := map[string]string{
		"/one": `{"items":[{"kind":"needs-input","session":"s1"}]}`,
		"/two": `{"items":[{"kind":"needs-input","session":"s1","name":"fix/claude","reason":"Bash: rm -rf \\x1b[2J<build>"}]}`,
	}
	browsers := map[string]browser{"/one": one, "/two": two}
	public, err := s.PublicKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range push.requests {
		if got := string(browsers[r.URL.Path].open(t, push.bodies[i])); got != want[r.URL.Path] {
			t.Errorf("%s got %s", r.URL.Path, got)
		}
		if len(push.bodies[i]) != len(push.bodies[0]) || len(push.bodies[i]) > 4096 {
			t.Errorf("%s got %d bytes", r.URL.Path, len(push.bodies[i]))
		}
		if r.Method != "POST" || r.Header.Get("TTL") != "3600" || r.Header.Get("Content-Encoding") != "aes128gcm" {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		checkProof(t, r.Header.Get("Authorization"), push.URL, public)
	}
}

// checkProof checks a signature as a push service does (RFC 8292).
func checkProof(t *testing.T, header, origin string, public []byte) {
	t.Helper()
	token, key, _ := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	if !bytes.Equal(decode(t, key), public) {
		t.Errorf("key %s", key)
	}
	parsed, err := es256.ParsePublic(public)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndexByte(token, '.')
	if !es256.Verify(parsed, token[:at], decode(t, token[at+1:])) {
		t.Errorf("the signature of %s is wrong", token)
	}
	head, body, _ := strings.Cut(token[:at], ".")
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	if err := json.Unmarshal(decode(t, body), &claims); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(time.Unix(claims.Exp, 0)); claims.Aud != origin || left <= 0 || left > 24*time.Hour || !strings.HasPrefix(claims.Sub, "https://") {
		t.Errorf("claims %+v", claims)
	}
	if string(decode(t, head)) != `{"typ":"JWT","alg":"ES256"}` {
		t.Errorf("head %s", head)
	}
}

// What a service answers decides what becomes of the notice and of the subscription.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answer  http.HandlerFunc
		gone    bool
		failure string
		wait    time.Duration // 0: the notice waits no more
	}{
		{"taken", status(201), false, "", 0},
		{"taken for later", status(202), false, "", 0},
		{"unsubscribed", status(410), true, "", 0},
		{"never known", status(404), true, "", 0},
		{"too many", status(429, "Retry-After: 600"), false, "status 429", 10 * time.Minute},
		{"too many, and no time", status(429), false, "status 429", pause},
		{"down", status(503, "Retry-After: 99999999"), false, "status 503", maxRetryAfter},
		{"refused", status(403), false, "status 403", 0},
		{"elsewhere", status(307, "Location: /other"), false, "status 307", 0},
		{"a long answer", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(201)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, false, "", 0},
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, false, "ask push service 127.0.0.1:", pause},
	} {
		t.Run(tt.name, func(t *testing.T) {
			push := newService(t, tt.answer)
			s, m := newSender(t, true, newBrowser(t).subscription("l1", push.URL+"/secret", false))
			before := time.Now()
			next, err := s.send(t.Context(), asks)
			if err != nil {
				t.Fatal(err)
			}
			if tt.wait == 0 != next.IsZero() || tt.wait != 0 && (next.Before(before.Add(tt.wait)) || next.After(time.Now().Add(tt.wait))) {
				t.Errorf("next %v, want %v after %v", next, tt.wait, before)
			}
			if got := s.Failure("l1"); (got == "") != (tt.failure == "") || !strings.Contains(got, tt.failure) || strings.Contains(got, "secret") {
				t.Errorf("failure %q, want %q", got, tt.failure)
			}
			if gone := len(m.list) == 0; gone != tt.gone {
				t.Errorf("gone %t", gone)
			}
			asked := len(push.requests)
			if _, err := s.send(t.Context(), asks); err != nil {
				t.Fatal(err)
			}
			if more := len(push.requests) > asked; more != (tt.wait == 0 && !tt.gone) {
				t.Errorf("the next notice was sent: %t", more)
			}
		})
	}
}

// What waits is one message when the service takes it again.
func TestWaitsForService(t *testing.T) {
	b := newBrowser(t)
	push := newService(t, status(429, "Retry-After: 600"))
	s, _ := newSender(t, true, b.subscription("l1", push.URL, false))
	for range 3 {
		if _, err := s.send(t.Context(), asks); err != nil {
			t.Fatal(err)
		}
	}
	push.answer = status(201)
	s.waiting["l1"].until = time.Now() // the time has come
	if next, err := s.send(t.Context(), nil); err != nil || !next.IsZero() || len(push.bodies) != 2 {
		t.Fatalf("next %v, %v; %d requests", next, err, len(push.bodies))
	}
	if got := strings.Count(string(b.open(t, push.bodies[1])), `"s1"`); got != 3 {
		t.Errorf("%d items", got)
	}
	s.enqueue([]store.Subscription{{Login: "l1"}}, make([]api.NoticeItem, 2*maxItems), time.Now())
	if got := len(s.waiting["l1"].items); got != maxItems {
		t.Errorf("%d items wait", got)
	}
	s.enqueue([]store.Subscription{{Login: "l1"}}, nil, time.Now().Add(2*keep))
	if got := len(s.waiting["l1"].items); got != 0 {
		t.Errorf("%d items wait that nobody wants", got)
	}
}

// A service that does not answer costs a bounded time.
func TestServiceThatHangs(t *testing.T) {
	push := newService(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s, _ := newSender(t, true, newBrowser(t).subscription("l1", push.URL, false))
	if s.client.Timeout == 0 || s.client.Timeout > 10*time.Second {
		t.Errorf("the time is %v", s.client.Timeout)
	}
	s.client.Timeout = 50 * time.Millisecond
	if next, err := s.send(t.Context(), asks); err != nil || next.IsZero() {
		t.Errorf("next %v, %v", next, err)
	}
}

// Run sends what it is told, and ends.
func TestRun(t *testing.T) {
	got := make(chan struct{})
	push := newService(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); close(got) })
	s, _ := newSender(t, true, newBrowser(t).subscription("l1", push.URL, false))
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { s.Run(ctx) })
	s.Tell(api.Notice{Items: asks})
	<-got
	cancel()
	run.Wait()
}

func TestCheck(t *testing.T) {
	b := newBrowser(t)
	for _, tt := range []struct {
		endpoint      string
		public, local bool // whether it is taken, without and with private
	}{
		{"https://push.example/abc?x=1", true, true},
		{"https://push.example:8443/abc", true, true},
		{"https://9.9.9.9/abc", true, true},
		{"https://localhost/abc", true, true}, // judged when it is connected to
		{"http://push.example/abc", false, false},
		{"http://127.0.0.1:1/abc", false, true},
		{"http://[::1]:1/abc", false, true},
		{"http://192.168.1.2/abc", false, false},
		{"https://192.168.1.2/abc", false, true},
		{"https://[fd00::1]/abc", false, true},
		{"https://169.254.169.254/latest", false, false},
		{"https://[::ffff:169.254.169.254]/latest", false, false},
		{"https://0.0.0.0/", false, false},
		{"https://[fe80::1%25eth0]/", false, false},
		{"https://u:p@push.example/", false, false},
		{"https://push.example/#x", false, false},
		{"https://push.example:0/", false, false},
		{"https://push.example:99999/", false, false},
		{"https:push.example", false, false},
		{"https://", false, false},
		{"https://push.example/a b", false, false},
		{"https://push.example/\n", false, false},
		{"https://püsh.example/", false, false},
		{"file:///etc/passwd", false, false},
		{"https://push.example/" + strings.Repeat("a", maxEndpoint), false, false},
		{"", false, false},
	} {
		for _, private := range []bool{false, true} {
			want := tt.public
			if private {
				want = tt.local
			}
			if err := Check(b.subscription("", tt.endpoint, false), private); (err == nil) != want {
				t.Errorf("%q, private %t: %v", tt.endpoint, private, err)
			}
		}
	}
	for name, s := range map[string]store.Subscription{
		"no key":       {Endpoint: "https://push.example/", Auth: b.auth},
		"no point":     {Endpoint: "https://push.example/", Auth: b.auth, Key: append([]byte{4}, make([]byte, 64)...)},
		"a short auth": {Endpoint: "https://push.example/", Auth: b.auth[1:], Key: b.key.PublicKey().Bytes()},
	} {
		if Check(s, true) == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// A name that leads to this machine is not connected to, without private.
func TestNameOfPrivateAddress(t *testing.T) {
	push := newService(t, status(201))
	_, port, _ := strings.Cut(strings.TrimPrefix(push.URL, "http://"), ":")
	s, _ := newSender(t, false, newBrowser(t).subscription("l1", "https://localhost:"+port+"/", false))
	connected := false
	push.Config.ConnState = func(net.Conn, http.ConnState) { connected = true }
	if _, err := s.send(t.Context(), asks); err != nil || !strings.Contains(s.Failure("l1"), "a loopback address") {
		t.Errorf("%v, %q", err, s.Failure("l1"))
	}
	if push.Close(); connected {
		t.Error("it was connected to")
	}
}

func FuzzEndpoint(f *testing.F) {
	for _, text := range []string{"https://push.example/abc", "http://127.0.0.1:1/", "https://[::1]/", "https://u@h/", "https://h:1/#", "https://:"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := parseEndpoint(text, false)
		if err != nil {
			return
		}
		if u.Scheme != "https" || u.User != nil || u.Hostname() == "" || len(text) > maxEndpoint {
			t.Errorf("%q is taken", text)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && mayReach(a, false) != nil {
			t.Errorf("%q is taken", text)
		}
		again, err := parseEndpoint(u.String(), false)
		if len(u.String()) <= maxEndpoint && (err != nil || again.String() != u.String()) {
			t.Errorf("%q became %v, %v", text, again, err)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"120", "-1", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT", "soon", ""} {
		f.Add(text)
	}
	now := time.Now()
	f.Fuzz(func(t *testing.T, header string) {
		if got := retryAfter(header, now); got < 0 || got > maxRetryAfter {
			t.Errorf("%q is %v", header, got)
		}
	})
}

// FuzzText: a message fits and can be read, whatever sessions are called and ask.
func FuzzText(f *testing.F) {
	f.Add("fix", "Bash: make", 1)
	f.Add("\x00\xff\u202e", strings.Repeat("\"\\<", 999), 40)
	f.Fuzz(func(t *testing.T, name, reason string, n int) {
		items := make([]api.NoticeItem, 1+max(0, n)%64)
		for i := range items {
			items[i] = api.NoticeItem{Kind: api.AgentFail, Session: "s0123456789abcdef", SessionName: name, WorkspaceName: name, Runtime: name, Reason: reason}
		}
		data := text(items, true)
		var m message
		if err := json.Unmarshal(data, &m); err != nil || len(data) > maxText || len(m.Items) == 0 || len(m.Items)+m.More != len(items) {
			t.Errorf("%d bytes, %d items and %d more of %d, %v", len(data), len(m.Items), m.More, len(items), err)
		}
	})
}
