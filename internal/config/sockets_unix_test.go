//go:build unix

package config

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/internal/testenv"
)

// The path of each socket fits, however long that of the runtime directory is.
func TestSocketsFit(t *testing.T) {
	seen := map[string]string{}
	for n := range 300 {
		d := Dirs{Runtime: "/" + strings.Repeat("r", n)}
		path := filepath.Join(d.Sockets(), longestSocket)
		if len(path) > ipc.MaxSocketPath {
			t.Errorf("a runtime directory of %d bytes: %s has %d", n, path, len(path))
		}
		if other, is := seen[d.Sockets()]; is {
			t.Errorf("%s and %s share %s", other, d.Runtime, d.Sockets())
		}
		seen[d.Sockets()] = d.Runtime
		if short := len(filepath.Join(d.Runtime, longestSocket)) <= ipc.MaxSocketPath; short != (d.Sockets() == filepath.Clean(d.Runtime)) {
			t.Errorf("%s: its sockets are in %s", d.Runtime, d.Sockets())
		}
	}
}

// plants are what another user may put in a directory for all, in the place of one of
// ours.
var plants = map[string]func(path string) error{
	"a file":                        func(path string) error { return os.WriteFile(path, nil, 0o600) },
	"a link to a directory of ours": func(path string) error { return os.Symlink(os.Getenv("HOME"), path) },
	"a link to nothing":             func(path string) error { return os.Symlink(path+".target", path) },
	"a FIFO":                        func(path string) error { return unix.Mkfifo(path, 0o666) },
	"a socket": func(path string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err == nil {
			l.SetUnlinkOnClose(false)
			err = l.Close()
		}
		return err
	},
	"a directory of theirs": func(path string) error {
		return errors.Join(os.Mkdir(path, 0o777), os.Chown(path, 61234, 61234))
	},
}

// Somebody who takes the usual directory first stops nobody: another is made, whose name
// follows from nothing, and each process finds that one.
func TestSocketsWhereTheirNameIsTaken(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			if name == "a directory of theirs" {
				testenv.NeedRoot(t, "give a directory away")
			}
			socketsWhereTheirNameIsTaken(t, plant)
		})
	}
}

func socketsWhereTheirNameIsTaken(t *testing.T, plant func(path string) error) {
	long, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	long = filepath.Join(long, strings.Repeat("n", ipc.MaxSocketPath))
	d := Dirs{Data: filepath.Join(long, "data"), Config: filepath.Join(long, "config"), Runtime: filepath.Join(long, "run")}
	usual := d.Sockets()
	if usual == d.Runtime {
		t.Fatal("the path of the runtime directory is not too long")
	}
	take := func(path string) {
		t.Helper()
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
	}
	take(usual)
	if err := d.Check(); err != nil {
		t.Errorf("before it is chosen: %v", err)
	}
	chosen := ""
	for range 2 {
		if err := d.Prepare(); err != nil {
			t.Fatal(err)
		}
		now := d.Sockets()
		t.Cleanup(func() { os.Remove(now) })
		if now == usual || now == d.Runtime || len(filepath.Join(now, longestSocket)) > ipc.MaxSocketPath {
			t.Fatalf("sockets are in %s", now)
		}
		if chosen != "" && now != chosen {
			t.Errorf("first %s, then %s", chosen, now)
		}
		chosen = now
		if err := private.Dir(now); err != nil {
			t.Error(err)
		}
	}
	if err := os.Remove(chosen); err != nil { // as the cleaner of a machine does
		t.Fatal(err)
	}
	take(chosen)
	if err := d.Prepare(); err != nil {
		t.Fatal(err)
	}
	next := d.Sockets()
	t.Cleanup(func() { os.Remove(next) })
	if next == chosen || next == usual || next == d.Runtime {
		t.Errorf("where the chosen one is taken too: %s", next)
	}
	// What the file says is believed only if it is a place of that kind.
	for _, text := range []string{"/tmp", shortPrefix() + "../../x", shortPrefix(), "\x00"} {
		if err := os.WriteFile(d.socketsFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := d.chosenSockets(); got != "" {
			t.Errorf("%q is believed: %s", text, got)
		}
	}
}
