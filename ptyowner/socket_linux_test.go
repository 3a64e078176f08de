package ptyowner_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"middleman/terminal"
)

// A socket that somebody has removed or replaced is bound again by its owner, once a client
// misses it. Who was attached does not notice, and only one owner listens.
func TestSocketIsBoundAgain(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("stty -echo; echo READY; read x; echo GOT $x; read x; exit 7")
	before := start(t, b, s, nil)
	session, ctx := b.Session(s.ID), context.Background()
	if err := waitText(session, "READY"); err != nil {
		t.Fatal(err)
	}
	writer, err := session.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64), Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	socket := filepath.Join(data, "sessions", s.ID, "owner.sock")
	var stranger net.Listener
	takeOver := func(l net.Listener, err error) {
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		stranger = l
	}
	for _, damage := range []struct {
		name string
		do   func()
	}{
		{"removed", func() {}},
		{"a file", func() { os.WriteFile(socket, []byte("x"), 0o600) }},
		{"a link", func() { os.Symlink("nowhere", socket) }},
		{"a directory", func() { os.Mkdir(socket, 0o700) }},
		{"a socket of nobody", func() { takeOver(net.Listen("unix", socket)); stranger.Close() }},
		{"a socket of another", func() {
			takeOver(net.Listen("unix", socket))
			go func() {
				for conn, err := stranger.Accept(); err == nil; conn, err = stranger.Accept() {
					conn.Close()
				}
			}()
		}},
		{"removed, after another image took over", func() {
			upgradeOwner(t, b, s.ID, otherImage(t))
			os.Remove(socket)
		}},
	} {
		if err := os.Remove(socket); err != nil {
			t.Fatal(err)
		}
		damage.do()
		var all sync.WaitGroup
		for range 8 {
			other := newBackend()
			all.Go(func() {
				if now, err := other.Session(s.ID).Status(ctx); err != nil || now.PID != before.PID || now.Writer == nil {
					t.Errorf("%s: %+v, %v", damage.name, now, err)
				}
			})
		}
		all.Wait()
		if info, err := os.Lstat(socket); err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Errorf("%s: %v, %v", damage.name, info, err)
		}
		if stranger != nil {
			stranger.Close()
		}
	}
	if err := writer.Input([]byte("here\nend\n")); err != nil {
		t.Fatal(err)
	}
	out, exit, err := collect(writer, 0)
	if err != nil || exit == nil || exit.Code != 7 || !bytes.Contains(out, []byte("GOT here")) {
		t.Errorf("who was attached got %q, %v, %v", out, exit, err)
	}
	b.Wait()
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
}
