package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"middleman/cmd/middleman/internal/quit"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/terminal"
)

// The exit codes of the command line. attach, run and wait --exit also return
// the program's own.
const (
	exitOK           = 0
	exitError        = 1
	exitUsage        = 2
	exitChanged      = 3
	exitTimeout      = 124
	exitInterrupted  = 130
	exitQuit         = quit.Status
	exitDisconnected = 254
	exitNotAttached  = 255
)

// usageError says that the command line itself is wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Usagef makes an error for a wrong command line, formatted as by fmt.Errorf.
// Its exit code is 2.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// ProgramExit makes the command exit like the program did. Its exit code is the
// program's, and no message is printed.
type ProgramExit struct{ Exit terminal.Exit }

func (e *ProgramExit) Error() string {
	return fmt.Sprintf("the program exited with %d", e.Exit.Status())
}

// NotAttachedError says why a session could not be attached at all. Its exit
// code is 255.
type NotAttachedError struct{ Err error }

func (e *NotAttachedError) Error() string { return e.Err.Error() }
func (e *NotAttachedError) Unwrap() error { return e.Err }

// interruptedError says what goes on after an interrupt. Its exit code is 130.
type interruptedError struct {
	err    error
	goesOn string
}

func (e *interruptedError) Error() string { return "interrupted: " + e.goesOn }
func (e *interruptedError) Unwrap() error { return e.err }

// Interrupted returns err. If that is an interrupt, its message tells what goes on
// nevertheless.
func Interrupted(err error, goesOn string) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return &interruptedError{err, goesOn}
}

// ErrTimeout says that the awaited event did not come in time. Its exit code is
// 124.
var ErrTimeout = errors.New("timed out")

// unseen are the codes of input that was refused because of the screen.
var unseen = []string{api.CodeChanged, api.CodeDialog, api.CodeNotSubmitted}

// exitCode returns the exit code for a command's error. It is the only place
// that chooses one.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*ProgramExit](err); ok {
		return e.Exit.Status()
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*NotAttachedError](err); ok {
		return exitNotAttached
	}
	switch p, _ := errors.AsType[*api.Problem](err); {
	case errors.Is(err, terminal.ErrChanged) || p != nil && slices.Contains(unseen, p.Code):
		return exitChanged
	case errors.Is(err, ErrTimeout):
		return exitTimeout
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, viewer.ErrDisconnected):
		return exitDisconnected
	}
	return exitError
}

// maxMessage bounds a message in bytes: it may quote what was typed, of any
// length.
const maxMessage = 4 << 10

// Message returns an error as one line, with a hint to flags that help. It leaves
// out the middle of what is too long.
func Message(err error) string {
	text := strings.Join(strings.FieldsFunc(terminal.Plain(err.Error()), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	if len(text) > maxMessage {
		head, tail := text[:maxMessage/2], text[len(text)-maxMessage/2:]
		text = strings.ToValidUTF8(head, "") + " [...] " + strings.ToValidUTF8(tail, "")
	}
	if _, told := errors.AsType[*interruptedError](err); !told && errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if p, ok := errors.AsType[*api.Problem](err); ok {
		switch p.Code {
		case api.CodeNotRepository:
			return text + " (use --mode directory for an empty directory, or --mode in-place for this one)"
		case api.CodeTeardown:
			return text + "; the workspace was not deleted: rm --skip-teardown deletes it without the teardown"
		case api.CodeWriterBusy:
			return text + " (attach --takeover, or watch)"
		}
	}
	return text
}
