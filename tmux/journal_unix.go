//go:build unix

package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/journal"
)

// The words of the journal helper to the launcher, a line each.
const (
	helperReady    = "ready"
	helperRecorded = "recorded"
)

// drainTime is how long the helper goes on reading after the launcher died:
// the last output may still be on its way through tmux.
const drainTime = 200 * time.Millisecond

// gatherTime is how long the helper rests after it took output, so that one
// wake-up takes what would have been many: it shares its processors with tmux
// and the program. tmux's pipe holds what comes meanwhile.
const gatherTime = 2 * time.Millisecond

// runJournal is the other end of the pane's pipe. It appends the output to the
// journal and, at the end marker, records the exit.
func runJournal(dir string) error {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	d := stateDir(dir)
	toLauncher, err := openHelperFIFO(d.path(helperFIFO), helperTimeout)
	if err != nil {
		return err
	}
	defer toLauncher.Close()
	h, err := newHelper(d)
	if err != nil {
		_, sayErr := fmt.Fprintln(toLauncher, strings.ReplaceAll(err.Error(), "\n", "; "))
		return errors.Join(err, sayErr)
	}
	if err := os.Remove(d.path(helperFIFO)); err != nil {
		return errors.Join(err, h.close())
	}
	if _, err := fmt.Fprintln(toLauncher, helperReady); err != nil {
		return errors.Join(err, h.close())
	}
	pane, err := openPipe()
	if err != nil {
		return errors.Join(err, h.close())
	}
	exit, err := h.copy(pane)
	if exit == nil && h.launcherLives() {
		// The user has piped the pane elsewhere. The launcher has another
		// helper take over.
		return errors.Join(err, h.close())
	}
	if exit == nil { // lost
		return errors.Join(err, h.close(), h.endSession())
	}
	err = h.record(*exit)
	if err == nil {
		_, err = fmt.Fprintln(toLauncher, helperRecorded)
	}
	return errors.Join(err, h.close(), h.endSession())
}

// openHelperFIFO waits for the launcher, as long as that waits for us: one that
// never came would leave this process for good.
func openHelperFIFO(path string, limit time.Duration) (*os.File, error) {
	for deadline := time.Now().Add(limit); ; time.Sleep(lockInterval) { // open(2) tells of no reader's coming but by blocking
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if !errors.Is(err, unix.ENXIO) || time.Now().After(deadline) {
			return f, err
		}
	}
}

// openPipe makes standard input a file whose reads have a deadline.
func openPipe() (*os.File, error) {
	if err := unix.SetNonblock(0, true); err != nil {
		return nil, fmt.Errorf("read the pane's pipe: %w", err)
	}
	return os.NewFile(uintptr(0), "pane"), nil
}

// helper is the journal helper's state.
type helper struct {
	dir      stateDir
	rec      record
	journal  *journal.Writer
	follow   *followers
	launched *os.File // session.lock, which the launcher holds
	missing  []byte   // the last bytes before the head that the disk did not take
}

func newHelper(d stateDir) (*helper, error) {
	rec, err := d.record()
	if err != nil {
		return nil, err
	}
	launched, err := openLock(d.path(sessionLock), unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	w, err := journal.Create(d.path(journalDir), journal.Options{KeepBytes: rec.JournalBytes})
	if err != nil {
		launched.Close()
		return nil, err
	}
	if _, err := os.Lstat(d.path(launcherFile)); err == nil { // the program runs: another helper was here
		if err := markGap(w); err != nil {
			launched.Close()
			return nil, errors.Join(err, w.Close())
		}
	}
	if w.Sized().Cols == 0 {
		w.MarkSize(rec.Size.Cols, rec.Size.Rows)
	}
	f, err := listenFollowers(rec.Notify, w.MarkSize)
	if err != nil {
		launched.Close()
		w.Close()
		return nil, err
	}
	return &helper{dir: d, rec: rec, journal: w, follow: f, launched: launched}, nil
}

// copy appends what it reads to the journal until the end marker, and returns
// the exit; nil where the stream ended without one.
func (h *helper) copy(r *os.File) (*terminal.Exit, error) {
	go h.endWithLauncher(r) // ends with this process: flock(2) cannot be woken
	scanner := newMarkerScanner(h.rec.Nonce)
	buf := make([]byte, 256<<10)
	for {
		n, err := r.Read(buf)
		if out := scanner.scan(buf[:n]); len(out) > 0 {
			h.append(out)
		}
		if scanner.exit != nil {
			return scanner.exit, nil
		}
		if err == nil {
			time.Sleep(gatherTime)
			continue
		}
		if held := scanner.rest(); len(held) > 0 {
			h.append(held)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil
		}
		return nil, err
	}
}

// lastBytes is how much of what a full disk did not take is kept for it: the
// last words of a program are what a user looks for.
const lastBytes = 256 << 10

// append never fails: what cannot be written is a gap, which the journal
// reports to its readers, but for its last bytes.
func (h *helper) append(p []byte) {
	if err := h.journal.Append(p); err != nil {
		h.said("journal", err)
	}
	if from, gap := h.journal.Gap(); gap {
		h.missing = append(h.missing, p...)
		most := min(lastBytes, h.journal.Head()-from, uint64(len(h.missing)))
		h.missing = append(h.missing[:0], h.missing[uint64(len(h.missing))-most:]...)
	} else {
		h.missing = nil
	}
	h.follow.wake()
}

// launcherLives reports whether the launcher holds its lock.
func (h *helper) launcherLives() bool {
	return errors.Is(flock(h.launched, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// endWithLauncher ends the stream when the launcher has died without an end
// marker: the pane's pipe would stay open as long as the pane.
func (h *helper) endWithLauncher(r *os.File) {
	if err := flock(h.launched, unix.LOCK_SH); err != nil {
		return
	}
	// It fails where the stream has ended by itself.
	_ = r.SetReadDeadline(time.Now().Add(drainTime))
}

// fullPause is how long the helper waits for room on a full disk, each time.
const fullPause = 250 * time.Millisecond

// record puts the exit on disk, behind the journal and the last screen. Where
// the disk is full it waits for room: a session whose exit is not recorded has
// not ended.
func (h *helper) record(exit terminal.Exit) error {
	screen := h.lastScreen(&exit)
	if len(h.missing) > 0 {
		h.said("journal", whenRoom(func() error { return h.journal.Fill(h.missing) }))
	}
	h.said("journal", h.journal.Sync())
	if screen != nil {
		h.said("last screen", whenRoom(func() error { return h.dir.writeFile(screenFile, screen, private.ThisBoot) }))
	}
	return h.dir.writeExit(exit)
}

// said tells of what went wrong with one part of the record: the exit is a fact
// all the same.
func (h *helper) said(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s of session %s: %v\n", what, h.rec.ID, err)
	}
}

// writeExit makes the exit record, as soon as there is room for it.
func (d stateDir) writeExit(exit terminal.Exit) error {
	return whenRoom(func() error { return d.writeJSON(exitFile, exit, private.Durable) })
}

// whenRoom tries to write until the disk is not full any more.
func whenRoom(write func() error) error {
	for {
		err := write()
		if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
			return err
		}
		time.Sleep(fullPause) // no event tells of room
	}
}

// lastScreen is what tmux shows at the end, and adds its size and title to the
// exit.
func (h *helper) lastScreen(exit *terminal.Exit) []byte {
	exit.Offset = h.journal.Head()
	exit.Size = h.rec.Size
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	screen, err := (&session{id: h.rec.ID, dir: h.dir}).screen(ctx, h.rec)
	if err != nil {
		h.said("last screen", err)
		return nil
	}
	cols, rows := screen.Size()
	exit.Size = terminal.Size{Cols: uint16(cols), Rows: uint16(rows)}
	exit.Title = screen.Title()
	return snapshot(screen, -1)
}

func (h *helper) close() error {
	return errors.Join(h.journal.Close(), h.follow.close())
}

// endSession ends the tmux session, whose end is recorded.
func (h *helper) endSession() error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	s := &session{id: h.rec.ID, dir: h.dir, mark: string(h.dir)}
	return s.killMarked(ctx, h.rec.server())
}
