package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"middleman/terminal/host"
)

var errNoTmux = fmt.Errorf("tmux on Windows: %w", errors.ErrUnsupported)

// Server stands for the private tmux server, which Windows does not have.
type Server struct{}

var _ host.Provider = (*Server)(nil)

// New returns a Server that is not usable.
func New(Options) *Server { return &Server{} }

// Name implements host.Provider.
func (*Server) Name() string { return Name }

// Usable returns a wrapped errors.ErrUnsupported.
func (*Server) Usable(context.Context) error { return errNoTmux }

// Config returns a wrapped errors.ErrUnsupported.
func (*Server) Config(context.Context) (json.RawMessage, error) { return nil, errNoTmux }

// Reap returns nothing.
func (*Server) Reap(context.Context, func(id string) (bool, error)) ([]string, error) {
	return nil, nil
}

// Complaint returns "".
func (*Server) Complaint() string { return "" }

// ByHand returns a wrapped errors.ErrUnsupported.
func (*Server) ByHand(context.Context, string) (string, error) { return "", errNoTmux }

// Host starts no sessions on Windows.
type Host struct{}

var _ host.Host = Host{}

// Name implements host.Host.
func (Host) Name() string { return Name }

// Start returns a wrapped errors.ErrUnsupported.
func (Host) Start(host.Program) (host.Terminal, int, string, error) {
	return nil, 0, "find tmux", &host.Fault{Err: errNoTmux}
}

// Adopt returns a wrapped errors.ErrUnsupported.
func (Host) Adopt() (host.Terminal, int, error) { return nil, 0, errNoTmux }

// Resume returns a wrapped errors.ErrUnsupported.
func (Host) Resume([]uintptr, json.RawMessage) (host.Terminal, error) { return nil, errNoTmux }

func runPane(string, string) error { return errNoTmux }

func runPipe(string) error { return errNoTmux }
