package poll

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// File is an open descriptor, a terminal's or a socket's, that is waited for by
// poll(2), in the thread that uses it. The runtime's poller is woken by whatever happens
// to a descriptor, also each time that the other side has read, and by then the
// goroutine that waits may have lost its thread: that costs a key's echo more
// than all else. One goroutine at a time may read, and one may write; all other
// methods may be called at any time. Errors are those of an *os.File.
type File struct {
	fd     int
	socket bool
	wakes  [2]int // eventfd(2)s that wake who waits to read, to write

	// NoWait makes Read return ErrWait in place of waiting. It is the reader's,
	// as are the next two fields.
	NoWait bool
	turned time.Time     // when turn last gave way
	polled []unix.PollFd // reused
	// expected is until when something is about to come, in nanoseconds since
	// the epoch, or 0; see expect.
	expected atomic.Int64

	mu        sync.Mutex   // guards all below
	deadlines [2]time.Time // to read, to write
	lefts     [2]unix.Timespec
	waiting   [2]bool // somebody waits, or is about to
	users     int     // who use the descriptors now; the last closes them
	closed    bool
}

// ErrWait is what Read returns where it would wait, and must not.
var ErrWait = errors.New("nothing to read yet")

// Directions of a File.
const (
	toRead = iota
	toWrite
)

// NewFile takes over the descriptor fd, which it puts into non-blocking mode.
// socket says that it is one. On error fd is closed.
func NewFile(fd int, socket bool) (*File, error) {
	f := &File{fd: fd, socket: socket}
	err := unix.SetNonblock(fd, true)
	for i := range f.wakes {
		var wakeErr error
		if f.wakes[i], wakeErr = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); wakeErr != nil {
			err = wakeErr
		}
	}
	if err != nil {
		f.free()
		return nil, err
	}
	return f, nil
}

// TakeConn makes a File of a connection, which it takes from the runtime's
// poller: conn is closed, unless there is an error.
func TakeConn(conn *net.UnixConn) (*File, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var dupErr error
	err = raw.Control(func(shared uintptr) { fd, dupErr = unix.FcntlInt(shared, unix.F_DUPFD_CLOEXEC, 3) })
	if err = errors.Join(err, dupErr); err != nil {
		return nil, err
	}
	f, err := NewFile(fd, true)
	if err == nil {
		conn.Close()
	}
	return f, err
}

// appendPoll appends what to wait for to read: the descriptor and the wakes.
func (f *File) appendPoll(fds []unix.PollFd) []unix.PollFd {
	return append(fds, unix.PollFd{Fd: int32(f.fd), Events: unix.POLLIN}, unix.PollFd{Fd: int32(f.wakes[toRead]), Events: unix.POLLIN})
}

// turnTime is how long a goroutine may run for the scheduler, half of what it
// counts as too long.
const turnTime = 5 * time.Millisecond

// turn is called before each wait of a loop that does nothing but system calls.
// The scheduler counts that as running, and after 10 ms it takes the processor
// from the goroutine in every wait, until it has given way once.
func (f *File) turn() {
	if now := time.Now(); now.Sub(f.turned) > turnTime {
		f.turned = now
		runtime.Gosched()
	}
}

// Poke makes AwaitWith return, also where it is about to be called:
// what its caller is to look at may not have been there when it looked last.
func (f *File) Poke() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.wake(toRead)
	}
}

// expectTime is how long an echo is looked for without sleeping: a program that
// takes longer is not worth it, and what a person types costs next to nothing.
const expectTime = 200 * time.Microsecond

// Expect says that something is about to be read, as the echo of a key is. Who
// waits for it stays awake for a moment: to be woken costs as much as all that
// the echo passes through. It does not block.
func (f *File) Expect() {
	f.expected.Store(time.Now().Add(expectTime).UnixNano())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[toRead] && !f.closed {
		f.wake(toRead)
	}
}

// ppoll is ppoll(2), which stays awake while something is expected, and lets
// others run meanwhile.
func (f *File) ppoll(fds []unix.PollFd, left *unix.Timespec) error {
	if until := f.expected.Load(); until != 0 {
		for time.Now().UnixNano() < until {
			if pollNow(fds) {
				return nil
			}
			unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
		f.expected.CompareAndSwap(until, 0)
	}
	_, err := unix.Ppoll(fds, left, nil)
	return err
}

// Descriptor returns the descriptor, which is open until the caller's Release.
func (f *File) Descriptor() int { return f.fd }

// WriteNow writes what f takes without waiting, and returns how much that is. The
// caller has called Acquire.
func (f *File) WriteNow(p []byte) (int, error) { return writeFD(f.fd, p) }

func (f *File) free() {
	for _, fd := range []int{f.fd, f.wakes[toRead], f.wakes[toWrite]} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// Acquire keeps the descriptor open until Release is called; false says that it is
// closed already.
func (f *File) Acquire() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.users++
	return true
}

// Release ends what Acquire began.
func (f *File) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.closed && f.users == 0 {
		f.free()
	}
}

// Close closes the file and wakes whoever waits. A second call is os.ErrClosed.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	f.closed = true
	if f.users == 0 {
		f.free()
		return nil
	}
	if f.socket {
		unix.Shutdown(f.fd, unix.SHUT_RDWR)
	}
	for direction, waiting := range f.waiting {
		if waiting {
			f.wake(direction)
		}
	}
	return nil
}

// CloseWrite ends the stream to the other side of a socket.
func (f *File) CloseWrite() error {
	if !f.Acquire() {
		return os.ErrClosed
	}
	defer f.Release()
	return unix.Shutdown(f.fd, unix.SHUT_WR)
}

var oneWake = binary.NativeEndian.AppendUint64(nil, 1)

// wake makes who waits look again. Called with mu held, or by a user.
func (f *File) wake(direction int) { unix.Write(f.wakes[direction], oneWake) }

// looked ends what left began; woken says that a wake has come.
func (f *File) looked(direction int, woken bool) {
	if woken {
		var count [8]byte
		ReadNow(f.wakes[direction], count[:])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting[direction] = false
}

func (f *File) setDeadline(direction int, t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	f.deadlines[direction] = t
	if f.waiting[direction] {
		f.wake(direction)
	}
	return nil
}

// SetReadDeadline sets until when Read may wait; the zero time is for ever. Who
// waits already is told.
func (f *File) SetReadDeadline(t time.Time) error { return f.setDeadline(toRead, t) }

// SetWriteDeadline is SetReadDeadline for Write.
func (f *File) SetWriteDeadline(t time.Time) error { return f.setDeadline(toWrite, t) }

// SetDeadline is SetReadDeadline for Read and Write.
func (f *File) SetDeadline(t time.Time) error {
	f.setDeadline(toRead, t)
	return f.setDeadline(toWrite, t)
}

// left is the time until a direction's deadline, nil for ever. Without an error
// who waits is woken by changes until it calls looked.
func (f *File) left(direction int, waits bool) (*unix.Timespec, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, os.ErrClosed
	}
	t := f.deadlines[direction]
	var wait *unix.Timespec // of the direction's one user
	if !t.IsZero() {
		d := time.Until(t)
		if d <= 0 {
			return nil, os.ErrDeadlineExceeded
		}
		f.lefts[direction] = unix.NsecToTimespec(d.Nanoseconds())
		wait = &f.lefts[direction]
	}
	f.waiting[direction] = waits
	return wait, nil
}

// wait waits until a direction has come, or its deadline, or the end. Called
// by a user.
func (f *File) wait(direction int) error {
	events := [...]int16{toRead: unix.POLLIN, toWrite: unix.POLLOUT}
	for {
		left, err := f.left(direction, true)
		if err != nil {
			return err
		}
		fds := [...]unix.PollFd{
			{Fd: int32(f.fd), Events: events[direction]},
			{Fd: int32(f.wakes[direction]), Events: unix.POLLIN},
		}
		_, err = unix.Ppoll(fds[:], left, nil)
		f.looked(direction, err == nil && fds[1].Revents != 0)
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("ppoll", err)
		}
		if err == nil && fds[0].Revents != 0 {
			return nil
		}
	}
}

// Read blocks until there is something to read, the deadline, or Close. io.EOF says
// that nothing more will come.
func (f *File) Read(p []byte) (n int, err error) {
	rawErr := f.use(toRead, func(fd uintptr) bool {
		n, err = ReadNow(int(fd), p)
		if err == unix.EAGAIN && f.NoWait {
			err = ErrWait
		}
		return err != unix.EAGAIN && err != unix.EINTR
	})
	switch {
	case rawErr != nil:
		return 0, rawErr
	case err == nil && n == 0 && len(p) > 0:
		return 0, f.orClosed(io.EOF)
	}
	return n, f.orClosed(err)
}

// Write blocks until all of p is written. With an error the first n bytes were.
func (f *File) Write(p []byte) (n int, err error) {
	rawErr := f.use(toWrite, func(fd uintptr) bool {
		for err = nil; n < len(p) && err == nil; {
			var k int
			if k, err = writeFD(int(fd), p[n:]); err == nil {
				n += k
			}
		}
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if rawErr != nil {
		return n, rawErr
	}
	return n, f.orClosed(err)
}

// orClosed is err, or what to say instead where Close was faster: it ends the
// stream under who uses it.
func (f *File) orClosed(err error) error {
	if err == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	return err
}

// use calls done for the descriptor until it returns true, and waits between
// calls. A deadline that has passed is an error before the first.
func (f *File) use(direction int, done func(fd uintptr) bool) error {
	if !f.Acquire() {
		return os.ErrClosed
	}
	defer f.Release()
	if _, err := f.left(direction, false); err != nil {
		return err
	}
	for !done(uintptr(f.fd)) {
		if err := f.wait(direction); err != nil {
			return err
		}
	}
	return nil
}

// SyscallConn returns what implements syscall.RawConn.
func (f *File) SyscallConn() (syscall.RawConn, error) { return rawFile{f}, nil }

type rawFile struct{ f *File }

func (r rawFile) Control(f func(fd uintptr)) error {
	if !r.f.Acquire() {
		return os.ErrClosed
	}
	defer r.f.Release()
	f(uintptr(r.f.fd))
	return nil
}

func (r rawFile) Read(done func(fd uintptr) bool) error  { return r.f.use(toRead, done) }
func (r rawFile) Write(done func(fd uintptr) bool) error { return r.f.use(toWrite, done) }
