package pinned

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"middleman/internal/private"
)

// listen is Listen with a server that sends back the first line of each connection. It
// counts what got to it.
func listen(t *testing.T, file string) (l *Listener, lines chan string) {
	t.Helper()
	l, err := Listen(file)
	if err != nil {
		t.Fatal(err)
	}
	lines = make(chan string, 16)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			secure := tls.Server(conn, l.Config)
			if line, err := bufio.NewReader(secure).ReadString('\n'); err == nil {
				lines <- line
				_, _ = secure.Write([]byte(line))
			}
			secure.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return l, lines
}

func TestDial(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.json")
	if _, err := Dial(t.Context(), file); !errors.Is(err, ErrNotThere) {
		t.Errorf("without a file: %v, want %v", err, ErrNotThere)
	}
	_, lines := listen(t, file)
	conn, err := Dial(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := bufio.NewReader(conn).ReadString('\n'); err != nil || got != "hello\n" || <-lines != got {
		t.Errorf("the answer is %q: %v", got, err)
	}
}

// A program that has the port of an ended server gets nothing, whatever it copies from
// the file: it lacks the key.
func TestAnotherProgramHasThePort(t *testing.T) {
	dir := t.TempDir()
	ours, other := filepath.Join(dir, "own.json"), filepath.Join(dir, "other.json")
	l, _ := listen(t, ours)
	l.Close()
	if _, err := Dial(t.Context(), ours); !errors.Is(err, ErrNotThere) {
		t.Errorf("after the end: %v, want %v", err, ErrNotThere)
	}
	impostor, lines := listen(t, other)
	raw, err := private.ReadFile(ours)
	if err != nil {
		t.Fatal(err)
	}
	at, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	at.Address = impostor.Addr().String()
	if raw, err = json.Marshal(at); err != nil {
		t.Fatal(err)
	}
	if err := private.Replace(ours, raw, private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	if conn, err := Dial(t.Context(), ours); !errors.Is(err, ErrNotThere) {
		t.Errorf("another program: connection %v, error %v, want %v", conn, err, ErrNotThere)
	}
	select {
	case line := <-lines:
		t.Errorf("the other program was told %q", line)
	default:
	}
}

func FuzzDecode(f *testing.F) {
	for _, raw := range []string{`{}`, `{"address":"127.0.0.1:80","sha256":""}`, `{"address":"192.0.2.1:80"}`,
		`{"address":"[::1]:80","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		at, err := decode(raw)
		if err != nil {
			return
		}
		host, _, err := net.SplitHostPort(at.Address)
		if err != nil || !net.ParseIP(host).IsLoopback() {
			t.Errorf("%q is accepted: %v", at.Address, err)
		}
		again, err := json.Marshal(at)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := decode(again); err != nil || second != at {
			t.Errorf("%+v becomes %+v: %v", at, second, err)
		}
	})
}
