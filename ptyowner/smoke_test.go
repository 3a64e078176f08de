package ptyowner_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"middleman/ptyowner"
	"middleman/terminal"
)

func newBackend(t *testing.T) *ptyowner.Backend {
	dir := t.TempDir()
	return ptyowner.New(ptyowner.Options{Data: dir, Sessions: filepath.Join(dir, "sessions"), Runtime: filepath.Join(dir, "run")})
}

func TestSmoke(t *testing.T) {
	b := newBackend(t)
	ctx := context.Background()
	t0 := time.Now()
	st, err := b.Start(ctx, terminal.Spec{ID: terminal.NewID("s"), Argv: []string{"/bin/sh", "-c", "echo hello; read x; echo got $x; exit 7"}, Dir: "/", Size: terminal.DefaultSize, Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(time.Since(t0), st)
	s := b.Session(st.ID)
	a, err := s.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeAttach, Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%+v\n", a.Hello())
	a.Input([]byte("abc\r"))
	for {
		m, err := a.Receive()
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%d %d %q %+v %+v\n", m.Kind, m.Offset, m.Data, m.Event, m.Exit)
	}
	a.Close()
	fmt.Println(s.Status(ctx))
	if err := s.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	b.Wait()
}
