package poll

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// AwaitOr waits until f can be read, then ready is -1, or one of the descriptors
// fds, then it is that one's index. It takes the place of Read's own wait.
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

// Of awaitWith: the other file can be read, or something else has happened to it.
var (
	ErrOther     = errors.New("there is something to read elsewhere")
	ErrOtherGone = errors.New("the other file is not to be waited for")
)

// AwaitWith waits until f can be read, or other, where that is not nil, or a
// change of either: a Poke, a Close, a deadline. ready says that f can be read,
// ErrOther that other can, ErrOtherGone that other is closed, has been poked or
// has a deadline, so that its own Read has to wait for it. The caller has called
// Acquire for both.
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
