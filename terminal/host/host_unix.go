//go:build unix

package host

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// Host starts programs, each on a terminal of its own.
type Host interface {
	// Start opens a terminal and starts the program on it. On error nothing
	// runs, and step says what did not work.
	Start(p Program) (t Terminal, pid int, step string, err error)
	// Resume goes on with the terminal that an earlier image of this process
	// had: fds are those that its Descriptors returned. They stay open, for the
	// image that goes back.
	Resume(fds []uintptr) (Terminal, error)
}

// Program is what a host starts.
type Program struct {
	Spec terminal.Spec
	// Size is the terminal's first.
	Size terminal.Size
	// Umask and CoreLimit, the soft limit of core files, are the program's.
	Umask     int
	CoreLimit uint64
}

// Terminal is a program's terminal, as its owner has it. Its methods are safe
// for concurrent use. Close wakes whoever blocks in one.
type Terminal interface {
	// Read blocks for output and takes as much as there is, up to len(p).
	// io.EOF says that no more will come.
	Read(p []byte) (n int, err error)
	// Readable reports whether there is output to read.
	Readable() bool
	// Write types all of p, without a break by another writer. With an error
	// only the first n bytes were typed.
	Write(p []byte) (n int, err error)
	// SetSize changes the terminal's size; the program is signalled.
	SetSize(s terminal.Size) error
	// Foreground is the process group that the terminal's keys signal, 0 where
	// there is none.
	Foreground() int
	// Answers reports whether the host answers what a program asks of its
	// terminal. Nobody else does then.
	Answers() bool

	// Reap tells of each process of the session that has ended and was waited
	// for, until stop is called. Both happen with mu held, so that nobody who
	// holds it signals a process id that is not the session's any more.
	Reap(mu sync.Locker, ended func(pid int, status unix.WaitStatus)) (stop func())
	// LetEnd says that the program has ended: Read comes to the end when no
	// process holds the terminal any more.
	LetEnd()

	// SetDeadline makes Read and Write return os.ErrDeadlineExceeded from t on;
	// the zero time makes them block again.
	SetDeadline(t time.Time) error
	// Descriptors are those that Resume goes on from, in its order. They stay
	// the terminal's.
	Descriptors() ([]uintptr, error)
	Close() error
}
