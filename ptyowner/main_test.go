//go:build unix

package ptyowner_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/terminal/backendtest"
	"middleman/tmux"
)

// programs are what the test binary can be told to be, by its first argument.
var programs = map[string]func(args []string) int{}

// The test binary is its own owner, as middleman is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "pty-owner" {
		readStallTime(os.Args[len(os.Args)-1])
		os.Exit(ptyowner.Main(os.Args[2:], "test", tmux.Host{}))
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
// test ends, every owner that was started has ended too.
func newBackends(t *testing.T) (data string, make func() *ptyowner.Backend) {
	t.Helper()
	data = testenv.ShortDir(t)
	var made []*ptyowner.Backend
	t.Cleanup(func() { // after whoever calls this has stopped its sessions
		for _, b := range made {
			b.Wait()
		}
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
		_, newBackend := newBackends(t)
		return backendtest.Harness{New: func() terminal.Backend { return newBackend() }}
	})
}
