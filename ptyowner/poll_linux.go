package ptyowner

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

// pollFile is a descriptor in non-blocking mode that is waited for by poll(2),
// in the thread that uses it. The runtime's poller is woken by whatever happens
// to a descriptor, also each time that the other side has read, and by then the
// goroutine that waits may have lost its thread: that costs a key's echo more
// than all else. Each direction has one user at a time.
type pollFile struct {
	fd     int
	socket bool
	wakes  [2]int // eventfd(2)s that wake who waits to read, to write

	// noWait makes Read return errWait in place of waiting. It is the reader's,
	// as are the next two.
	noWait bool
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

// errWait is what Read returns where it would wait, and must not.
var errWait = errors.New("nothing to read yet")

// Directions of a pollFile.
const (
	toRead = iota
	toWrite
)

// newPollFile takes over fd. On error it is closed.
func newPollFile(fd int, socket bool) (*pollFile, error) {
	f := &pollFile{fd: fd, socket: socket}
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

// newDevice takes over the descriptor of a terminal. On error it is closed.
func newDevice(fd int) (device, error) { return newPollFile(fd, false) }

// quietConn takes over conn, which is closed unless there is an error.
func quietConn(conn *net.UnixConn) (*pollFile, error) {
	shared, err := descriptor(conn)
	if err != nil {
		return nil, err
	}
	fd, err := duplicate(shared)
	if err != nil {
		return nil, err
	}
	f, err := newPollFile(fd, true)
	if err == nil {
		conn.Close()
	}
	return f, err
}

// appendPoll appends what to wait for to read: the descriptor and the wakes.
func (f *pollFile) appendPoll(fds []unix.PollFd) []unix.PollFd {
	return append(fds, unix.PollFd{Fd: int32(f.fd), Events: unix.POLLIN}, unix.PollFd{Fd: int32(f.wakes[toRead]), Events: unix.POLLIN})
}

// turnTime is how long a goroutine may run for the scheduler, half of what it
// counts as too long.
const turnTime = 5 * time.Millisecond

// turn is called before each wait of a loop that does nothing but system calls.
// The scheduler counts that as running, and after 10 ms it takes the processor
// from the goroutine in every wait, until it has given way once.
func (f *pollFile) turn() {
	if now := time.Now(); now.Sub(f.turned) > turnTime {
		f.turned = now
		runtime.Gosched()
	}
}

// poke makes who waits to read look again, or is about to wait: what it is to
// look at may not have been there when it looked last.
func (f *pollFile) poke() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.wake(toRead)
	}
}

// expectTime is how long an echo is looked for without sleeping: a program that
// takes longer is not worth it, and what a person types costs next to nothing.
const expectTime = 200 * time.Microsecond

// expect says that something is about to be read, as the echo of a key is. Who
// waits for it stays awake for a moment: to be woken costs as much as all that
// the echo passes through.
func (f *pollFile) expect() {
	f.expected.Store(time.Now().Add(expectTime).UnixNano())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[toRead] && !f.closed {
		f.wake(toRead)
	}
}

// ppoll is ppoll(2), which stays awake while something is expected, and lets
// others run meanwhile.
func (f *pollFile) ppoll(fds []unix.PollFd, left *unix.Timespec) error {
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

func (f *pollFile) free() {
	for _, fd := range []int{f.fd, f.wakes[toRead], f.wakes[toWrite]} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// acquire keeps the descriptors open until release; false says that they are
// closed.
func (f *pollFile) acquire() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.users++
	return true
}

func (f *pollFile) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.closed && f.users == 0 {
		f.free()
	}
}

// Close wakes whoever waits.
func (f *pollFile) Close() error {
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
func (f *pollFile) CloseWrite() error {
	if !f.acquire() {
		return os.ErrClosed
	}
	defer f.release()
	return unix.Shutdown(f.fd, unix.SHUT_WR)
}

var oneWake = binary.NativeEndian.AppendUint64(nil, 1)

// wake makes who waits look again. Called with mu held, or by a user.
func (f *pollFile) wake(direction int) { unix.Write(f.wakes[direction], oneWake) }

// looked ends what left began; woken says that a wake has come.
func (f *pollFile) looked(direction int, woken bool) {
	if woken {
		var count [8]byte
		readNow(f.wakes[direction], count[:])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting[direction] = false
}

func (f *pollFile) setDeadline(direction int, t time.Time) error {
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

func (f *pollFile) SetReadDeadline(t time.Time) error  { return f.setDeadline(toRead, t) }
func (f *pollFile) SetWriteDeadline(t time.Time) error { return f.setDeadline(toWrite, t) }

func (f *pollFile) SetDeadline(t time.Time) error {
	f.setDeadline(toRead, t)
	return f.setDeadline(toWrite, t)
}

// left is the time until a direction's deadline, nil for ever. Without an error
// who waits is woken by changes until it calls looked.
func (f *pollFile) left(direction int, waits bool) (*unix.Timespec, error) {
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
func (f *pollFile) wait(direction int) error {
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

func (f *pollFile) Read(p []byte) (n int, err error) {
	rawErr := f.use(toRead, func(fd uintptr) bool {
		n, err = readNow(int(fd), p)
		if err == unix.EAGAIN && f.noWait {
			err = errWait
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

func (f *pollFile) Write(p []byte) (n int, err error) {
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
func (f *pollFile) orClosed(err error) error {
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
func (f *pollFile) use(direction int, done func(fd uintptr) bool) error {
	if !f.acquire() {
		return os.ErrClosed
	}
	defer f.release()
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
func (f *pollFile) SyscallConn() (syscall.RawConn, error) { return rawPollFile{f}, nil }

type rawPollFile struct{ f *pollFile }

func (r rawPollFile) Control(f func(fd uintptr)) error {
	if !r.f.acquire() {
		return os.ErrClosed
	}
	defer r.f.release()
	f(uintptr(r.f.fd))
	return nil
}

func (r rawPollFile) Read(done func(fd uintptr) bool) error  { return r.f.use(toRead, done) }
func (r rawPollFile) Write(done func(fd uintptr) bool) error { return r.f.use(toWrite, done) }
