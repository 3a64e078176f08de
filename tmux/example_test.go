package tmux_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"middleman/terminal"
	"middleman/tmux"
)

// A program that hosts sessions begins by being its own helper.
func Example() {
	if tmux.IsHelper(os.Args[1:]) {
		os.Exit(tmux.Main(os.Args[1:]))
	}
	home, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	ctx := context.Background()
	backend := tmux.New(tmux.Options{
		Sessions: filepath.Join(home, "sessions"),
		Runtime:  filepath.Join(home, "run"),
	})
	if err := backend.Usable(ctx); err != nil {
		fmt.Println(err) // no tmux here: use the pty-owner
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
