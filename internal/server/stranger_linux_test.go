package server

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"middleman/internal/listen"
	"middleman/internal/testenv"
)

// A process of another user that reaches the server's socket is not heard, and
// gets no answer.
func TestStrangersAreNotAccepted(t *testing.T) {
	path := filepath.Join(testenv.ShortDir(t), "s")
	l, err := listen.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, mode := range map[string]os.FileMode{filepath.Dir(path): 0o755, path: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	stranger := testenv.DialAsStranger(t, path)
	ours, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	accepted, err := l.Accept() // the stranger was first
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if _, err := ours.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	accepted.SetDeadline(time.Now().Add(time.Minute))
	if got, err := io.ReadAll(io.LimitReader(accepted, 1)); err != nil || string(got) != "x" {
		t.Errorf("accepted %q, %v: want our connection", got, err)
	}
	stranger.SetDeadline(time.Now().Add(time.Minute))
	if n, err := stranger.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the stranger read %d bytes, %v", n, err)
	}
}
