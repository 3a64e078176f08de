//go:build unix

package tmux

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/journal"
)

// The files of a session's state directory (0700, each file 0600).
const (
	recordFile   = "tmux.json"     // record: marks the session as this backend's
	specFile     = "spec.json"     // launchSpec, until the launcher has read it
	launcherFile = "launcher.json" // launcher: who runs
	exitFile     = "exit.json"     // terminal.Exit
	screenFile   = "screen.ans"    // the last screen
	failingFile  = "failing"       // why output is not kept at present
	startLock    = "start.lock"    // held around starting
	sessionLock  = "session.lock"  // held by the launcher for its life: the proof of life
	stopLock     = "stop.lock"     // held while a stop is under way
	attachLock   = "attach.lock"   // held while a writer joins
	inputLock    = "input.lock"    // held while one input is typed
	startFIFO    = "start.fifo"    // launcher -> Start: the outcome
	helperFIFO   = "helper.fifo"   // journal helper -> launcher: ready, recorded
	journalDir   = "journal"
)

// formatVersion is that of tmux.json. A newer one is not touched.
const formatVersion = 1

// record is what was asked for and how to reach it; it never changes.
type record struct {
	Format       int           `json:"format"`
	ID           string        `json:"id"`
	Workspace    string        `json:"workspace,omitempty"`
	Argv         []string      `json:"argv"`
	Dir          string        `json:"dir"`
	Size         terminal.Size `json:"size"`
	Grace        time.Duration `json:"grace"`
	JournalBytes int64         `json:"journal_bytes"`
	// Clipboard is terminal.Spec's; earlier versions had none.
	Clipboard terminal.Clipboard `json:"clipboard,omitempty"`
	Created   time.Time          `json:"created"`
	// Nonce makes the end marker unguessable to what the program prints.
	Nonce string `json:"nonce"`
	// Tmux and Socket reach the server; Notify is where the journal helper
	// listens for those who follow the output.
	Tmux   string `json:"tmux"`
	Socket string `json:"socket"`
	Notify string `json:"notify"`
}

// launchSpec is what the launcher is told.
type launchSpec struct {
	terminal.Spec
	// Core is the soft limit of core files that the program gets: a server's
	// own, which tmux and the launcher inherit, is 0.
	Core uint64 `json:"core_limit"`
}

// launcher says which processes a session's are. It is true while the
// launcher holds session.lock.
type launcher struct {
	PID     int       `json:"pid"`     // the launcher
	Program int       `json:"program"` // the program
	Started time.Time `json:"started"`
	// Pane is tmux's id of the pane that the launcher is in, Server the tmux
	// server's process.
	Pane   string `json:"pane"`
	Server int    `json:"server"`
}

// stateDir is the path of a session's state directory.
type stateDir string

func (d stateDir) path(name string) string { return filepath.Join(string(d), name) }

// readJSON decodes the file into v.
func (d stateDir) readJSON(name string, v any) error {
	b, err := private.ReadFile(d.path(name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read state %s: %w", d.path(name), err)
	}
	return nil
}

// writeJSON replaces the file in one step. What must outlive a crash of the
// machine is on disk when it returns.
func (d stateDir) writeJSON(name string, v any, k private.Keep) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write state %s: %w", d.path(name), err)
	}
	return d.writeFile(name, append(b, '\n'), k)
}

func (d stateDir) writeFile(name string, b []byte, k private.Keep) error {
	if err := private.Replace(d.path(name), b, k); err != nil {
		return fmt.Errorf("write state %s: %w", d.path(name), err)
	}
	return nil
}

// check returns an error unless the state directory is ours, and nobody else
// could have written in it. It comes before anything of it is believed: the
// record names a program that is run.
func (d stateDir) check() error { return private.Below(filepath.Dir(string(d)), string(d)) }

// record reads tmux.json. A directory without one is not of this backend, and
// what is no id has none: ErrNotFound.
func (d stateDir) record() (record, error) {
	var r record
	id := filepath.Base(string(d))
	if err := terminal.CheckID(id); err != nil {
		return r, fmt.Errorf("session %w: %w", terminal.ErrNotFound, err)
	}
	err := d.check()
	if err == nil {
		err = d.readJSON(recordFile, &r)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, fmt.Errorf("session %s: %w", id, terminal.ErrNotFound)
	case err != nil:
		return r, err
	case r.Format > formatVersion:
		return r, fmt.Errorf("state %s has format %d, this version knows %d: use the newer middleman",
			d.path(recordFile), r.Format, formatVersion)
	case r.ID != id:
		return r, fmt.Errorf("state %s is of session %q: %w", d.path(recordFile), r.ID, terminal.ErrUnreachable)
	}
	return r, nil
}

// exit returns the exit record, nil where there is none.
func (d stateDir) exit() (*terminal.Exit, error) {
	var e terminal.Exit
	err := d.readJSON(exitFile, &e)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// failing says why output is not kept at present, "" where it is.
func (d stateDir) failing() string {
	b, err := private.ReadFile(d.path(failingFile))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

func (d stateDir) journal() *journal.Reader { return journal.Open(d.path(journalDir)) }

// running reports whether the launcher holds its lock.
func (d stateDir) running() (bool, error) {
	f, err := tryLock(d.path(sessionLock), unix.LOCK_SH)
	switch {
	case errors.Is(err, errLocked):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return false, f.Close()
}

// stopping reports whether a stop is under way.
func (d stateDir) stopping() bool {
	f, err := tryLock(d.path(stopLock), unix.LOCK_SH)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, errLocked)
}

var errLocked = errors.New("locked by another process")

// tryLock locks the file at path, which must exist for LOCK_SH and is made for
// LOCK_EX. Closing the file unlocks it; so does the end of the process.
func tryLock(path string, how int) (*os.File, error) {
	f, err := openLock(path, how)
	if err != nil {
		return nil, err
	}
	if err := flock(f, how|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

func openLock(path string, how int) (*os.File, error) {
	flags := os.O_RDWR
	if how == unix.LOCK_EX {
		flags |= os.O_CREATE
	}
	return os.OpenFile(path, flags, 0o600)
}

// flock calls flock(2) and repeats it when a signal came in between.
func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
