package ipc_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/ipc"
	"middleman/internal/private"
)

// A deadline ends a read as net/http expects it, and a later read works.
func TestPipeDeadline(t *testing.T) {
	server, client, _ := pair(t)
	must(t, server.SetReadDeadline(time.Unix(1, 0)))
	_, err := server.Read(make([]byte, 1))
	timeout, ok := err.(net.Error) // as net/http asks, not errors.As
	if !ok || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the read ended with %#v", err)
	}
	must(t, server.SetReadDeadline(time.Time{}))
	_, err = client.Write([]byte("x"))
	must(t, err)
	got := make([]byte, 1)
	if n, err := server.Read(got); n != 1 || err != nil || got[0] != 'x' {
		t.Errorf("read %d bytes %q, %v", n, got, err)
	}
}

// One connection serves several requests, none of which ends before its answer.
func TestPipeServesHTTP(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	must(t, private.MakeDir(dir))
	l, err := ipc.Listen(filepath.Join(dir, "s.sock"))
	must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err = errors.Join(err, r.Context().Err()); err != nil {
			body = []byte(err.Error())
		}
		_, _ = w.Write(body)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	dials := 0
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		dials++
		return ipc.Dial(ctx, l.Addr().String())
	}}
	client := &http.Client{Transport: transport}
	for _, text := range []string{"first", "second", "third"} {
		response, err := client.Post("http://pipe/", "text/plain", strings.NewReader(text))
		must(t, err)
		got, err := io.ReadAll(response.Body)
		must(t, errors.Join(err, response.Body.Close()))
		if string(got) != text {
			t.Errorf("%s is answered with %q", text, got)
		}
	}
	if dials != 1 {
		t.Errorf("%d connections for three requests", dials)
	}
	transport.CloseIdleConnections()
	must(t, server.Close())
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// Each request comes whole, though net/http reads one byte ahead while a request is
// answered, and cancels that read just when the next request may come.
func TestPipeKeepsFirstBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	must(t, private.MakeDir(dir))
	l, err := ipc.Listen(filepath.Join(dir, "s.sock"))
	must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			conn, err := ipc.Dial(t.Context(), l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			answers := bufio.NewReader(conn)
			for i := range 300 {
				if _, err := io.WriteString(conn, "GET /path HTTP/1.1\r\nHost: pipe\r\n\r\n"); err != nil {
					t.Errorf("request %d: %v", i, err)
					return
				}
				response, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Errorf("answer %d: %v", i, err)
					return
				}
				body, err := io.ReadAll(response.Body)
				if string(body) != "GET /path" || err != nil {
					t.Errorf("request %d came as %q, %v", i, body, err)
					return
				}
			}
		})
	}
	clients.Wait()
	must(t, server.Close())
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
