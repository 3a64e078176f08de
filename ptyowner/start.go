package ptyowner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"middleman/internal/cgroup"
	"middleman/internal/fault"
	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/journal"
)

// The steps of a start:
//
//  1. Start makes the state directory and checks every directory from the data
//     directory down to it.
//  2. It takes start.lock, so that concurrent starters go on one at a time.
//  3. It tries owner.lock. If that is held the session runs: Start returns its
//     status. If an exit is on disk the session has ended, even if an owner
//     still holds the lock.
//  4. It runs this executable as `middleman pty-owner` in a process session of
//     its own, with a minimal environment, and writes the specification to its
//     stdin. If this process runs in a systemd service, the owner is moved to a
//     systemd scope of its own before it begins. On Unix it inherits start.lock,
//     and closes it once it holds owner.lock: while both are free, no owner lives and
//     none is about to begin, even if this process was killed meanwhile.
//  5. The owner reports over a pipe that it is ready, or which step failed.
//  6. Start releases start.lock. A goroutine waits for the owner process, so
//     that it leaves no zombie while this process lives.

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
			b.unlinkAgent(d)
			private.RemoveAll(d.Path)
		}
		return terminal.Status{}, err
	}
	return b.Session(spec.ID).Status(ctx)
}

// hostConfig returns what the host's code in the owner must know.
func (b *Backend) hostConfig(ctx context.Context) (json.RawMessage, error) {
	if b.o.Host == nil {
		return nil, nil
	}
	return b.o.Host.Config(ctx)
}

// makeStateDir makes the state directory; made is false if it existed.
func (b *Backend) makeStateDir(d state.Dir) (made bool, err error) {
	for _, dir := range []string{b.o.Data, b.o.Sessions} {
		if err := private.MakeDir(dir); err != nil {
			return false, err
		}
	}
	err = private.Mkdir(d.Path)
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
			private.RemoveAll(d.Path)
		}
		return false, err
	}
	return made, nil
}

// startLocked does steps 2 to 6. started means that an owner runs or has run
// here, so the caller must not remove the state directory.
func (b *Backend) startLocked(ctx context.Context, d state.Dir, req state.StartRequest, made bool) (started bool, err error) {
	fail := func(step string, err error) (bool, error) {
		var r reportError
		faulty := !started && errors.As(err, &r) && r.report.Host
		return started, &terminal.StartError{Session: req.Spec.ID, Step: step, Err: err, Host: faulty}
	}
	lock, err := private.AwaitLockFile(ctx, d.File(state.StartLockFile))
	if err != nil {
		started = errors.Is(err, private.ErrHeld) // by the starter that holds the lock
		return fail("take "+state.StartLockFile, err)
	}
	defer lock.Close()
	fault.Here("starter/lock-taken")
	life, err := d.Probe()
	if err != nil {
		started = true
		return fail("try "+state.OwnerLockFile, err)
	}
	// Read this after the probe, because an owner may record the exit and end
	// at any time. Read it even if an owner lives: one that lingers has an
	// exit, and so may one that takes over from a killed owner.
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
	if req.Spec.Env, err = b.prepareEnvironment(d, req.Spec); err != nil {
		return fail("record the environment", err)
	}
	step, err := b.tryOwner(ctx, d, req, lock)
	if err == nil {
		return true, nil
	}
	started, undoErr := undoStart(d)
	if started && undoErr == nil {
		return true, nil // the owner of a starter that was killed
	}
	return fail(step, errors.Join(err, undoErr))
}

// tryOwner runs an owner until it reports that the program runs. On error, step
// is the step that failed.
func (b *Backend) tryOwner(ctx context.Context, d state.Dir, req state.StartRequest, lock private.LockFile) (step string, err error) {
	run, err := b.openExecutable()
	if err != nil {
		return "find own executable", err
	}
	defer run.close()
	core := private.CoreLimit()
	req.Core = &core
	report, err := b.runOwner(ctx, run, d, req, lock)
	if err == nil && report.Error != "" {
		return report.Step, reportError{report}
	}
	return "run owner", err
}

// reportError is the error of a state.StartReport.
type reportError struct{ report state.StartReport }

func (e reportError) Error() string { return e.report.Error }

func (e reportError) Unwrap() error {
	if e.report.Errno == 0 {
		return nil
	}
	return e.report.Errno
}

// checkUnused returns an error if the session has run and its owner is gone. A
// new owner must not continue its output, and only a stop may end the processes
// that it left.
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

// undoStart ends the processes that a failed owner started. alive means that
// the state directory must stay: another owner lives, or err says that this is
// uncertain or which processes did not end.
func undoStart(d state.Dir) (alive bool, err error) {
	l, release, err := d.HoldGone()
	defer release()
	if err != nil || l != state.Dead {
		return true, err
	}
	err = d.StopStrays(0)
	return err != nil, err
}

// executable is the binary to run as owner: its path and, if the path names a
// descriptor, the open file behind it.
type executable struct {
	path string
	file *os.File // nil if the path needs no descriptor
}

// close closes the file.
func (e executable) close() {
	if e.file != nil {
		e.file.Close()
	}
}

// openExecutable finds the binary to run as owner.
func (b *Backend) openExecutable() (executable, error) {
	if b.o.Executable == nil {
		return openOwn()
	}
	path, err := b.o.Executable()
	return executable{path: path}, err
}

// runOwner starts the owner and waits for its report. If ctx ends first,
// runOwner kills the owner; the caller ends what that has started.
func (b *Backend) runOwner(ctx context.Context, run executable, d state.Dir, req state.StartRequest, lock private.LockFile) (report state.StartReport, err error) {
	spec, err := json.Marshal(req)
	if err != nil {
		return report, err
	}
	ready, theirs, err := os.Pipe()
	if err != nil {
		return report, err
	}
	defer ready.Close()
	log, err := private.Append(d.File(state.LogFile))
	if err != nil {
		theirs.Close()
		return report, err
	}
	defer log.Close()
	cmd, err := spawnOwner(ctx, run, d, spec, log, theirs, lock)
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
	stop := context.AfterFunc(ctx, func() { stopReading(ready, cmd) })
	defer stop()
	err = json.NewDecoder(io.LimitReader(ready, 64<<10)).Decode(&report)
	fault.Here("starter/report-read")
	if err != nil && ctx.Err() != nil {
		cmd.Process.Kill()
		<-waited
		return report, fmt.Errorf("wait for the owner: %w", ctx.Err())
	}
	if report.Error != "" {
		<-waited // it holds owner.lock until it has ended
	}
	if err != nil {
		return report, fmt.Errorf("owner ended before it was ready (%v): %s", <-waited, lastLine(d.File(state.LogFile)))
	}
	return report, nil
}

// lastLine returns the last line of a log, for an error message.
func lastLine(path string) string {
	data, err := private.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(data))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// noteEnd logs how an owner that this process started has ended, unless it
// ended well. Without a process that waits for the owner, that is not known.
func noteEnd(d state.Dir, cmd *exec.Cmd, killed int) {
	if cmd.ProcessState == nil || cmd.ProcessState.Success() {
		return // the exit record says how the session ended
	}
	log, err := os.OpenFile(d.File(state.LogFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return // the state was removed meanwhile
	}
	defer log.Close()
	state.Note(log, endNote, cmd.Process.Pid, cmd.ProcessState, killed)
}
