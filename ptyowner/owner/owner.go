package owner

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"middleman/internal/cgroup"
	"middleman/internal/fault"
	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/host"
	"middleman/terminal/journal"
	"middleman/terminal/vt"
)

// The steps of an owner process:
//
//  1. It reads its state.StartRequest from standard input.
//  2. It takes owner.lock. If that is held, another owner runs the session.
//  3. It binds the socket and writes owner.json.
//  4. Its host opens a terminal and starts the program.
//  5. It reports to its starter, on the pipe at descriptor 3, that it is ready
//     or which step failed and why, and closes the pipe.
//  6. It serves until the program has ended, and lingers for a while (exit.go).

// maxStartRequest bounds the bytes that are read from standard input.
const maxStartRequest = 8 << 20

// owner is the owner process's state.
type owner struct {
	spec    terminal.Spec
	dir     state.Dir
	socket  string // the socket's path
	build   string // of this image
	token   []byte
	started time.Time
	pid     int    // the program's
	umask   int    // the program's, as after a login
	core    uint64 // the program's soft limit of core files

	lock    private.LockFile // owner.lock
	host    host.Host
	term    host.Terminal
	journal *journal.Writer
	mark    *takeMark
	conns   sync.WaitGroup
	paused  atomic.Bool // phase is phasePaused, for code that must not wait for mu
	moving  atomic.Bool // readPTY is publishing output
	// coming is the head that publish is about to set. Readers of the journal
	// may have read up to it already.
	coming atomic.Uint64
	lent   atomic.Pointer[viewer] // the viewer whose connection readPTY has, or nil; lend sets it with mu held

	// For a handover: the running executable and its path, once openSelf was
	// called, and the connections taken over, in the order of the state.
	self      *os.File
	selfPath  string
	inherited []*viewer

	reapCount atomic.Uint64 // how many children were waited for

	// taking is held to read output of the terminal and publish it; taken before
	// mu. While it is held by another, no output is drawn.
	taking sync.Mutex

	mu          sync.Mutex // guards all below
	changed     *sync.Cond // on mu: broadcast when anything below changes, except by output and by the screen
	newOutput   *sync.Cond // on mu: broadcast with changed, and for output that the screen or early waits for
	early       int        // how many clients wait in admit for output that the journal has already
	screenMoved *sync.Cond // on mu: broadcast with changed, and when the screen has advanced
	phase       phase
	listener    *ipc.Listener // set before the loops start; rebind replaces it
	recent      ring          // the newest output, for viewers at the head
	size        terminal.Size
	title       string
	progress    vt.Progress
	writer      *viewer
	watchers    int
	viewers     map[*viewer]bool // all connected viewers, of every mode
	parting     []*viewer        // viewers that were told to leave and have not read that yet, oldest first
	events      eventLog
	unseen      unseen
	activity    activity
	sizes       []sizeChange // sizes that the screen has not reached yet
	answers     [][]byte     // the screen's replies to queries, not yet typed; see answer
	reading     bool         // readPTY runs
	stopAsked   bool         // a client asked for the program's end before that came
	keyed       bool         // a stop has typed the stop keys, or was about to
	deciding    int          // how many calls of typeIf may publish output
	printed     time.Time    // when output came last
	drained     bool         // all output was read
	end         *waitStatus  // how the program ended; its pid may be another process's now
	lost        bool         // the host will not report the program's end
	exit        *terminal.Exit
	acked       bool // a client knows of the exit
	recorded    bool // the exit is on disk
	upgrade     *upgrade

	screen screen
	rest   *rest
}

// sizeChange is a size that holds from mark.Offset on.
type sizeChange struct {
	mark journal.Mark
	size terminal.Size
}

// newOwner returns an owner with nothing opened yet.
func newOwner(spec terminal.Spec, dir, socket, build string) *owner {
	o := &owner{
		spec: spec, dir: state.Dir{ID: spec.ID, Path: dir}, socket: socket, build: build,
		viewers: make(map[*viewer]bool), size: boundSize(spec.Size), rest: newRest(), printed: time.Now(),
	}
	o.changed, o.newOutput, o.screenMoved = sync.NewCond(&o.mu), sync.NewCond(&o.mu), sync.NewCond(&o.mu)
	o.recent.buf = make([]byte, recentBytes)
	return o
}

// begin starts the owner of a new session, tells on report how that went, and
// goes on until the session is over. It closes startLock, which can be nil, once the owner
// holds its own lock. It returns the process's exit code.
func begin(report, startLock *os.File, hosts []host.Host) int {
	o, step, err := startOwner(os.Stdin, startLock, hosts)
	if err != nil {
		failed := state.StartReport{Step: step, Error: err.Error()}
		errors.As(err, &failed.Errno)
		_, failed.Host = errors.AsType[*host.Fault](err)
		json.NewEncoder(report).Encode(failed)
		return 1
	}
	json.NewEncoder(report).Encode(state.StartReport{PID: o.pid})
	report.Close()
	fault.Here("start/reported")
	o.run()
	return 0
}

// startOwner does steps 1 to 4. On error nothing runs, and nothing is left
// except the state directory, which is the starter's to remove.
func startOwner(in io.Reader, startLock *os.File, hosts []host.Host) (o *owner, step string, err error) {
	var req state.StartRequest
	if err := json.NewDecoder(io.LimitReader(in, maxStartRequest)).Decode(&req); err != nil {
		return nil, "read specification", err
	}
	fault.Here("start/specification-read")
	o = newOwner(req.Spec, req.Dir, req.Socket, req.Build)
	if o.host, err = findHost(req.Host, hosts); err != nil {
		return nil, "find host", err
	}
	o.core = private.CoreLimit()
	o.token, o.started = []byte(newToken()), time.Now()
	o.umask = private.SessionUmask(setUmask(stateUmask))
	if req.Core != nil {
		o.core = *req.Core
	}
	if o.lock, err = takeOwnerLock(o.dir); err != nil {
		return nil, "take " + state.OwnerLockFile, err
	}
	startLock.Close()
	fault.Here("start/lock-taken")
	if err := checkNeverRan(o.dir); err != nil {
		return nil, "look for an earlier run", err
	}
	if o.journal, err = journal.Create(o.dir.Journal(), journal.Options{KeepBytes: o.spec.JournalBytes}); err != nil {
		return nil, "create journal", err
	}
	o.markTaking()
	o.journal.MarkSize(o.size.Cols, o.size.Rows)
	fault.Here("start/journal-created")
	// A socket that is there is stale: this process holds the lock.
	if o.listener, err = ipc.Listen(o.socket); err != nil {
		return nil, "bind socket", err
	}
	fault.Here("start/socket-bound")
	if err := o.dir.WriteRecord(o.record()); err != nil {
		return nil, "write " + state.RecordFile, err
	}
	fault.Here("start/record-written")
	o.screen.init(o)
	o.screen.rec.sized = o.journal.Sized()
	if step, err := o.startProgram(req); err != nil {
		o.listener.Close()
		return nil, step, err
	}
	fault.Here("start/program-started")
	harden()
	return o, "", o.step(eventStarted)
}

// checkNeverRan returns an error if another owner has run the session and
// ended. That may happen if the starter of this owner was killed, and another
// starter started the session meanwhile.
func checkNeverRan(d state.Dir) error {
	if _, ended, err := d.ReadExit(); err != nil || ended {
		return errors.Join(err, terminal.ErrEnded)
	}
	r := journal.Open(d.Journal())
	defer r.Close()
	_, head, err := r.Bounds()
	if err == nil && head > 0 {
		err = fmt.Errorf("%w: another owner has run it, and left %d bytes of output", terminal.ErrGone, head)
	}
	return err
}

func newToken() string {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(raw)
}

// takeOwnerLock takes owner.lock for the owner's life. A process that probes whether an owner lives holds the
// lock shared for a moment, so takeOwnerLock waits up to 2 s.
func takeOwnerLock(d state.Dir) (private.LockFile, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	lock, err := private.AwaitLockFile(ctx, d.File(state.OwnerLockFile))
	if errors.Is(err, private.ErrHeld) {
		return nil, fmt.Errorf("%s is held: another owner runs this session", d.File(state.OwnerLockFile))
	}
	return lock, err
}

func (o *owner) record() state.Record {
	return state.Record{
		MinProtocol: wire.MinVersion,
		MaxProtocol: wire.MaxVersion,
		Features:    features,
		Build:       o.build,
		Socket:      o.socket,
		Token:       string(o.token),
		Created:     o.started,
		Workspace:   o.spec.Workspace,
		Argv:        o.spec.Argv,
		Dir:         o.spec.Dir,
		Size:        o.spec.Size,

		Host:         o.hostName(),
		JournalBytes: &o.spec.JournalBytes,
		Clipboard:    o.spec.Clipboard,
	}
}

// harden keeps other processes of this user from looking into the owner. The
// program must have been started before, because root owns /proc/self
// afterwards.
func harden() {
	if err := private.Harden(); err != nil {
		logf("%v", err) // the owner works nevertheless
	}
}

// step moves the owner to the phase that follows an event, or returns an error.
func (o *owner) step(e lifeEvent) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stepLocked(e)
}

// stepLocked is step with mu held.
func (o *owner) stepLocked(e lifeEvent) error {
	next, err := o.phase.on(e)
	if err != nil {
		return fmt.Errorf("session %s: %w", o.spec.ID, err)
	}
	o.phase = next
	o.paused.Store(next == phasePaused)
	o.broadcast()
	return nil
}

// run is step 6. It returns when the session is over and everything that it
// started has ended.
func (o *owner) run() {
	join := o.startLoops()
	for {
		end, u := o.awaitChange()
		if end == nil && u == nil {
			o.giveUp(join)
			return
		}
		if end != nil {
			if err := o.step(eventEnded); err != nil {
				logf("program ended: %v", err)
			}
			o.finish(*end)
			o.linger()
			fault.Here("exit/lingered")
			o.close()
			join()
			cgroup.Find(o.spec.ID).Remove()
			fault.Here("exit/closed")
			o.lock.Close()
			return
		}
		if o.handOver(u, join) { // returns only on failure
			join = o.startLoops()
		}
	}
}

// startLoops starts the loops of the owner: output, screen, replies,
// connections and the reaping of children. join waits until they have ended,
// which only close or a pause makes them do.
func (o *owner) startLoops() (join func()) {
	var loops sync.WaitGroup
	o.mu.Lock()
	o.reading = !o.drained
	for v := range o.viewers { // viewers from before a handover
		o.conns.Go(func() { o.converse(v) })
	}
	if o.reading {
		loops.Go(o.readPTY)
	}
	o.mu.Unlock()
	loops.Go(o.screen.run)
	loops.Go(o.writeAnswers)
	loops.Go(o.serve)
	stopReaping := o.term.Reap(&o.mu, o.reaped, o.lose)
	stopResting := o.startResting()
	stopBinding := o.startBinding()
	return func() {
		loops.Wait()
		o.conns.Wait()
		stopReaping()
		stopResting()
		stopBinding()
	}
}

// broadcast wakes all goroutines that wait for a change. Called with mu held.
func (o *owner) broadcast() {
	o.changed.Broadcast()
	o.newOutput.Broadcast()
	o.screenMoved.Broadcast()
	for v := range o.viewers {
		v.newOutput.Signal()
	}
}

// awaitChange waits for the program's end or a requested upgrade. It returns
// two nils if the host cannot report the program's end.
func (o *owner) awaitChange() (*waitStatus, *upgrade) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.end == nil && o.upgrade == nil && !o.lost {
		o.changed.Wait()
	}
	return o.end, o.upgrade
}

// close closes the listener and all connections, which ends their loops.
func (o *owner) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for v := range o.viewers {
		v.conn.Close()
	}
	o.listener.Close()
}

// wireProgress returns a progress as the protocol has it.
func wireProgress(p vt.Progress) string {
	if p == (vt.Progress{}) {
		return ""
	}
	return p.String()
}

// status returns the reply to the verb status. Called with mu held.
func (o *owner) status() wire.Status {
	s := wire.Status{
		State:     string(o.phase.state()),
		PID:       o.pid,
		OwnerPID:  os.Getpid(),
		StartedAt: o.started,
		Size:      wire.Size(o.size),
		Title:     o.title,
		Progress:  wireProgress(o.progress),
		Oldest:    o.journal.Oldest(),
		Head:      o.recent.head,
		Writer:    o.writerInfo(),
		Watchers:  o.watchers,
		Unseen:    o.unseenNow(),
	}
	if err := o.journal.Failure(); err != nil {
		s.Journal = err.Error()
	}
	if o.end != nil {
		s.PID = 0 // it may be another process's by now
	}
	if o.exit != nil {
		e := wireExit(*o.exit)
		s.Exit = &e
		s.Left, _ = o.remaining() // an error shows as none; a stop lists them again
	}
	return s
}

// writerInfo returns the attached writer, nil if there is none. Called with mu
// held.
func (o *owner) writerInfo() *wire.Writer {
	if o.writer == nil {
		return nil
	}
	w := &wire.Writer{Client: o.writer.client, Since: o.writer.since}
	if typed := o.writer.typed.Load(); typed > 0 {
		w.Typed = time.Unix(0, typed).UTC()
	}
	return w
}
