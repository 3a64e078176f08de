package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"middleman/terminal"
)

var errNoTmux = fmt.Errorf("tmux on Windows: %w", errors.ErrUnsupported)

// Backend hosts sessions on a private tmux server. There is none on Windows:
// Usable says so, List finds nothing, and no session exists.
type Backend struct{}

// New returns a Backend that is not usable.
func New(Options) *Backend { return &Backend{} }

// Name implements terminal.Backend.
func (*Backend) Name() string { return Name }

// Usable returns a wrapped errors.ErrUnsupported.
func (*Backend) Usable(context.Context) error { return errNoTmux }

// Capabilities implements terminal.Backend.
func (*Backend) Capabilities() terminal.Capabilities { return terminal.Capabilities{} }

// Start returns a *terminal.StartError that wraps errors.ErrUnsupported.
func (*Backend) Start(_ context.Context, spec terminal.Spec) (terminal.Status, error) {
	return terminal.Status{}, &terminal.StartError{Session: spec.ID, Step: "usable", Err: errNoTmux}
}

// List returns none.
func (*Backend) List(context.Context) ([]string, error) { return nil, nil }

// Session returns a session whose methods return terminal.ErrNotFound.
func (*Backend) Session(id string) terminal.Session { return session{id} }

type session struct{ id string }

func (s session) missing() error { return fmt.Errorf("session %s: %w", s.id, terminal.ErrNotFound) }

func (s session) Status(context.Context) (terminal.Status, error) {
	return terminal.Status{}, s.missing()
}

func (s session) Attach(context.Context, terminal.AttachOptions) (terminal.Attachment, error) {
	return nil, s.missing()
}

func (s session) Input(context.Context, []byte) error { return s.missing() }

func (s session) Capture(context.Context, terminal.CaptureOptions) (terminal.Capture, error) {
	return terminal.Capture{}, s.missing()
}

func (s session) Output(context.Context, uint64) (io.ReadCloser, error) { return nil, s.missing() }

func (s session) OffsetAt(context.Context, time.Time) (uint64, error) { return 0, s.missing() }

func (s session) Recording(context.Context) (io.ReadCloser, error) { return nil, s.missing() }

func (s session) Stop(context.Context, time.Duration) error { return s.missing() }

func (s session) Remove(context.Context) error { return s.missing() }

func runLauncher(string) error { return errNoTmux }

func runJournal(string) error { return errNoTmux }

func runPane(string, string) error { return errNoTmux }

func runPipe(string) error { return errNoTmux }
