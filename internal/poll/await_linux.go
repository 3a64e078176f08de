package poll

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// AwaitOr blocks until f or one of the descriptors fds can be read. ready is
// the index of the descriptor in fds, or -1 for f. It obeys f's read deadline
// and Close. Use it in place of the wait in Read.
func (f *File) AwaitOr(fds []int) (ready int, err error) {
	if !f.Acquire() {
		return -1, os.ErrClosed
	}
	defer f.Release()
	for {
		f.turn()
		left, err := f.left(toRead, true)
		if err != nil {
			return -1, err
		}
		polled := f.appendPoll(f.polled[:0])
		for _, fd := range fds {
			polled = append(polled, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
		f.polled = polled
		if err = f.ppoll(polled, left); err != nil {
			clear(polled)
		}
		f.looked(toRead, polled[1].Revents != 0)
		if err != nil && err != unix.EINTR {
			return -1, os.NewSyscallError("ppoll", err)
		}
		for i, p := range polled[2:] {
			if p.Revents != 0 {
				return i, nil
			}
		}
		if polled[0].Revents != 0 {
			return -1, nil
		}
	}
}

// The errors of AwaitWith: the other file can be read, or must be left to its
// Read.
var (
	ErrOther     = errors.New("there is something to read elsewhere")
	ErrOtherGone = errors.New("the other file is not to be waited for")
)

// AwaitWith blocks until f can be read, or other if that is not nil, or until
// either file changes by a Poke, a Close or a deadline. ready means that f can
// be read. ErrOther means that other can be read. ErrOtherGone means that other
// is closed, was poked or has a deadline, so that only its own Read may wait
// for it. The caller must have called Acquire on both.
func (f *File) AwaitWith(other *File) (ready bool, err error) {
	f.turn()
	left, err := f.left(toRead, true)
	if err != nil {
		return false, err
	}
	fds := f.appendPoll(f.polled[:0])
	if other != nil {
		if until, err := other.left(toRead, true); err != nil || until != nil {
			f.looked(toRead, false)
			other.looked(toRead, false)
			return false, ErrOtherGone
		}
		fds = other.appendPoll(fds)
	}
	f.polled = fds
	err = f.ppoll(fds, left)
	if err != nil {
		clear(fds)
	}
	f.looked(toRead, fds[1].Revents != 0)
	ready = fds[0].Revents != 0
	if other != nil {
		other.looked(toRead, fds[3].Revents != 0)
		switch {
		case fds[3].Revents != 0:
			return ready, ErrOtherGone
		case fds[2].Revents != 0:
			return ready, ErrOther
		}
	}
	if err != nil && err != unix.EINTR {
		return false, os.NewSyscallError("ppoll", err)
	}
	return ready, nil
}
