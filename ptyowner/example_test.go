//go:build unix

package ptyowner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"middleman/ptyowner"
	"middleman/terminal"
)

// A session outlives whoever started it: only its program ends it, or a stop.
func ExampleBackend() {
	data, err := os.MkdirTemp("/tmp", "example") // short, for the sockets in it
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(data)
	b := ptyowner.New(ptyowner.Options{Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: data})
	ctx := context.Background()
	id := terminal.NewID("s")
	_, err = b.Start(ctx, terminal.Spec{
		ID: id, Argv: []string{"/bin/sh", "-c", "stty -echo; read name; echo hello $name; exit 3"},
		Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/", Size: terminal.DefaultSize, Grace: time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}

	session := ptyowner.New(ptyowner.Options{Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: data}).Session(id)
	viewer, err := session.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64)})
	if err != nil {
		log.Fatal(err)
	}
	defer viewer.Close()
	if err := viewer.Input([]byte("world\r")); err != nil {
		log.Fatal(err)
	}
	for {
		m, err := viewer.Receive()
		switch {
		case errors.Is(err, io.EOF): // after the last message
			b.Wait()
			return
		case err != nil:
			log.Fatal(err)
		case m.Kind == terminal.MessageExit:
			c, err := session.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatText})
			if err != nil {
				log.Fatal(err)
			}
			text := strings.TrimSpace(string(c.Data))
			fmt.Printf("%s\nexit code %d\n", text[strings.Index(text, "hello"):], m.Exit.Code)
		}
	}
	// Output:
	// hello world
	// exit code 3
}
