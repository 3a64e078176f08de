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
	"time"

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

// endTime is how long the owners of a test may take to end after it. One that nobody has
// stopped never does, and would hide what the test has said.
const endTime = time.Minute

// newBackends returns a maker of Backends on the same directories. When the
// test ends, every process that was started has ended too.
func newBackends(t *testing.T) (data string, make func() *ptyowner.Backend) {
	t.Helper()
	data = testenv.ShortDir(t)
	var made []*ptyowner.Backend
	t.Cleanup(func() { // after whoever calls this has stopped its sessions
		awaitOwners(t, made)
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

// awaitOwners blocks until the owners that backends have started have ended.
func awaitOwners(t *testing.T, backends []*ptyowner.Backend) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		for _, b := range backends {
			b.Wait()
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endTime):
		t.Errorf("after %v an owner goes on: the test did not stop its session", endTime)
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
