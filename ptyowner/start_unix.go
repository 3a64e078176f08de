//go:build unix

package ptyowner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"middleman/internal/cgroup"
	"middleman/internal/fault"
	"middleman/internal/private"
	"middleman/internal/systemd"
	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/journal"
)

func usable() error { return nil }

// What happens at a start, in detail:
//
//  1. The state directory is made, and checked from the data directory down.
//  2. start.lock is taken, so that of concurrent starters one goes on at a time.
//  3. owner.lock is tried: held means running, and the status is returned. An
//     exit on disk means ended, whoever holds the lock.
//  4. This very executable is run as `middleman pty-owner` in a session of its
//     own, with a minimal environment; the specification goes in over stdin.
//     Where this process runs in a systemd service, the owner is in a scope of
//     its own before it begins.
//  5. The owner reports ready, or the step that did not work, over a pipe.
//  6. start.lock is released. A goroutine waits for the helper, so that no
//     zombie is left while this process lives.

// Start starts a session; see terminal.Backend.
func (b *Backend) Start(ctx context.Context, spec terminal.Spec) (terminal.Status, error) {
	if err := terminal.CheckID(spec.ID); err != nil {
		return terminal.Status{}, &terminal.StartError{Session: spec.ID, Step: "check id", Err: err}
	}
	d := b.stateDir(spec.ID)
	config, err := b.hostConfig(ctx)
	if err != nil {
		return terminal.Status{}, &terminal.StartError{Session: spec.ID, Step: b.Name(), Err: err, Host: true}
	}
	made, err := b.makeStateDir(d)
	if err != nil {
		return terminal.Status{}, &terminal.StartError{Session: spec.ID, Step: "make state directory", Err: err}
	}
	fault.Here("starter/directory-made")
	started, err := b.startLocked(ctx, d, state.StartRequest{Spec: spec, Dir: d.Path, Build: b.o.Build, Host: b.hostName(), HostConfig: config}, made)
	if err != nil {
		if made && !started {
			os.RemoveAll(d.Path)
		}
		return terminal.Status{}, err
	}
	return b.Session(spec.ID).Status(ctx)
}

// hostConfig is what the host's side in the owner has to know.
func (b *Backend) hostConfig(ctx context.Context) (json.RawMessage, error) {
	if b.o.Host == nil {
		return nil, nil
	}
	return b.o.Host.Config(ctx)
}

// makeStateDir makes the state directory and says whether it was not there.
func (b *Backend) makeStateDir(d state.Dir) (made bool, err error) {
	for _, dir := range []string{b.o.Data, b.o.Sessions} {
		if err := private.MakeDir(dir); err != nil {
			return false, err
		}
	}
	err = os.Mkdir(d.Path, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	made = err == nil
	if made && b.o.Host != nil {
		err = os.WriteFile(d.File(state.HostFile), []byte(b.hostName()), 0o600)
	} else {
		err = nil
	}
	if err = errors.Join(err, d.Check(b.o.Data)); err != nil {
		if made {
			os.RemoveAll(d.Path)
		}
		return false, err
	}
	return made, nil
}

// startLocked does steps 2 to 6. started says that somebody's owner runs or
// has run here, so the state directory is not ours to remove.
func (b *Backend) startLocked(ctx context.Context, d state.Dir, req state.StartRequest, made bool) (started bool, err error) {
	fail := func(step string, err error) (bool, error) {
		var r reportError
		faulty := !started && errors.As(err, &r) && r.report.Host
		return started, &terminal.StartError{Session: req.Spec.ID, Step: step, Err: err, Host: faulty}
	}
	lock, err := private.Lock(d.File(state.StartLockFile))
	if err != nil {
		return fail("take "+state.StartLockFile, err)
	}
	defer lock.Close()
	if ok, err := lock.TryLockContext(ctx, 2*time.Millisecond); !ok {
		started = true // whoever holds it
		return fail("take "+state.StartLockFile, err)
	}
	fault.Here("starter/lock-taken")
	life, err := d.Probe()
	if err != nil {
		started = true
		return fail("try "+state.OwnerLockFile, err)
	}
	// After the look for life, for an owner may record the exit and go at any
	// time; and whatever lives: an owner lingers, and one that takes over a host
	// finds out that there is nothing to do.
	if _, ended, err := d.ReadExit(); err != nil || ended {
		started = true
		return fail("read "+state.ExitFile, errors.Join(err, terminal.ErrEnded))
	}
	if life == state.Alive {
		return true, nil
	}
	if !made {
		if err := checkUnused(d); err != nil {
			started = true
			return fail("look for an earlier run", err)
		}
	}
	if req.Socket, err = b.socketPath(d); err != nil {
		return fail("choose socket", err)
	}
	run, err := b.openExecutable()
	if err != nil {
		return fail("find own executable", err)
	}
	defer run.close()
	core := private.CoreLimit()
	req.Core = &core
	report, err := b.runOwner(ctx, run, d, req)
	step := "run owner"
	if err == nil && report.Error != "" {
		step, err = report.Step, reportError{report}
	}
	if err == nil {
		return true, nil
	}
	started, undoErr := undoStart(d)
	if started && undoErr == nil {
		return true, nil // by the owner of a starter that was killed
	}
	return fail(step, errors.Join(err, undoErr))
}

// reportError is a startReport's error on the starter's side.
type reportError struct{ report state.StartReport }

func (e reportError) Error() string { return e.report.Error }

func (e reportError) Unwrap() error {
	if e.report.Errno == 0 {
		return nil
	}
	return e.report.Errno
}

// checkUnused returns an error where a session has run that no owner has any
// more: its output is not another's to go on with, and what it has left
// running is a stop's to end.
func checkUnused(d state.Dir) error {
	r := journal.Open(d.Journal())
	defer r.Close()
	_, head, err := r.Bounds()
	if err != nil {
		return err
	}
	left, err := d.Strays()
	if err != nil {
		return err
	}
	if head == 0 && len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%w: its owner ended without an exit record and left %d bytes of output and %d processes; stop and remove it first: %s",
		terminal.ErrGone, head, len(left), d.Path)
}

// undoStart ends what an owner that did not get ready has started. alive says
// that nothing was, because there is another owner, or that it is not gone
// for certain.
func undoStart(d state.Dir) (alive bool, err error) {
	l, release, err := d.HoldGone()
	defer release()
	if err != nil || l != state.Dead {
		return true, err
	}
	if left := d.StopStrays(0); len(left) > 0 {
		return true, &terminal.LeftoverError{Session: d.ID, PIDs: left}
	}
	return false, nil
}

// executable is what to run as owner: a path, and the file that this goes by
// where it is that of a descriptor.
type executable struct {
	path string
	file *os.File // nil where path is all
}

// close closes the file.
func (e executable) close() {
	if e.file != nil {
		e.file.Close()
	}
}

// openExecutable finds what to run as owner.
func (b *Backend) openExecutable() (executable, error) {
	if b.o.Executable == nil {
		return openOwn()
	}
	path, err := b.o.Executable()
	return executable{path: path}, err
}

// ownerCommand is the helper that becomes the owner: it reads spec, and reports
// on report.
func ownerCommand(run executable, d state.Dir, spec []byte, log, report *os.File) *exec.Cmd {
	// Never exec.CommandContext: an owner outlives every context.
	cmd := exec.Command(run.path, "pty-owner", d.Path) // the path is for who reads ps(1)
	cmd.Args[0] = "middleman"
	cmd.Dir = "/"
	// For each processor that it may use, the runtime takes memory at once.
	cmd.Env = append(fault.Env(), "PATH=/usr/local/bin:/usr/bin:/bin", "GOMAXPROCS=2")
	cmd.Stdin = bytes.NewReader(spec)
	cmd.Stderr = log
	cmd.ExtraFiles = []*os.File{report} // state.ReportFD
	if run.file != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, run.file) // state.ExecutableFD
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// runOwner runs the helper and waits for its report. If ctx ends first the
// helper is ended, and with it whatever it has started.
func (b *Backend) runOwner(ctx context.Context, run executable, d state.Dir, req state.StartRequest) (report state.StartReport, err error) {
	spec, err := json.Marshal(req)
	if err != nil {
		return report, err
	}
	ready, theirs, err := os.Pipe()
	if err != nil {
		return report, err
	}
	defer ready.Close()
	log, err := os.OpenFile(d.File(state.LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		theirs.Close()
		return report, err
	}
	defer log.Close()
	cmd, outside, err := systemd.Start(ctx, systemd.SessionScope(d.ID), func() *exec.Cmd { return ownerCommand(run, d, spec, log, theirs) })
	if outside != nil {
		state.Note(log, "the session ends with the server's unit: %v", outside)
	}
	theirs.Close()
	if err != nil {
		return report, err
	}
	fault.Here("starter/owner-spawned")
	waited := make(chan error, 1)
	noted := make(chan struct{})
	b.waits.Store(d.ID, noted)
	kills := cgroup.OOMKills(cmd.Process.Pid)
	b.owners.Go(func() { // so that no zombie is left
		defer close(noted)
		err := cmd.Wait()
		noteEnd(d, cmd, kills())
		b.waits.CompareAndDelete(d.ID, noted)
		waited <- err
	})
	stop := context.AfterFunc(ctx, func() { ready.SetReadDeadline(time.Now()) })
	defer stop()
	err = json.NewDecoder(io.LimitReader(ready, 64<<10)).Decode(&report)
	fault.Here("starter/report-read")
	if err != nil && ctx.Err() != nil {
		cmd.Process.Kill()
		<-waited
		return report, fmt.Errorf("wait for the owner: %w", ctx.Err())
	}
	if report.Error != "" {
		<-waited // it holds the lock until it has ended
	}
	if err != nil {
		return report, fmt.Errorf("owner ended before it was ready (%v): %s", <-waited, lastLine(d.File(state.LogFile)))
	}
	return report, nil
}

// lastLine is the last line of a log, for an error message.
func lastLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(data))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// noteEnd writes down how an owner ended that this process has started. Where
// nobody is left to wait for an owner, nobody knows.
func noteEnd(d state.Dir, cmd *exec.Cmd, killed int) {
	if cmd.ProcessState == nil || cmd.ProcessState.Success() {
		return // it has said itself how the session ended
	}
	log, err := os.OpenFile(d.File(state.LogFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return // the state was removed meanwhile
	}
	defer log.Close()
	state.Note(log, endNote, cmd.Process.Pid, cmd.ProcessState, killed)
}

// wentAway reports whether err is what one sees of an owner that has not
// begun to listen, or has just ended: there is no socket, nobody listens on
// it, or the connection was closed. It proves nothing; it is worth a second
// look.
func wentAway(err error) bool {
	for _, gone := range []error{
		fs.ErrNotExist, io.EOF, io.ErrUnexpectedEOF,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE,
	} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}
