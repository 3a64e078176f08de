package client

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"middleman/internal/api"
	"middleman/internal/testenv"
)

// A server that ends in the middle of a change: the connection was used before,
// so that the transport sends the request again, and finds nobody.
func TestAChangeThatWasSentAndNotAnswered(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(testenv.ShortDir(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	var started atomic.Int64
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0)}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			io.WriteString(w, "{}")
			return
		}
		started.Add(1)
		l.Close()
		panic(http.ErrAbortHandler)
	})
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	c := New(l.Addr().String())
	defer func() {
		c.Close()
		server.Close()
		<-done
	}()
	if err := c.health(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = c.StartSession(t.Context(), "w1", api.NewSession{})
	if started.Load() != 1 || !errors.Is(err, ErrUnanswered) || errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "middleman ls") {
		t.Errorf("%d starts, %v", started.Load(), err)
	}
	_, err = c.StartSession(t.Context(), "w1", api.NewSession{})
	if !errors.Is(err, ErrNoServer) {
		t.Errorf("a request that was never sent: %v, want ErrNoServer", err)
	}
}
