package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/private"
)

const (
	startTimeout = time.Minute           // a busy machine may need long
	pollInterval = 10 * time.Millisecond // the OS signals no change of a lock or a socket
	maxPoll      = 200 * time.Millisecond
	maxLog       = 1 << 20 // bytes
)

// Ready is the text that a background server writes to its ReadyPipe when it
// serves.
const Ready = "ready"

// Ensure returns a client of the running server. If none runs, it first runs
// launch, a command that starts a server in the background and ends (see Launch).
// If launch fails, the error is the last line of its standard error. Inside a
// session Ensure starts no server.
func Ensure(ctx context.Context, dirs config.Dirs, launch *exec.Cmd) (*Client, error) {
	c, err := Connect(ctx, dirs)
	if !errors.Is(err, ErrNoServer) {
		return c, err
	}
	if os.Getenv("MIDDLEMAN_SESSION") != "" {
		// A server started here would be a process of the session and end with it.
		return nil, fmt.Errorf("%w, and one started inside a session would end with it: run `middleman serve` outside", ErrNoServer)
	}
	var stderr strings.Builder
	launch.Stderr = &stderr
	if err := launch.Run(); err != nil {
		if text := strings.TrimPrefix(lastLine(stderr.String()), "middleman: "); text != "" {
			return nil, errors.New(text)
		}
		return nil, fmt.Errorf("start the server: %w", err)
	}
	return Connect(ctx, dirs)
}

// Launch starts server in the background if none runs, and blocks until it
// serves, at most a minute. If several processes call Launch at once, one
// server is started. server is a command that serves. It must write Ready to its
// ReadyPipe when it does, or else print the reason. Launch sets the command's
// directory and files. Its caller should end soon: the server stays its child
// until then.
func Launch(ctx context.Context, dirs config.Dirs, server *exec.Cmd) error {
	if err := dirs.Prepare(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	start, err := holdStarts(ctx, dirs, true)
	if start == nil || err != nil {
		return err
	}
	defer start.Close()
	if running, err := awaitLockHolder(ctx, dirs); running || err != nil {
		return err
	}
	failed := spawn(ctx, dirs, server)
	if failed == nil {
		return nil
	}
	// Somebody may have started one otherwise meanwhile, which has the lock.
	if running, err := awaitLockHolder(ctx, dirs); !running || err != nil {
		return failed
	}
	return nil
}

// HoldStarts keeps others from starting a server with Launch until the lock is
// closed. It waits for a start that goes on.
func HoldStarts(ctx context.Context, dirs config.Dirs) (*private.Lock, error) {
	return holdStarts(ctx, dirs, false)
}

// holdStarts is HoldStarts. With orServer it returns nil as soon as a server answers: many
// that wait for one start need not wait for each other.
func holdStarts(ctx context.Context, dirs config.Dirs, orServer bool) (start *private.Lock, err error) {
	late := poll(ctx, func() (bool, error) {
		start, err = private.TryLock(filepath.Join(dirs.Data, "server-start.lock"))
		if !errors.Is(err, private.ErrHeld) {
			return true, nil
		}
		if orServer {
			if c, err := Connect(ctx, dirs); err == nil {
				c.Close()
				return true, nil
			}
		}
		return false, nil
	})
	switch {
	case late != nil:
		return nil, fmt.Errorf("wait for another start of the server: %w: %w", err, late)
	case errors.Is(err, private.ErrHeld):
		return nil, nil
	}
	return start, err
}

// AwaitEnd waits until no server runs.
func AwaitEnd(ctx context.Context, dirs config.Dirs) error {
	return poll(ctx, func() (bool, error) {
		lock, err := private.TryLock(dirs.ServerLock())
		if err == nil {
			return true, lock.Close()
		}
		if errors.Is(err, private.ErrHeld) {
			err = nil
		}
		return false, err
	})
}

// AwaitAnother waits until another server runs than the one described by before,
// and describes it. A restart keeps the id of the process; with same, AwaitAnother
// gives up when that process has ended.
func AwaitAnother(ctx context.Context, dirs config.Dirs, before api.Server, same bool) (now api.Server, err error) {
	err = poll(ctx, func() (bool, error) {
		c, err := Connect(ctx, dirs)
		if err != nil && same && ended(before.PID) {
			why := "its terminal says why"
			if before.Background {
				why = logTail(dirs.ServerLog())
			}
			return false, fmt.Errorf("it did not come back: %s", why)
		}
		if err != nil {
			return false, nil // it has not come back yet
		}
		defer c.Close()
		now, err = c.Server(ctx)
		return err == nil && (now.PID != before.PID || !now.Since.Equal(before.Since)), nil
	})
	return now, err
}

// poll calls done until it reports true or an error, or ctx ends, less often the longer
// that takes: many may wait at once.
func poll(ctx context.Context, done func() (bool, error)) error {
	for pause := pollInterval; ; pause = min(pause*5/4, maxPoll) {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitLockHolder waits until the server that holds the server lock answers,
// or the lock is free. It reports whether a server runs.
func awaitLockHolder(ctx context.Context, dirs config.Dirs) (running bool, err error) {
	var silent error
	err = poll(ctx, func() (bool, error) {
		var c *Client
		if c, silent = Connect(ctx, dirs); silent == nil {
			c.Close()
			running = true
			return true, nil
		}
		lock, err := private.TryLock(dirs.ServerLock())
		if errors.Is(err, private.ErrHeld) {
			return false, nil
		}
		if err == nil {
			err = lock.Close()
		}
		return true, err
	})
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("a server holds %s and does not answer: %w", dirs.ServerLock(), silent)
	}
	return running, err
}

func spawn(ctx context.Context, dirs config.Dirs, server *exec.Cmd) error {
	log, err := openLog(dirs.ServerLog())
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	defer r.Close()
	server.Dir = dirs.Data
	server.Stdout, server.Stderr = log, log
	detach(server, w)
	err = server.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { stopReading(r, server) })
	defer stop()
	buf := make([]byte, len(Ready))
	if n, _ := r.Read(buf); string(buf[:n]) == Ready {
		return server.Process.Release()
	}
	if ctx.Err() != nil {
		server.Process.Kill() // it was never ready, and no other process would end it
	}
	server.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("start the server: not ready within %s, see %s", startTimeout, log.Name())
	}
	return fmt.Errorf("start the server: %s (log %s)", logTail(log.Name()), log.Name())
}

// openLog opens the log for appending. If it has more than maxLog bytes, it
// renames it to PATH.1 and begins a new one.
func openLog(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return private.Append(path)
}

// logTail returns the last line of the log, without the prefix "middleman: ".
func logTail(path string) string {
	raw, err := private.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if line := lastLine(string(raw)); line != "" {
		return strings.TrimPrefix(line, "middleman: ")
	}
	return "it ended at once without a message"
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}
