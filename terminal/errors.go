package terminal

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors that callers branch on; test with errors.Is.
var (
	// ErrNotFound: there is no such session, and no state of one.
	ErrNotFound = errors.New("no such session")
	// ErrGone: the session is proved dead; its state may be cleaned.
	ErrGone = errors.New("session is gone")
	// ErrUnreachable: nobody answered. That proves nothing; touch nothing.
	ErrUnreachable = errors.New("session does not answer")
	// ErrEnded: the program has ended, so it cannot be typed at or resized.
	ErrEnded = errors.New("session has ended")
	// ErrRunning: refused because the program still runs.
	ErrRunning = errors.New("session is running")
	// ErrNotWriter: a watcher neither types nor resizes.
	ErrNotWriter = errors.New("not the attached writer")
	// ErrRange: an offset beyond the session's head.
	ErrRange = errors.New("offset is beyond the output")
	// ErrChanged: input was refused, because what it was meant for is not on the
	// screen any more, or output came too recently. Nothing was typed.
	ErrChanged = errors.New("not typed: the screen is not the expected one")
	// ErrTooLong: more input than can be typed where something is expected.
	ErrTooLong = errors.New("too long to be typed at once")
	// ErrTooManyViewers: the session has as many watchers as it takes.
	ErrTooManyViewers = errors.New("too many viewers")
)

// StartError says which step of a start failed. Nothing is left behind.
type StartError struct {
	Session string
	Step    string
	Err     error
	// Host: it is proved that nothing was started and that the backend failed,
	// before it had to do with the program or its directory: another one may
	// well start it.
	Host bool
}

func (e *StartError) Error() string {
	return fmt.Sprintf("start session %s: %s: %v", e.Session, e.Step, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// BusyError refuses a second writer and says who the first is.
type BusyError struct {
	Session string
	Writer  Writer
}

func (e *BusyError) Error() string {
	who := "another viewer"
	if e.Writer.Client != "" {
		who += " (" + e.Writer.Client + ")"
	}
	return fmt.Sprintf("session %s is attached by %s since %s; take over, or watch it",
		e.Session, who, e.Writer.Since.Local().Format(time.DateTime))
}

// TrimmedError says that an offset is no longer kept.
type TrimmedError struct {
	Offset, Oldest uint64
}

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("output from offset %d is no longer kept, the oldest is %d", e.Offset, e.Oldest)
}

// Gap reports whether err says that output is missing which was never kept,
// since a disk was full, and from which offset to which.
func Gap(err error) (from, to uint64, ok bool) {
	gap, ok := errors.AsType[interface {
		error
		Gap() (from, to uint64)
	}](err)
	if ok {
		from, to = gap.Gap()
	}
	return from, to, ok
}

// NotReadError says that the program does not read what is typed, so that only
// the first bytes of it were typed, or none.
type NotReadError struct {
	Session string
	Typed   int // bytes
}

func (e *NotReadError) Error() string {
	return fmt.Sprintf("session %s: the program does not read its input: %d bytes were typed, and no more", e.Session, e.Typed)
}

// LeftoverError names the processes that a stop could not end. Without any, something
// in the session's sandbox lives that was not found.
type LeftoverError struct {
	Session string
	PIDs    []int
}

func (e *LeftoverError) Error() string {
	if len(e.PIDs) == 0 {
		return fmt.Sprintf("stop session %s: something in its sandbox still runs, and is not found", e.Session)
	}
	ids := make([]string, len(e.PIDs))
	for i, pid := range e.PIDs {
		ids[i] = fmt.Sprint(pid)
	}
	return fmt.Sprintf("stop session %s: still running after SIGKILL: process %s", e.Session, strings.Join(ids, ", "))
}
