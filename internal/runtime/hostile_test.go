//go:build unix

package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/internal/api"
	"middleman/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ours is how a server of this build tells its version.
const ours = `{"version":"1.0","api":1,"oldest_api":1,"features":["keep-ended"]}`

// remoteOf returns a remote at a server that answers with h.
func remoteOf(t *testing.T, h http.HandlerFunc, change func(*Config)) *Remote {
	t.Helper()
	server := httptest.NewTLSServer(h)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	dir := testenv.ShortDir(t)
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(server.Certificate().Raw)
	c := Config{Name: "box", Address: server.URL, TokenFile: token, Pin: hex.EncodeToString(sum[:])}
	if change != nil {
		change(&c)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	d, err := newDialer(c, "ssh")
	if err != nil {
		t.Fatal(err)
	}
	r := newRemote(c, d, slog.New(slog.DiscardHandler), func(Config, Status) {})
	r.patience = time.Minute
	t.Cleanup(func() {
		r.close()
		server.CloseClientConnections()
		server.Close()
	})
	return r
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// Whatever a remote does, its state says what is wrong, in our words alone.
func TestStatesOfHostileRemotes(t *testing.T) {
	released := make(chan struct{})
	defer close(released)
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		change func(*Config)
		want   Reason // "" for reachable
	}{
		{"ours", says(200, ours), nil, ""},
		{"newer, and speaks ours", says(200, `{"version":"9","api":9,"oldest_api":1,"features":["later"],"more":{}}`), nil, ""},
		{"newer, and has forgotten ours", says(200, `{"version":"9","api":9,"oldest_api":2}`), nil, Newer},
		{"older than versions of the API", says(200, `{"version":"0.1","go":"1.20"}`), nil, Older},
		{"another program", says(200, "<html>"+planted), nil, BadProtocol},
		{"another program's error", says(404, planted), nil, BadProtocol},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1/", http.StatusFound)
		}, nil, BadProtocol},
		{"the wrong types", says(200, `{"version":5,"api":"`+planted+`"}`), nil, BadProtocol},
		{"the token is refused", says(401, `{"code":"unauthorized","detail":"`+planted+`"}`), nil, BadToken},
		{"the token's scope is refused", says(403, `{"code":"forbidden","detail":"`+planted+`"}`), nil, BadToken},
		{"a size that is a lie", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, ours)
		}, nil, NoAnswer},
		{"endless headers", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 3000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 64))
			}
		}, nil, NoAnswer},
		{"a broken connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, NoAnswer},
		{"silence", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-released:
			case <-r.Context().Done():
			}
		}, nil, TimedOut},
		{"nobody", nil, func(c *Config) { c.Address = "https://127.0.0.1:1" }, NoAnswer},
		{"another certificate", says(200, ours), func(c *Config) { c.Pin = strings.Repeat("00", 32) }, BadCert},
		{"a certificate that nobody knows", says(200, ours), func(c *Config) { c.Pin = "" }, BadCert},
		{"no token file", says(200, ours), func(c *Config) { c.TokenFile += ".none" }, NoTokenFile},
		{"a token file that others can read", says(200, ours), func(c *Config) { do(os.Chmod(c.TokenFile, 0o644)) }, NoTokenFile},
		{"an empty token file", says(200, ours), func(c *Config) { do(os.WriteFile(c.TokenFile, nil, 0o600)) }, NoTokenFile},
		{"a token of two lines", says(200, ours), func(c *Config) { do(os.WriteFile(c.TokenFile, []byte("a\nX: b"), 0o600)) }, NoTokenFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := remoteOf(t, tt.answer, tt.change)
			if tt.want == TimedOut {
				r.patience = time.Second
			}
			status := r.Check(t.Context())
			if tt.want == "" {
				if status.State != Reachable || status.Reason != "" || status.Checked.IsZero() {
					t.Errorf("%+v", status)
				}
				return
			}
			if status.Reason != tt.want || status.State != reasons[tt.want].state || status.Text != reasons[tt.want].text {
				t.Errorf("%+v, want %s", status, tt.want)
			}
			err := r.Call(t.Context(), "GET", "/sessions", nil, nil, time.Minute, &api.Sessions{}) // fails at once, by the pause
			for _, part := range append(strings.Fields(planted), "127.0.0.1", "hunter2", r.config.TokenFile) {
				if strings.Contains(fmt.Sprint(err), part) {
					t.Errorf("%q is in %v", part, err)
				}
			}
			if e, ok := errors.AsType[*Error](err); !ok || e.Reason != tt.want {
				t.Errorf("a call: %v, want %s", err, tt.want)
			}
		})
	}
}

func do(err error) {
	if err != nil {
		panic(err)
	}
}

// An answer of 1 GB is given up after a little, and the next call is made again.
func TestHugeAnswer(t *testing.T) {
	var sent atomic.Int64
	r := remoteOf(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/version") {
			fmt.Fprint(w, ours)
			return
		}
		part := []byte(strings.Repeat(" ", 1<<20))
		for range 1 << 10 {
			n, err := w.Write(part)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}, nil)
	err := r.Call(t.Context(), "GET", "/sessions", nil, nil, time.Minute, &api.Sessions{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Reason != TooMuch || sent.Load() > 64<<20 {
		t.Errorf("%v after %d bytes", err, sent.Load())
	}
	if status := r.Check(t.Context()); status.State != Reachable {
		t.Errorf("then: %+v", status)
	}
}

// The end of a caller is not the remote's fault.
func TestCallerEnds(t *testing.T) {
	r := remoteOf(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/version") {
			fmt.Fprint(w, ours)
			return
		}
		<-r.Context().Done()
	}, nil)
	r.Check(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := r.Call(ctx, "GET", "/sessions", nil, nil, time.Minute, &api.Sessions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if status := r.Status(); status.State != Reachable {
		t.Errorf("%+v", status)
	}
}
