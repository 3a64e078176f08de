//go:build unix

package ptyowner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/ptyowner/owner"
	"middleman/terminal"
	"middleman/terminal/backendtest"
	"middleman/tmux"
)

// programs are what the test binary can be told to be, by its first argument.
var programs = map[string]func(args []string) int{"viewer": viewerProgram}

// The test binary is its own owner, as middleman is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "pty-owner" {
		readStallTime(os.Args[len(os.Args)-1])
		os.Exit(owner.Main(os.Args[2:], "test", tmux.Host{}))
	}
	if tmux.IsHelper(os.Args[1:]) {
		os.Exit(tmux.Main(os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == bytesProgram {
		os.Exit(printBytes(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == knockProgram {
		os.Exit(knockAtOwner(os.Args[2]))
	}
	if backendtest.IsProgram() {
		os.Exit(backendtest.Main())
	}
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		os.Exit(programs[os.Args[1]](os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// newBackends returns a maker of Backends on the same directories. When the
// test ends, every process that was started has ended too.
func newBackends(t *testing.T) (data string, make func() *ptyowner.Backend) {
	t.Helper()
	data = testenv.ShortDir(t)
	var made []*ptyowner.Backend
	t.Cleanup(func() { // after whoever calls this has stopped its sessions
		for _, b := range made {
			b.Wait()
		}
		testenv.CheckProcesses(t, data)
	})
	return data, func() *ptyowner.Backend {
		b := newBackend(t, ptyowner.Options{
			Data:     data,
			Sessions: filepath.Join(data, "sessions"),
			Runtime:  filepath.Join(data, "run"),
		})
		made = append(made, b)
		return b
	}
}

func TestContract(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backendtest.Harness {
		data, newBackend := newBackends(t)
		return backendtest.Harness{
			New: func() terminal.Backend { return newBackend() },
			Viewer: func(id string, from uint64) []string {
				return []string{os.Args[0], "viewer", data, id, strconv.FormatUint(from, 10)}
			},
			SocketDir: func() string { return testenv.ShortDir(t) },
		}
	})
}

// viewerProgram watches a session from an offset and prints its output.
func viewerProgram(args []string) int {
	err := printOutput(args[0], args[1], args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func printOutput(data, id, offset string) error {
	from, err := strconv.ParseUint(offset, 10, 64)
	if err != nil {
		return err
	}
	b := ptyowner.New(withHost(ptyowner.Options{
		Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: filepath.Join(data, "run"),
	}))
	a, err := b.Session(id).Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &from})
	if err != nil {
		return err
	}
	defer a.Close()
	for {
		m, err := a.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Kind == terminal.MessageSnapshot:
			return fmt.Errorf("a snapshot as of %d came, where all is kept", m.Offset)
		}
		if _, err := os.Stdout.Write(m.Data); err != nil {
			return err
		}
	}
}
