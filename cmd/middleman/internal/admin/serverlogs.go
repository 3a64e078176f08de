package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"middleman/internal/client"
	"middleman/internal/private"
)

const (
	logPoll = 200 * time.Millisecond // a log file signals no change
	// maxServerLog bounds what is read of a log at once: a server in the background
	// begins a new file beyond 1 MiB, but one that runs on appends.
	maxServerLog = 64 << 20
)

// serverLogs are the flags of `server logs`.
type serverLogs struct {
	follow bool
	lines  uint64 // the last ones; 0 is all
}

// serverLogs prints the log of the server in the background, or says where another
// one has its log.
func (c commands) serverLogs(ctx context.Context, o serverLogs) error {
	state, server, err := c.ask(ctx)
	if server != nil {
		server.Close()
	}
	switch {
	case err == nil && state.Unit != "":
		return fmt.Errorf("%s runs the server, and the journal has its log: journalctl --user -u %s", state.Unit, state.Unit)
	case err == nil && !state.Background:
		return fmt.Errorf("the server, process %d, prints its log in the terminal where `middleman serve` runs", state.PID)
	case err != nil && !errors.Is(err, client.ErrNoServer):
		fmt.Fprintf(c.Errs, "middleman: %v\n", err) // its log may say why
	}
	path := c.Dirs.ServerLog()
	f, err := openLog(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no server has run in the background: there is no %s", path)
	}
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxServerLog))
	if err != nil {
		return err
	}
	if _, err := c.Out.Write(lastLines(text, o.lines)); err != nil || !o.follow {
		return err
	}
	tick := time.NewTicker(logPoll)
	defer tick.Stop()
	for {
		if _, err := io.Copy(c.Out, f); err != nil {
			return err
		}
		if err := c.Out.Flush(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if next := replaced(path, f); next != nil {
			f.Close()
			f = next
		}
	}
}

// openLog opens the server's log, which no other user may have written.
func openLog(path string) (*os.File, error) {
	if err := private.Trusted(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// replaced returns the file that has the place of f now, or nil if it is f.
func replaced(path string, f *os.File) *os.File {
	next, err := openLog(path)
	if err != nil {
		return nil // a new server is about to make it
	}
	now, err1 := next.Stat()
	was, err2 := f.Stat()
	if err1 != nil || err2 != nil || os.SameFile(now, was) {
		next.Close()
		return nil
	}
	return next
}

// lastLines returns the last n lines of text; 0 is all. A last line without a line
// feed counts.
func lastLines(text []byte, n uint64) []byte {
	if n == 0 {
		return text
	}
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(text[:at-1], '\n') + 1
	}
	return text[at:]
}
