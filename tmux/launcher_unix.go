//go:build unix

package tmux

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/terminal"
)

// runLauncher is the pane's process: it starts the program on the pane's
// terminal and stays until nothing is left that the program started.
//
//  1. lock      take session.lock; read and delete the specification
//  2. journal   wait until the journal helper has the pane's pipe
//  3. start     chdir, give the terminal to the program, report
//  4. wait      reap whatever ends, until the program has
//  5. exit      write the end marker, wait until the exit is recorded
//  6. linger    reap until no child is left
func runLauncher(dir string) error {
	d := stateDir(dir)
	// Handlers, not SIG_IGN: a program must not inherit ignored signals.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, unix.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP,
		unix.SIGTTIN, unix.SIGTTOU, unix.SIGPIPE)
	lock, err := tryLock(d.path(sessionLock), unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	l, rec, helper, r := d.begin(hup)
	if err := d.report(r); err != nil || r.Step != "" {
		return errors.Join(err, r.err())
	}
	keeper := d.keepHelper(rec, helper)
	hangup := watchTerminal(os.Stdin, func() { endTree(l.PID, rec.Grace) })
	ended, err := reapUntil(l.Program)
	hangup()
	if err == nil {
		err = d.recordExit(rec, keeper, ended)
	}
	if err != nil { // lost, and nothing of it stays behind
		endTree(l.PID, rec.Grace)
		return err
	}
	closeTerminal()
	reapAll()
	return nil
}

// begin does steps 1 to 3 and says how they went.
func (d stateDir) begin(hup <-chan os.Signal) (l launcher, rec record, helper *bufio.Reader, r report) {
	failed := func(step, what string, err error) (launcher, record, *bufio.Reader, report) {
		r := report{Step: step, What: what}
		if !errors.As(err, &r.Errno) {
			r.What = strings.TrimPrefix(what+": "+err.Error(), ": ")
		}
		return launcher{}, rec, nil, r
	}
	var spec launchSpec
	err := d.readJSON(specFile, &spec)
	if err == nil {
		err = os.Remove(d.path(specFile))
	}
	if err == nil {
		rec, err = d.record()
	}
	if err != nil {
		return failed("state", "read the specification", err)
	}
	if helper, err = d.awaitHelper(hup); err != nil {
		return failed("journal", "pipe the output to the journal", err)
	}
	if err := becomeSubreaper(); err != nil {
		return failed("process", "become subreaper", err)
	}
	if err := os.Chdir(spec.Dir); err != nil {
		return failed("directory", "change to "+spec.Dir, err)
	}
	program, err := startProgram(spec)
	if err != nil {
		return failed("program", "run "+spec.Argv[0], err)
	}
	l = launcher{PID: os.Getpid(), Program: program, Started: time.Now()}
	l.Pane, l.Server = inPane()
	if err := d.writeJSON(launcherFile, l, private.ThisBoot); err != nil {
		endTree(l.PID, -1)
		return failed("state", "write "+launcherFile, err)
	}
	return l, rec, helper, report{}
}

func (d stateDir) report(r report) error {
	f, err := os.OpenFile(d.path(startFIFO), os.O_WRONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, fs.ErrNotExist) {
		return nil // the starter is gone; the session is not
	}
	if err != nil {
		return err
	}
	b, err := json.Marshal(r)
	if err == nil {
		_, err = f.Write(append(b, '\n'))
	}
	return errors.Join(err, f.Close())
}

// awaitHelper opens the journal helper's FIFO, which blocks until the helper
// does too, and waits for its word. hup says that tmux has ended the pane.
func (d stateDir) awaitHelper(hup <-chan os.Signal) (*bufio.Reader, error) {
	type result struct {
		r   *bufio.Reader
		err error
	}
	done := make(chan result, 1)
	go func() { // joined below, or by the end of the process
		f, err := os.OpenFile(d.path(helperFIFO), os.O_RDONLY, 0)
		if err != nil {
			done <- result{err: err}
			return
		}
		r := bufio.NewReader(f)
		line, err := r.ReadString('\n')
		if said := strings.TrimSuffix(line, "\n"); err == nil && said != helperReady {
			err = errors.New(said)
		}
		done <- result{r, err}
	}()
	timer := time.NewTimer(helperTimeout)
	defer timer.Stop()
	select {
	case res := <-done:
		return res.r, res.err
	case <-hup:
		return nil, errors.New("tmux ended the pane")
	case <-timer.C:
		return nil, fmt.Errorf("no journal helper after %v", helperTimeout)
	}
}

// startProgram starts the program with exactly the environment that it is
// given, and what a terminal of tmux needs.
// It gets a session's umask and its starter's limit of core files.
func startProgram(spec launchSpec) (pid int, err error) {
	if err := leaveTerminal(); err != nil {
		return 0, fmt.Errorf("give the terminal away: %w", err)
	}
	if err := private.SetCoreLimit(spec.Core); err != nil {
		return 0, err
	}
	defer private.SetCoreLimit(0)
	starters := unix.Umask(0o077)
	defer unix.Umask(starters)
	unix.Umask(private.SessionUmask(starters))
	cmd := &exec.Cmd{
		Path: spec.Argv[0], Args: spec.Argv, Env: programEnv(spec.Spec),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: programAttr(),
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid // before Release forgets it
	return pid, cmd.Process.Release()
}

func programEnv(spec terminal.Spec) []string {
	env := make([]string, 0, len(spec.Env)+4)
	for _, kv := range spec.Env {
		switch key, _, _ := strings.Cut(kv, "="); key {
		case "TERM", "TMUX", "TMUX_PANE", "MIDDLEMAN_SESSION", "MIDDLEMAN_WORKSPACE":
		default:
			env = append(env, kv)
		}
	}
	env = append(env, "TERM="+termName(), "MIDDLEMAN_SESSION="+spec.ID)
	if !has(env, "COLORTERM") {
		env = append(env, "COLORTERM=truecolor")
	}
	if spec.Workspace != "" {
		env = append(env, "MIDDLEMAN_WORKSPACE="+spec.Workspace)
	}
	return env
}

func has(env []string, key string) bool {
	for _, kv := range env {
		if strings.HasPrefix(kv, key+"=") {
			return true
		}
	}
	return false
}

// termName is the terminal that tmux is: Home, End and a few others differ
// from xterm's. Where its description is missing, screen's is near enough.
func termName() string {
	for _, root := range []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/local/share/terminfo"} {
		for _, sub := range []string{"/t/", "/74/"} { // macOS names them by the letter's code
			if _, err := os.Stat(root + sub + "tmux-256color"); err == nil {
				return "tmux-256color"
			}
		}
	}
	return "screen-256color"
}

// reapUntil reaps whatever ends until the process pid has.
func reapUntil(pid int) (unix.WaitStatus, error) {
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for process %d: %w", pid, err)
		case got == pid:
			return ws, nil
		}
	}
}

// reapAll returns when no child is left.
func reapAll() {
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// recordExit sends the exit through the terminal to the journal helper and
// waits until it is on disk; to one that has taken over meanwhile once more,
// since it may have missed the first. Where there is no helper any more while
// the terminal is still there, the launcher makes the record itself.
func (d stateDir) recordExit(rec record, k *keeper, ws unix.WaitStatus) error {
	exit := exitOf(ws)
	unstopTerminal(os.Stdout)
	for event := helperBack; event == helperBack; event = <-k.events {
		if _, err := os.Stdout.Write(endMarker(rec.Nonce, exit)); err != nil {
			return fmt.Errorf("write the end marker: %w", err) // tmux is gone: lost
		}
	}
	if recorded, err := d.exit(); recorded != nil || err != nil {
		return err
	}
	if terminalGone(os.Stdin) {
		return errors.New("tmux ended before the exit was recorded")
	}
	r := d.journal()
	defer r.Close()
	_, head, err := r.Bounds()
	if err != nil {
		return err
	}
	exit.Offset, exit.Size = head, rec.Size
	return d.writeExit(exit)
}

func exitOf(ws unix.WaitStatus) terminal.Exit {
	if ws.Signaled() {
		sig := ws.Signal()
		return terminal.Exit{Code: -1, Signal: int(sig), SignalName: unix.SignalName(sig), Time: time.Now()}
	}
	return terminal.Exit{Code: ws.ExitStatus(), Time: time.Now()}
}

// unstopTerminal makes output flow again where the program or the user has
// stopped it (ctrl-s), and lets the marker pass as it is.
func unstopTerminal(f *os.File) {
	t, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		return
	}
	t.Iflag &^= unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.TOSTOP
	// Where it fails the marker may be late; it is not lost.
	unix.IoctlSetTermios(int(f.Fd()), setTermios, t)
}

// closeTerminal lets go of the pane's terminal.
func closeTerminal() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		dup2(int(null.Fd()), fd)
	}
	null.Close()
}

// watchTerminal calls gone once when the pane's terminal has lost its other
// end, and returns how to wait for that to be over.
func watchTerminal(tty *os.File, gone func()) (join func()) {
	stop, wake, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() { // joined by join
		defer close(done)
		if pollHangup(int(tty.Fd()), int(stop.Fd())) {
			gone()
		}
	}()
	return func() {
		wake.Close()
		<-done
		stop.Close()
	}
}

// pollHangup returns true when fd hangs up, false when stop does.
func pollHangup(fd, stop int) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(fd)}, {Fd: int32(stop), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
		if err == nil && fds[0].Revents != 0 {
			return true
		}
		if err == nil && fds[1].Revents != 0 {
			return false
		}
	}
}

func terminalGone(tty *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(tty.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err != nil || n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
}
