package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/terminal"
)

func TestExitCode(t *testing.T) {
	tests := []struct {
		name string
		in   error
		want int
	}{
		{"success", nil, 0},
		{"error", errors.New("x"), 1},
		{"problem", &api.Problem{Detail: "x"}, 1},
		{"usage", Usagef("x"), 2},
		{"another screen", fmt.Errorf("type: %w", terminal.ErrChanged), 3},
		{"time-out", fmt.Errorf("wait: %w", ErrTimeout), 124},
		{"interrupted", fmt.Errorf("ask: %w", context.Canceled), 130},
		{"program's zero", &ProgramExit{terminal.Exit{}}, 0},
		{"program's code", &ProgramExit{terminal.Exit{Code: 42}}, 42},
		{"program's signal", fmt.Errorf("x: %w", &ProgramExit{terminal.Exit{Code: -1, Signal: 9}}), 137},
		{"disconnected", fmt.Errorf("%w: gone", viewer.ErrDisconnected), 254},
		{"not attached", &NotAttachedError{terminal.ErrNotFound}, 255},
		{"not attached, interrupted", &NotAttachedError{context.Canceled}, 255},
	}
	for _, tt := range tests {
		if got := exitCode(tt.in); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestMessageIsOneLine(t *testing.T) {
	got := Message(errors.Join(errors.New("one\r\n"), errors.New("two")))
	if got != "one; two" {
		t.Errorf("got %q", got)
	}
	p := &api.Problem{Detail: "here: not a git repository", Code: api.CodeNotRepository}
	if got := Message(p); got != "here: not a git repository (use --mode directory for an empty directory, or --mode in-place for this one)" {
		t.Errorf("got %q", got)
	}
}
