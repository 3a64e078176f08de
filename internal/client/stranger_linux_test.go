package client

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/config"
	"middleman/internal/testenv"
)

// received returns all that a listener is sent until it is closed.
func received(l net.Listener) (stop func() string) {
	said := make(chan string, 1)
	go func() {
		var all []byte
		for {
			conn, err := l.Accept()
			if err != nil {
				said <- string(all)
				return
			}
			conn.SetDeadline(time.Now().Add(time.Minute))
			data, _ := io.ReadAll(conn)
			all = append(all, data...)
			conn.Close()
		}
	}()
	return func() string {
		l.Close()
		return <-said
	}
}

func ownDirs(t *testing.T) config.Dirs {
	t.Helper()
	home := testenv.ShortDir(t)
	dirs := config.Dirs{Data: filepath.Join(home, "data"), Runtime: filepath.Join(home, "run"), Config: filepath.Join(home, "config")}
	if err := dirs.Prepare(); err != nil {
		t.Fatal(err)
	}
	return dirs
}

// Whoever else has got hold of the server's socket is sent nothing.
func TestAnothersServerIsSentNothing(t *testing.T) {
	dirs := ownDirs(t)
	stop := received(testenv.ListenAsStranger(t, dirs.ServerSocket()))
	if err := os.WriteFile(dirs.ServeFile(), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Connect(t.Context(), dirs)
	if err == nil || errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "belongs to user 61234") {
		t.Errorf("Connect: %v", err)
	}
	if said := stop(); said != "" {
		t.Errorf("it was sent %q", said)
	}
}

// A socket elsewhere is nobody's business of serve.json, and one in a directory
// that others can write is not connected to.
func TestServeFileChoosesNoSocket(t *testing.T) {
	dirs := ownDirs(t)
	elsewhere := filepath.Join(testenv.ShortDir(t), "s")
	l, err := net.Listen("unix", elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	stop := received(l)
	if err := os.WriteFile(dirs.ServeFile(), []byte(`{"socket":"`+elsewhere+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Connect(t.Context(), dirs); !errors.Is(err, ErrNoServer) {
		t.Errorf("Connect: %v, want ErrNoServer", err)
	}
	if err := os.Chmod(filepath.Dir(elsewhere), 0o777); err != nil {
		t.Fatal(err)
	}
	c := New(elsewhere)
	defer c.Close()
	if err := c.health(t.Context()); err == nil || !strings.Contains(err.Error(), "is writable by others") {
		t.Errorf("Health: %v", err)
	}
	if said := stop(); said != "" {
		t.Errorf("it was sent %q", said)
	}
}

func TestLooseServeFileIsRefused(t *testing.T) {
	dirs := ownDirs(t)
	if err := os.WriteFile(dirs.ServeFile(), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{dirs.ServeFile(): 0o622, dirs.Runtime: 0o720} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadServe(dirs); err == nil || errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "chmod go-w "+path) {
			t.Errorf("mode %04o: %v", mode, err)
		}
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
