//go:build unix

package ptyowner

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"middleman/internal/fault"
	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/journal"
)

// What happens in an owner process, in detail:
//
//  1. It reads its startRequest from standard input.
//  2. It takes owner.lock; held means that another owner runs the session.
//  3. It binds the socket and writes owner.json.
//  4. It opens the PTY and starts the program.
//  5. It reports ready, or the failing step and its error, on
//     descriptor 3, which is the starter's pipe, and closes it.
//  6. It serves until the program has ended, and then some (exit.go).

// startRequest is what a starter hands to its owner.
type startRequest struct {
	Spec   terminal.Spec `json:"spec"`
	Dir    string        `json:"state_dir"`
	Socket string        `json:"socket"`
	Build  string        `json:"build"`
}

// startReport is what the owner answers.
type startReport struct {
	PID   int           `json:"pid,omitempty"`
	Step  string        `json:"step,omitempty"`
	Error string        `json:"error,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"` // the cause, where it is the system's
}

// reportError is a startReport's error on the starter's side.
type reportError struct{ report startReport }

func (e reportError) Error() string { return e.report.Error }

func (e reportError) Unwrap() error {
	if e.report.Errno == 0 {
		return nil
	}
	return e.report.Errno
}

// maxInherited is one past the highest descriptor that a starter may have
// left open to us by mistake.
const maxInherited = 256

// maxStartRequest bounds what is read from standard input.
const maxStartRequest = 8 << 20

// owner is the owner process's state.
type owner struct {
	spec    terminal.Spec
	dir     stateDir
	token   []byte
	started time.Time
	pid     int // the program's
	umask   int // the program's: what the starter had

	lock     *flock.Flock
	listener *net.UnixListener
	pty      *ptyMaster
	journal  *journal.Writer
	answers  chan []byte // replies of the screen to queries; full: the reply is dropped
	conns    sync.WaitGroup

	mu       sync.Mutex // guards all below
	changed  *sync.Cond // on mu: broadcast whenever anything below changed
	recent   ring       // the newest output, for viewers at the head
	state    terminal.State
	size     terminal.Size
	title    string
	writer   *viewer
	watchers int
	viewers  map[*viewer]bool // all that are connected, of every mode
	events   eventLog
	sizes    []sizeChange // that the screen has not come to yet
	reaped   bool         // the program's pid is not the program's any more
	exit     *terminal.Exit
	acked    bool // a client knows of the exit
	recorded bool // the exit is on disk
	drained  bool // no output comes any more
	closing  bool // the owner is about to end

	screen screen
}

// sizeChange says that size holds from mark.Offset.
type sizeChange struct {
	mark journal.Mark
	size terminal.Size
}

// Main is the owner process: what the hidden command pty-owner runs. It
// returns the process's exit code. Nothing may have been started or opened
// in the process before.
func Main() int {
	catchSignals()
	for fd := 3; fd < maxInherited; fd++ {
		unix.CloseOnExec(fd) // the program inherits nothing but its terminal
	}
	report := os.NewFile(3, "ready")
	if report == nil {
		fmt.Fprintln(os.Stderr, "pty-owner is started by middleman, not by hand")
		return 2
	}
	o, step, err := newOwner(os.Stdin)
	if err != nil {
		failed := startReport{Step: step, Error: err.Error()}
		errors.As(err, &failed.Errno)
		json.NewEncoder(report).Encode(failed)
		return 1
	}
	json.NewEncoder(report).Encode(startReport{PID: o.pid})
	report.Close()
	fault.Here("start/reported")
	o.run()
	return 0
}

// newOwner does steps 1 to 4. On error nothing runs and nothing is left but
// the state directory, which is the starter's.
func newOwner(in io.Reader) (o *owner, step string, err error) {
	var req startRequest
	if err := json.NewDecoder(io.LimitReader(in, maxStartRequest)).Decode(&req); err != nil {
		return nil, "read specification", err
	}
	fault.Here("start/specification-read")
	o = &owner{
		spec:    req.Spec,
		dir:     stateDir{id: req.Spec.ID, path: req.Dir},
		token:   []byte(newToken()),
		started: time.Now(),
		viewers: make(map[*viewer]bool),
		umask:   unix.Umask(stateUmask),
		answers: make(chan []byte, 64),
		state:   terminal.StateRunning,
		size:    req.Spec.Size,
	}
	o.changed = sync.NewCond(&o.mu)
	o.recent.buf = make([]byte, recentBytes)
	if o.lock, err = takeOwnerLock(o.dir); err != nil {
		return nil, "take " + ownerLockFile, err
	}
	fault.Here("start/lock-taken")
	if o.journal, err = journal.Create(o.dir.journal(), journal.Options{KeepBytes: o.spec.JournalBytes}); err != nil {
		return nil, "create journal", err
	}
	o.journal.MarkSize(o.size.Cols, o.size.Rows)
	fault.Here("start/journal-created")
	if err := o.bind(req.Socket); err != nil {
		return nil, "bind socket", err
	}
	fault.Here("start/socket-bound")
	if err := o.dir.writeJSON(recordFile, o.record(req)); err != nil {
		return nil, "write " + recordFile, err
	}
	fault.Here("start/record-written")
	o.screen.init(o)
	becomeSubreaper()
	if step, err := o.startProgram(); err != nil {
		o.listener.Close()
		return nil, step, err
	}
	fault.Here("start/program-started")
	return o, "", nil
}

func newToken() string {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(raw)
}

// takeOwnerLock takes the lock for the owner's life. Whoever asks whether an
// owner lives holds it shared for a moment, so it is tried for a while.
func takeOwnerLock(d stateDir) (*flock.Flock, error) {
	lock := flock.New(d.file(ownerLockFile), flock.SetPermissions(0o600))
	for deadline := time.Now().Add(2 * time.Second); ; {
		ok, err := lock.TryLock()
		if err != nil {
			return nil, err
		}
		if ok {
			return lock, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s is held: another owner runs this session", d.file(ownerLockFile))
		}
		time.Sleep(time.Millisecond)
	}
}

// bind listens on the socket, 0600; a stale one is in nobody's use, because
// the lock is ours.
func (o *owner) bind(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(true)
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return err
	}
	o.listener = l
	return nil
}

func (o *owner) record(req startRequest) record {
	return record{
		Format:      recordFormat,
		MinProtocol: wire.MinVersion,
		MaxProtocol: wire.MaxVersion,
		Features:    features,
		Build:       req.Build,
		OwnerPID:    os.Getpid(),
		OwnerStart:  processStart(os.Getpid()),
		Socket:      req.Socket,
		Token:       string(o.token),
		Created:     o.started,
		Workspace:   o.spec.Workspace,
		Argv:        o.spec.Argv,
		Dir:         o.spec.Dir,
		Size:        o.spec.Size,
	}
}

// features are what this build can do beyond its protocol version: its verbs.
var features = []string{"capture", "stop", "input", "wait"}

// run is steps 6 and on: it returns when the session is over and everything
// that it started has ended.
func (o *owner) run() {
	var loops sync.WaitGroup
	ended := make(chan waitStatus, 1)
	loops.Go(func() { o.readPTY() })
	loops.Go(func() { o.screen.run() })
	loops.Go(func() { o.writeAnswers() })
	loops.Go(func() { o.serve() })
	stopReaping := o.reap(ended)

	o.finish(<-ended)
	o.linger()
	fault.Here("exit/lingered")

	o.mu.Lock()
	o.closing = true
	for v := range o.viewers {
		v.conn.Close() // whoever is still here had its time
	}
	o.changed.Broadcast()
	o.mu.Unlock()
	o.listener.Close()
	close(o.answers)
	loops.Wait()
	o.conns.Wait()
	stopReaping()
	fault.Here("exit/closed")
	o.lock.Close()
}

// status is what the verb status answers. Called with mu held.
func (o *owner) status() wire.Status {
	s := wire.Status{
		State:     string(o.state),
		PID:       o.pid,
		OwnerPID:  os.Getpid(),
		StartedAt: o.started,
		Size:      wireSize(o.size),
		Title:     o.title,
		Oldest:    o.journal.Oldest(),
		Head:      o.recent.head,
		Writer:    o.writerInfo(),
		Watchers:  o.watchers,
	}
	if err := o.journal.Failure(); err != nil {
		s.Journal = err.Error()
	}
	if o.exit != nil {
		s.PID = 0
		e := wireExit(*o.exit)
		s.Exit = &e
		s.Left, _ = o.remaining() // unknown shows as none; a stop asks again
	}
	return s
}

// writerInfo names the attached writer, nil where there is none. Called with
// mu held.
func (o *owner) writerInfo() *wire.Writer {
	if o.writer == nil {
		return nil
	}
	return &wire.Writer{Client: o.writer.client, Since: o.writer.since}
}
