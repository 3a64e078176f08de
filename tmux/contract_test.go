//go:build unix

package tmux

import (
	"testing"

	"middleman/terminal"
	"middleman/terminal/backendtest"
)

func TestContract(t *testing.T) {
	needTmux(t)
	backendtest.Run(t, func(t *testing.T) backendtest.Harness {
		b := newBackend(t)
		return backendtest.Harness{New: func() terminal.Backend { return New(b.o) }}
	})
}
