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

// File is an open descriptor of a terminal or a socket. It waits with poll(2),
// in the thread that uses it. The runtime's poller wakes up for every event of
// a descriptor, even when the other side has only read. By then the waiting
// goroutine may have lost its thread, which costs a key's echo more than all
// else. One goroutine at a time may read, and one may write; all other methods
// may be called at any time. Its errors are those of an *os.File.
type File struct {
	fd     int
	socket bool
	wakes  [2]int // eventfd(2)s that wake the goroutine that waits to read, to write

	// NoWait makes Read return ErrWait instead of waiting. Only the goroutine
	// that reads may use it and the next two fields.
	NoWait bool
	turned time.Time     // when turn last yielded
	polled []unix.PollFd // reused
	// expected is until when ppoll busy-waits, in nanoseconds since the epoch,
	// or 0; see Expect.
	expected atomic.Int64
	skips    atomic.Int32 // how many calls of Expect are still to do nothing
	lost     uint         // how often busy-waiting lost the processor lately

	mu        sync.Mutex   // guards all below
	deadlines [2]time.Time // to read, to write
	lefts     [2]unix.Timespec
	waiting   [2]bool // a goroutine waits, or is about to
	users     int     // calls of Acquire without their Release; the last Release closes the descriptors
	closed    bool
}

// ErrWait is what Read returns if NoWait is set and there is nothing to read.
var ErrWait = errors.New("nothing to read yet")

// The directions of a File.
const (
	toRead = iota
	toWrite
)

// NewFile takes over the descriptor fd and puts it into non-blocking mode.
// socket tells whether it is a socket. On error NewFile closes fd.
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

// TakeConn makes a File of a connection, outside of the runtime's poller. It
// closes conn, except on error.
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

// appendPoll appends the two descriptors to wait for before a read: the file
// and its eventfd.
func (f *File) appendPoll(fds []unix.PollFd) []unix.PollFd {
	return append(fds, unix.PollFd{Fd: int32(f.fd), Events: unix.POLLIN}, unix.PollFd{Fd: int32(f.wakes[toRead]), Events: unix.POLLIN})
}

// turnTime is how long a goroutine runs before turn yields: half of the time
// after which the scheduler preempts it.
const turnTime = 5 * time.Millisecond

// turn must be called before each wait of a loop that only makes system calls.
// The scheduler counts such a goroutine as running. After 10 ms it takes the
// processor from the goroutine at every wait, until the goroutine has yielded
// once.
func (f *File) turn() {
	if now := time.Now(); now.Sub(f.turned) > turnTime {
		f.turned = now
		runtime.Gosched()
	}
}

// Poke makes AwaitWith return, now or when it is called next, so that its
// caller looks again for what to wait for.
func (f *File) Poke() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.wake(toRead)
	}
}

// expectTime is how long ppoll busy-waits for an echo. It does not pay for a
// slower program, and for typed keys it costs next to nothing.
const expectTime = 200 * time.Microsecond

// maxLost bounds lost, and so how long a busy machine is believed to be busy:
// 1<<maxLost calls of Expect.
const maxLost = 6

// Expect announces that something can be read soon, such as the echo of a key.
// The goroutine that waits for it then busy-waits for a moment, because a
// wake-up costs as much as the echo's whole way. On a busy machine it does not:
// others would get the processor then, for milliseconds, while a process that
// sleeps is woken at once. Expect does not block.
func (f *File) Expect() {
	if f.skips.Load() > 0 {
		f.skips.Add(-1)
		return
	}
	f.expected.Store(time.Now().Add(expectTime).UnixNano())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[toRead] && !f.closed {
		f.wake(toRead)
	}
}

// ppoll is ppoll(2), but busy-waits while something is expected. It yields the
// processor between looks.
func (f *File) ppoll(fds []unix.PollFd, left *unix.Timespec) error {
	if until := f.expected.Load(); until != 0 {
		if f.busyWait(fds, until) {
			return nil
		}
		f.expected.CompareAndSwap(until, 0)
	}
	_, err := unix.Ppoll(fds, left, nil)
	return err
}

// busyWait waits until a time for one of fds, and reports whether one is ready.
// It gives up when another process has had the processor for long.
func (f *File) busyWait(fds []unix.PollFd, until int64) bool {
	for now := time.Now().UnixNano(); now < until; {
		if pollNow(fds) {
			f.lost -= min(f.lost, 1)
			return true
		}
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		before := now
		if now = time.Now().UnixNano(); f.isLost(time.Duration(now - before)) {
			return false
		}
	}
	return false
}

// isLost reports whether a look and a yield that took d mean that another
// process got the processor for long. Then the next calls of Expect do nothing:
// the more of them, the more often that was.
func (f *File) isLost(d time.Duration) bool {
	if d <= expectTime {
		return false
	}
	f.lost = min(f.lost+1, maxLost)
	f.skips.Store(1 << f.lost)
	return true
}

// WriteNow writes as much of p as f takes without waiting, and returns how
// much. The caller must have called Acquire.
func (f *File) WriteNow(p []byte) (int, error) { return writeFD(f.fd, p) }

func (f *File) free() {
	for _, fd := range []int{f.fd, f.wakes[toRead], f.wakes[toWrite]} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// Acquire keeps the descriptor open until Release is called. It returns false
// if the file is closed already.
func (f *File) Acquire() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.users++
	return true
}

// Release undoes one Acquire. After Close, the last Release closes the
// descriptor.
func (f *File) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.closed && f.users == 0 {
		f.free()
	}
}

// Close closes the file and wakes all goroutines that wait. A second call
// returns os.ErrClosed.
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

// CloseWrite shuts down the sending side of a socket.
func (f *File) CloseWrite() error {
	if !f.Acquire() {
		return os.ErrClosed
	}
	defer f.Release()
	return unix.Shutdown(f.fd, unix.SHUT_WR)
}

var oneWake = binary.NativeEndian.AppendUint64(nil, 1)

// wake makes the goroutine that waits look again. The caller holds mu or has
// called Acquire.
func (f *File) wake(direction int) { unix.Write(f.wakes[direction], oneWake) }

// looked ends the wait that left began; woken tells that the eventfd fired.
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

// SetReadDeadline sets until when Read may wait; the zero time means for ever.
// It also applies to a Read that waits already.
func (f *File) SetReadDeadline(t time.Time) error { return f.setDeadline(toRead, t) }

// SetWriteDeadline is SetReadDeadline for Write.
func (f *File) SetWriteDeadline(t time.Time) error { return f.setDeadline(toWrite, t) }

// SetDeadline is SetReadDeadline for Read and Write.
func (f *File) SetDeadline(t time.Time) error {
	f.setDeadline(toRead, t)
	return f.setDeadline(toWrite, t)
}

// left returns the time until a direction's deadline, nil for ever. If waits is
// set and err is nil, changes wake the caller until it calls looked.
func (f *File) left(direction int, waits bool) (*unix.Timespec, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, os.ErrClosed
	}
	t := f.deadlines[direction]
	var wait *unix.Timespec // points to memory of the one goroutine that uses the direction
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

// wait blocks until the file is ready in that direction, or until its deadline
// or Close. The caller has called Acquire.
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

// Read blocks until there is something to read, until the deadline, or until
// Close. It returns io.EOF at the end of the stream.
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

// Write blocks until all of p is written. On error, the first n bytes were.
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

// orClosed returns os.ErrClosed in place of err if Close has come first and so
// ended the stream.
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

// use calls done with the descriptor until done returns true, and waits for the
// direction between calls. If the deadline has passed already, use fails before
// the first call.
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

// SyscallConn implements syscall.Conn. It never fails.
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
