package tmux_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"middleman/ptyowner"
	"middleman/ptyowner/owner"
	"middleman/terminal"
	"middleman/tmux"
)

// A program that hosts sessions begins by being its own owner and helper.
func Example() {
	if len(os.Args) > 1 && os.Args[1] == "pty-owner" {
		os.Exit(owner.Main(os.Args[2:], "example", tmux.Host{}))
	}
	if tmux.IsHelper(os.Args[1:]) {
		os.Exit(tmux.Main(os.Args[1:]))
	}
	home, err := os.MkdirTemp("/tmp", "example") // short, for the sockets in it
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	ctx := context.Background()
	sessions, runtime := filepath.Join(home, "sessions"), filepath.Join(home, "run")
	backend := ptyowner.New(ptyowner.Options{
		Data: home, Sessions: sessions, Runtime: runtime,
		Host: tmux.New(tmux.Options{Sessions: sessions, Runtime: runtime}),
	})
	if err := backend.Usable(ctx); err != nil {
		fmt.Println(err) // no tmux here: without a Host the owner has a PTY
		return
	}
	status, err := backend.Start(ctx, terminal.Spec{
		ID: terminal.NewID("s"), Argv: []string{"/bin/sh"}, Dir: "/", Size: terminal.DefaultSize,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	session := backend.Session(status.ID)
	if err := session.Input(ctx, []byte("exit 7\n")); err != nil {
		fmt.Println(err)
	}
	if err := session.Stop(ctx, 0); err != nil {
		fmt.Println(err)
	}
}
