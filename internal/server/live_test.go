package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"middleman/terminal/ws"
)

func TestCallsEndWithTheirSubject(t *testing.T) {
	dropped := ""
	c := calls{drop: func(subject string) { dropped = subject }}
	track := func(subject string, expires time.Time) (context.Context, func()) {
		t.Helper()
		ctx, done, ok := c.track(t.Context(), subject, expires, c.mark())
		if !ok {
			t.Fatalf("%s was refused", subject)
		}
		return ctx, done
	}
	first, doneFirst := track("login:a", time.Time{})
	second, doneSecond := track("login:a", time.Now().Add(time.Hour))
	other, doneOther := track("login:b", time.Time{})
	past, donePast := track("login:c", time.Now().Add(-time.Second))
	defer doneOther()
	mark := c.mark()
	c.end("login:a")
	for name, ctx := range map[string]context.Context{"first": first, "second": second, "expired": past} {
		if <-ctx.Done(); !errors.Is(context.Cause(ctx), ws.ErrUnauthorized) {
			t.Errorf("%s ended by %v", name, context.Cause(ctx))
		}
	}
	if other.Err() != nil {
		t.Errorf("another login's request ended: %v", context.Cause(other))
	}
	// Its credential was looked at before the end, and may be the one.
	if _, _, ok := c.track(t.Context(), "login:a", time.Time{}, mark); ok {
		t.Error("a request that was let in before the end goes on")
	}
	if dropped != "login:a" {
		t.Errorf("dropped %q", dropped)
	}
	doneFirst()
	doneSecond()
	donePast()
	if len(c.open) != 1 {
		t.Errorf("open: %v", c.open)
	}
}

// An answer to a client that does not read is broken off soon after the caller's
// credential has ended, and not only when a write has blocked for long.
func TestEndOfAnswerThatIsNotRead(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	began, ended := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(withHeaders(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		defer w.(*patientWriter).cutOff(ctx)()
		close(began)
		for part := make([]byte, 64<<10); ; {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})))
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-began
	end(ws.ErrUnauthorized)
	select {
	case <-ended:
	case <-time.After(writeTimeout * 2 / 3):
		t.Error("the answer goes on")
	}
}
