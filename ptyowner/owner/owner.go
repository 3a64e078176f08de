//go:build unix

package owner

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/cgroup"
	"middleman/internal/fault"
	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/host"
	"middleman/terminal/journal"
)

// What happens in an owner process, in detail:
//
//  1. It reads its startRequest from standard input.
//  2. It takes owner.lock; held means that another owner runs the session.
//  3. It binds the socket and writes owner.json.
//  4. Its host opens a terminal and starts the program.
//  5. It reports ready, or the failing step and its error, on
//     descriptor 3, which is the starter's pipe, and closes it.
//  6. It serves until the program has ended, and then some (exit.go).

// maxStartRequest bounds what is read from standard input.
const maxStartRequest = 8 << 20

// owner is the owner process's state.
type owner struct {
	spec    terminal.Spec
	dir     state.Dir
	socket  string // its path
	build   string // of this image
	token   []byte
	started time.Time
	pid     int    // the program's
	umask   int    // the program's: that of a login
	core    uint64 // the program's soft limit of core files

	lock     *os.File // owner.lock, held
	listener *net.UnixListener
	host     host.Host
	term     host.Terminal
	journal  *journal.Writer
	conns    sync.WaitGroup
	paused   atomic.Bool // phase is phasePaused, for those who must not wait for mu
	moving   atomic.Bool // readPTY has output in hand
	// coming is the head that publish is about to make: readers of the journal
	// may have come that far already.
	coming atomic.Uint64
	lent   atomic.Pointer[viewer] // whose connection readPTY has, if any; set with mu held

	// Of a handover: the running executable and its path, once they were asked
	// for, and the connections taken over, in the state's order.
	self      *os.File
	selfPath  string
	inherited []*viewer

	reapCount atomic.Uint64 // children that were waited for

	mu          sync.Mutex // guards all below
	changed     *sync.Cond // on mu: broadcast when anything below changed, but for the next two
	newOutput   *sync.Cond // on mu: the same, and when output came that the screen or early wait for
	early       int        // who waits for output that is in the journal already
	screenMoved *sync.Cond // on mu: the same, and when the screen took something in
	phase       phase
	recent      ring // the newest output, for viewers at the head
	size        terminal.Size
	title       string
	writer      *viewer
	watchers    int
	viewers     map[*viewer]bool // all that are connected, of every mode
	parting     []*viewer        // those who were told to go and do not read it, oldest first
	events      eventLog
	sizes       []sizeChange // that the screen has not come to yet
	answers     [][]byte     // the screen's replies to queries, not yet typed; see answer
	reading     bool         // readPTY runs
	drained     bool         // no output comes any more
	end         *waitStatus  // how the program ended; its pid is not its any more
	lost        bool         // how it ends nobody will tell
	exit        *terminal.Exit
	acked       bool // a client knows of the exit
	recorded    bool // the exit is on disk
	upgrade     *upgrade

	screen screen
	rest   *rest
}

// sizeChange says that size holds from mark.Offset.
type sizeChange struct {
	mark journal.Mark
	size terminal.Size
}

// Main is the owner process: what the hidden command pty-owner runs. args are
// those after the command's name, build is this binary's version. It returns
// the process's exit code. Nothing may have been started or opened in the
// process before. hosts are those that a session may have beside the PTY.
func Main(args []string, build string, hosts ...host.Host) int {
	if len(args) == 1 && strings.HasPrefix(args[0], "--") {
		return answerImage(args[0], build)
	}
	private.NameProcess()
	catchSignals()
	if len(args) >= 3 && args[0] == "--take-over" {
		closeOnExec()
		return takeOverMain(args[1], build, strings.Join(args[3:], " "), hosts)
	}
	if len(args) >= 1 && args[0] == host.AdoptArg {
		return adoptMain(build, hosts)
	}
	unix.CloseOnExec(state.ReportFD)
	closeInherited(state.ExecutableFD)
	report := os.NewFile(state.ReportFD, "ready")
	if _, err := report.Stat(); err != nil {
		fmt.Fprintln(os.Stderr, "pty-owner is started by middleman, not by hand")
		return 2
	}
	o, step, err := startOwner(os.Stdin, hosts)
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

// takeOverMain goes on as the owner that another image was.
func takeOverMain(descriptor, build, problem string, hosts []host.Host) int {
	fd, err := strconv.ParseUint(descriptor, 10, 31)
	if err != nil {
		logf("take over: descriptor %q: %v", descriptor, err)
		return 2
	}
	o, err := takeOver(uintptr(fd), build, problem, hosts)
	if err != nil {
		logf("take over: %v", err)
		return 1
	}
	o.run()
	return 0
}

// newOwner is an owner before anything of it is opened.
func newOwner(spec terminal.Spec, dir, socket, build string) *owner {
	o := &owner{
		spec: spec, dir: state.Dir{ID: spec.ID, Path: dir}, socket: socket, build: build,
		viewers: make(map[*viewer]bool), size: boundSize(spec.Size), rest: newRest(),
	}
	o.changed, o.newOutput, o.screenMoved = sync.NewCond(&o.mu), sync.NewCond(&o.mu), sync.NewCond(&o.mu)
	o.recent.buf = make([]byte, recentBytes)
	return o
}

// startOwner does steps 1 to 4. On error nothing runs and nothing is left but
// the state directory, which is the starter's.
func startOwner(in io.Reader, hosts []host.Host) (o *owner, step string, err error) {
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
	o.umask = private.SessionUmask(unix.Umask(stateUmask))
	if req.Core != nil {
		o.core = *req.Core
	}
	if o.lock, err = takeOwnerLock(o.dir); err != nil {
		return nil, "take " + state.OwnerLockFile, err
	}
	fault.Here("start/lock-taken")
	if err := checkNeverRan(o.dir); err != nil {
		return nil, "look for an earlier run", err
	}
	if o.journal, err = journal.Create(o.dir.Journal(), journal.Options{KeepBytes: o.spec.JournalBytes}); err != nil {
		return nil, "create journal", err
	}
	o.journal.MarkSize(o.size.Cols, o.size.Rows)
	fault.Here("start/journal-created")
	if err := o.bind(); err != nil {
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

// checkNeverRan returns an error where another owner was faster and has ended
// since: the starter of this one was killed, and somebody has started, and
// perhaps stopped, the session anew.
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

// takeOwnerLock takes the lock for the owner's life: flock(2), on a descriptor
// that a handover can pass on. Whoever asks whether an owner lives holds it
// shared for a moment, so it is tried for a while.
func takeOwnerLock(d state.Dir) (*os.File, error) {
	f, err := os.OpenFile(d.File(state.OwnerLockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(2 * time.Second); ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		switch {
		case err == unix.EINTR:
		case err != unix.EWOULDBLOCK:
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		case time.Now().After(deadline):
			f.Close()
			return nil, fmt.Errorf("%s is held: another owner runs this session", f.Name())
		}
		time.Sleep(time.Millisecond)
	}
}

// bind listens on the socket, 0600; a stale one is in nobody's use, because
// the lock is ours.
func (o *owner) bind() error {
	path := o.socket
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

// harden keeps other processes of this user from looking into the owner. A
// program must have been started before, since /proc/self is root's then.
func harden() {
	if err := private.Harden(); err != nil {
		logf("%v", err) // the owner works as well
	}
}

// features are what this build can do beyond its protocol version: its verbs.
var features = []string{"capture", "stop", "input", "wait", "upgrade"}

// step moves the owner to the phase that follows an event, or refuses it.
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

// run is step 6: it returns when the session is over and everything that it
// started has ended.
func (o *owner) run() {
	for {
		join := o.startLoops()
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
		o.handOver(u, join) // it is this image's end, unless it did not work
	}
}

// startLoops starts all that moves: output, screen, replies, connections and
// the reaping of children. join waits for their end, which close and pause
// bring about.
func (o *owner) startLoops() (join func()) {
	var loops sync.WaitGroup
	o.mu.Lock()
	o.reading = !o.drained
	for v := range o.viewers { // those of before a handover
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
	return func() {
		loops.Wait()
		o.conns.Wait()
		stopReaping()
		stopResting()
	}
}

// broadcast wakes all who wait for a change. Called with mu held.
func (o *owner) broadcast() {
	o.changed.Broadcast()
	o.newOutput.Broadcast()
	o.screenMoved.Broadcast()
	for v := range o.viewers {
		v.newOutput.Signal()
	}
}

// awaitChange waits for the program's end, or else for somebody who wants
// another image to take over. Neither says that the end is lost.
func (o *owner) awaitChange() (*waitStatus, *upgrade) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.end == nil && o.upgrade == nil && !o.lost {
		o.changed.Wait()
	}
	return o.end, o.upgrade
}

// close ends all loops and connections; whoever is still here had its time.
func (o *owner) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for v := range o.viewers {
		v.conn.Close()
	}
	o.listener.Close()
}

// status is what the verb status answers. Called with mu held.
func (o *owner) status() wire.Status {
	s := wire.Status{
		State:     string(o.phase.state()),
		PID:       o.pid,
		OwnerPID:  os.Getpid(),
		StartedAt: o.started,
		Size:      wire.Size(o.size),
		Title:     o.title,
		Oldest:    o.journal.Oldest(),
		Head:      o.recent.head,
		Writer:    o.writerInfo(),
		Watchers:  o.watchers,
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
