package host

import (
	"encoding/json"
	"sync"
	"time"

	"middleman/terminal"
)

// Host starts programs, each on a terminal of its own.
type Host interface {
	// Name is what is recorded with each session.
	Name() string
	// Start opens a terminal and starts the program on it. On error nothing
	// runs, and step says what did not work.
	Start(p Program) (t Terminal, pid int, step string, err error)
	// Adopt goes on with a program whose owner was killed, where the host
	// outlives that: it runs this process then, with AdoptArg as argument.
	Adopt() (t Terminal, pid int, err error)
	// Resume goes on with the terminal that an earlier image of this process
	// had: with what its Export returned. The descriptors stay open, for the
	// image that goes back.
	Resume(fds []uintptr, state json.RawMessage) (Terminal, error)
}

// Program is what a host starts.
type Program struct {
	Spec terminal.Spec
	// Size is the terminal's first.
	Size terminal.Size
	// Umask and CoreLimit, the soft limit of core files, are the program's.
	Umask     int
	CoreLimit uint64
	// Dir is the session's state directory. Socket is where the host may
	// listen until the program runs.
	Dir, Socket string
	// Config is the host's own, as the session's starter had it.
	Config json.RawMessage
	// Again is the standard input of an owner that replaces this one.
	Again []byte
}

// Terminal is a program's terminal, as its owner has it. Its methods are safe
// for concurrent use. Close wakes whoever blocks in one.
type Terminal interface {
	// Await blocks until ReadNow may have something. io.EOF says that no more
	// will come, ErrGap that some was lost here. One goroutine calls it.
	Await() error
	// ReadNow takes the output that there is, up to len(p) and perhaps none,
	// without waiting for it. io.EOF says that no more will come. It is called
	// by one goroutine at a time.
	ReadNow(p []byte) (n int, err error)
	// Readable reports whether there is output to read.
	Readable() bool
	// Write types all of p, without a break by another writer. With an error
	// only the first n bytes were typed.
	Write(p []byte) (n int, err error)
	// WriteIf waits until nobody else types, and calls may. If that returns nil
	// it types as much of p as the terminal takes without waiting for the
	// program. It returns may's error, and no error where it typed a part.
	WriteIf(p []byte, may func() error) (n int, err error)
	// WriteHeld is WriteIf of at most terminal.MaxHeld bytes, for which the
	// program's output is held from before may is called until it has begun to
	// read them: see TypeHeld.
	WriteHeld(p []byte, may func() error) (n int, err error)
	// SetSize changes the terminal's size; the program is signalled.
	SetSize(s terminal.Size) error
	// Foreground is the process group that the terminal's keys signal, 0 where
	// there is none.
	Foreground() int
	// Answers reports whether the host answers what a program asks of its
	// terminal. Nobody else does then.
	Answers() bool

	// Root is the process below which all hangs that the program starts, 0
	// where that has ended, and one below it that is not the session's, or 0.
	Root() (root, spare int)
	// Reap tells of each process of the session that has ended and was waited
	// for, until stop is called. Both happen with mu held, so that nobody who
	// holds it signals a process id that is not the session's any more. lost
	// is called, with mu held too, where no more will be told, be it of the
	// program or of what that has left.
	Reap(mu sync.Locker, ended func(pid int, status WaitStatus), lost func()) (stop func())
	// LetEnd says that the program has ended: reading comes to the end of its
	// output.
	LetEnd()
	// Quiet is how long nothing must come after LetEnd for all to have come,
	// where reading does not say so.
	Quiet() time.Duration
	// Done says that the exit is on disk: the owner may end.
	Done()

	// SetDeadline makes Await and Write return os.ErrDeadlineExceeded from t on;
	// the zero time makes them block again.
	SetDeadline(t time.Time) error
	// Export is what Resume goes on from. The descriptors stay the terminal's.
	Export() (fds []uintptr, state json.RawMessage, err error)
	Close() error
}
