//go:build unix

package sessions

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pollPause is how often a hook looks whether its agent is still there.
const pollPause = 500 * time.Millisecond

// whileRead returns a context that ends, with errNoReader, once nobody can read what is
// written to out: an agent may end the shell of its hook alone. Call cancel when it is no
// more needed.
func whileRead(ctx context.Context, out *os.File) (_ context.Context, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		for ctx.Err() == nil {
			if unread(out) {
				end(errNoReader)
				return
			}
			select {
			case <-time.After(pollPause):
			case <-ctx.Done():
			}
		}
	}()
	return ctx, func() { end(nil) }
}

// unread reports whether out is a pipe or socket that nobody reads any more.
func unread(out *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(out.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
