//go:build unix

package tmux

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/terminal"
)

const (
	// startTimeout bounds the wait for the launcher's report; it is longer
	// than the launcher waits for the journal helper.
	startTimeout  = 15 * time.Second
	helperTimeout = 10 * time.Second
	lockInterval  = 5 * time.Millisecond // flock(2) cannot wait for a context
)

// report is what the launcher says over start.fifo: the program runs, or the
// step that failed and why.
type report struct {
	Step  string        `json:"step,omitempty"`
	What  string        `json:"what,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
}

func (r report) err() error {
	if r.Errno != 0 {
		return fmt.Errorf("%s: %w", r.What, r.Errno)
	}
	return errors.New(r.What)
}

// Start implements terminal.Backend. An id that has ended already is refused.
func (b *Backend) Start(ctx context.Context, spec terminal.Spec) (terminal.Status, error) {
	fail := func(step string, err error) (terminal.Status, error) {
		return terminal.Status{}, &terminal.StartError{Session: spec.ID, Step: step, Err: err}
	}
	if err := checkSpec(&spec); err != nil {
		return fail("specification", err)
	}
	srv, err := b.server(ctx)
	if err != nil {
		return terminal.Status{}, &terminal.StartError{Session: spec.ID, Step: "tmux", Err: err, Host: true}
	}
	if err := private.MakeDir(b.o.Sessions); err != nil {
		return fail("state", err)
	}
	s := b.session(spec.ID)
	lock, err := s.lockStart(ctx)
	if err != nil {
		return fail("state", err)
	}
	defer lock.Close()
	if there, err := s.there(); err != nil {
		return fail("state", err)
	} else if there {
		return s.Status(ctx)
	}
	if step, err := b.launch(ctx, srv, s, spec); err != nil {
		err = b.suspect(srv, err)
		// The clean-up is not the caller's to cancel.
		left := s.discard(context.WithoutCancel(ctx), srv)
		host := left == nil && (step == "tmux" || step == "journal")
		return terminal.Status{}, &terminal.StartError{Session: spec.ID, Step: step, Err: errors.Join(err, left), Host: host}
	}
	return s.Status(ctx)
}

func checkSpec(spec *terminal.Spec) error {
	if err := terminal.CheckID(spec.ID); err != nil {
		return err
	}
	if len(spec.Argv) == 0 || !filepath.IsAbs(spec.Argv[0]) {
		return fmt.Errorf("program %q is not an absolute path", strings.Join(spec.Argv, " "))
	}
	if !filepath.IsAbs(spec.Dir) {
		return fmt.Errorf("working directory %q is not an absolute path", spec.Dir)
	}
	if spec.Size.Cols == 0 || spec.Size.Rows == 0 {
		spec.Size = terminal.DefaultSize
	}
	return nil
}

// lockStart makes the state directory and takes its start.lock. A starter
// that failed removes the directory, so the lock must be the one at the path.
func (s *session) lockStart(ctx context.Context) (*os.File, error) {
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		if err := os.Mkdir(string(s.dir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err := private.MakeDir(string(s.dir)); err != nil {
			return nil, err
		}
		f, err := tryLock(s.dir.path(startLock), unix.LOCK_EX)
		if err == nil && sameFile(f, s.dir.path(startLock)) {
			return f, nil
		}
		if err == nil {
			f.Close()
		} else if !errors.Is(err, errLocked) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// there reports whether the session runs. One that has ended, or that another
// backend has, is an error: ids are never used twice. What a crashed starter
// left is nobody's and may go.
func (s *session) there() (bool, error) {
	for _, other := range []string{"owner.lock", "owner.json"} {
		if _, err := os.Lstat(s.dir.path(other)); err == nil {
			return false, errors.New("the pty-owner has a session of this id")
		}
	}
	if exit, err := s.dir.exit(); err != nil {
		return false, err
	} else if exit != nil {
		return false, terminal.ErrEnded
	}
	running, err := s.dir.running()
	if running || err != nil {
		return running, err
	}
	var l launcher
	if err := s.dir.readJSON(launcherFile, &l); err == nil {
		return false, terminal.ErrGone
	}
	return false, nil
}

// launch writes the state, makes the tmux session and waits for the
// launcher's report. On an error it names the step.
func (b *Backend) launch(ctx context.Context, srv server, s *session, spec terminal.Spec) (string, error) {
	exe, err := b.o.Executable()
	if err != nil {
		return "executable", err
	}
	defer private.Expose(exe)()
	if err := s.writeState(srv, b.o.Runtime, spec); err != nil {
		return "state", err
	}
	reports, err := openReports(s.dir.path(startFIFO))
	if err != nil {
		return "state", err
	}
	defer reports.Close()
	b.reviveServer(ctx, srv)
	said, err := s.create(ctx, srv, exe, spec.Size, b.userConf())
	if err != nil {
		return "tmux", err
	}
	if said != "" {
		b.complain(said)
	}
	r, err := readReport(ctx, reports)
	if err != nil {
		return "launcher", err
	}
	if r.Step != "" {
		return r.Step, r.err()
	}
	return "", os.Remove(s.dir.path(startFIFO))
}

func (s *session) writeState(srv server, runtime string, spec terminal.Spec) error {
	var nonce [16]byte
	rand.Read(nonce[:]) // never fails, see crypto/rand
	notify := s.dir.path("notify.sock")
	if len(notify) > maxSocketPath {
		notify = filepath.Join(runtime, s.id+".sock")
	}
	if n := len(notify); n > maxSocketPath {
		return fmt.Errorf("socket path %s has %d bytes, a socket's may have %d: use a shorter runtime directory",
			notify, n, maxSocketPath)
	}
	if err := s.dir.writeJSON(specFile, launchSpec{spec, private.CoreLimit()}, private.ThisBoot); err != nil {
		return err
	}
	for _, name := range []string{startFIFO, helperFIFO} {
		if err := unix.Mkfifo(s.dir.path(name), 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make %s: %w", s.dir.path(name), err)
		}
	}
	return s.dir.writeJSON(recordFile, record{
		Format: formatVersion, ID: spec.ID, Workspace: spec.Workspace, Argv: spec.Argv, Dir: spec.Dir,
		Size: spec.Size, Grace: spec.Grace, JournalBytes: spec.JournalBytes, Clipboard: spec.Clipboard, Created: time.Now(),
		Nonce: hex.EncodeToString(nonce[:]), Tmux: srv.tmux, Socket: srv.socket, Notify: notify,
	}, private.Durable)
}

// createAttempts is how often a session is tried to be made on a server that
// ends at that very moment because its last session did.
const createAttempts = 5

// create makes the tmux session with its mark and its pipe, in one command
// sequence, and reads the mark back. A session that was made and could not be
// marked is killed again. It returns what tmux said of the user's tmux.conf.
func (s *session) create(ctx context.Context, srv server, exe string, size terminal.Size, userConf string) (said string, err error) {
	pane := paneTarget(s.id)
	cols, rows := strconv.Itoa(int(size.Cols)), strconv.Itoa(int(size.Rows))
	args := append(slices.Concat(readUserConf(userConf), vital()),
		"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", s.id, "-c", "/",
		"-x", cols, "-y", rows,
		"--", exe, CommandRun, string(s.dir),
		";", "set-option", "-t", pane, ownerOption, s.mark,
		";", "set-option", "-p", "-t", pane, ownerOption, s.mark,
		";", "set-option", "-p", "-t", pane, paneOption, s.id,
		";", "set-option", "-w", "-t", pane, "window-size", "manual",
		// tmux 3.2 may have given it the size of a client of another session.
		";", "resize-window", "-t", pane, "-x", cols, "-y", rows,
		";", "select-pane", "-t", pane, "-T", "",
		";", "pipe-pane", "-O", "-t", pane, pipeCommand(exe, s.dir),
		";", "show-options", "-v", "-t", pane, ownerOption,
		";", "show-options", "-p", "-v", "-t", pane, paneOption,
	)
	for range createAttempts {
		var out string
		out, err = srv.runFirst(ctx, args...)
		said, made, marks := cutPaneID(out)
		if made != "" && marks == s.mark+"\n"+s.id+"\n" {
			if said == "" && err != nil {
				said = err.Error() // a setting that tmux refused, without the place
			}
			return said, nil
		}
		if err == nil {
			err = fmt.Errorf("set the owner mark of %s: tmux has %q", s.id, marks)
		}
		if made != "" {
			// By its id: whatever went wrong may have changed its name.
			_, killErr := srv.run(context.WithoutCancel(ctx), nil, "kill-pane", "-t", made)
			return "", errors.Join(err, killErr)
		}
		if ctx.Err() != nil || !serverEnded(err) {
			break
		}
	}
	return "", err
}

// suspect names the user's tmux.conf where a start failed as one does whose
// tmux server ended at once, or got stuck.
func (b *Backend) suspect(srv server, err error) error {
	conf := b.userConf()
	if _, there := os.Stat(conf); conf == "" || there != nil || srv.listening() && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w (tmux has read your own settings in %s: try without them)", err, conf)
}

// cutPaneID cuts what tmux printed into what it said before it made a pane, the
// line with the pane's id, and what came after that.
func cutPaneID(out string) (said, id, rest string) {
	for line := range strings.Lines(out) {
		id := strings.TrimSuffix(line, "\n")
		if n, is := strings.CutPrefix(id, "%"); is && n != "" && strings.Trim(n, "0123456789") == "" {
			return said, id, out[len(said)+len(line):]
		}
		said += line
	}
	return said, "", ""
}

// pipeCommand is what pipe-pane runs: the journal helper.
func pipeCommand(exe string, d stateDir) string {
	return formatQuote("exec " + shellQuote(exe) + " " + CommandJournal + " " + shellQuote(string(d)))
}

// serverEnded reports whether err says that the server went away under the
// client, which is what one that is just ending looks like.
func serverEnded(err error) bool {
	if errors.Is(err, errNoServer) {
		return true
	}
	for _, said := range []string{"server exited", "lost server", "no server running"} {
		if strings.Contains(err.Error(), said) {
			return true
		}
	}
	return false
}

// openReports opens the FIFO for reading and, so that it neither blocks nor
// ends while there is no writer, for writing.
func openReports(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }

// readReport waits for the launcher's line. Where it does not come in time, or
// ctx ends, an empty line of our own wakes the reader.
func readReport(ctx context.Context, fifo *os.File) (report, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { fifo.WriteString("\n") })
	line, err := bufio.NewReader(fifo).ReadBytes('\n')
	if !stop() && len(line) <= 1 {
		return report{}, fmt.Errorf("wait for the launcher: %w", ctx.Err())
	}
	if err != nil {
		return report{}, fmt.Errorf("wait for the launcher: %w", err)
	}
	var r report
	if err := json.Unmarshal(line, &r); err != nil {
		return report{}, fmt.Errorf("read the launcher's report: %w", err)
	}
	return r, nil
}

// discard removes what a failed start has made.
func (s *session) discard(ctx context.Context, srv server) error {
	if err := s.killMarked(ctx, srv); err != nil {
		return err
	}
	if err := s.awaitLauncher(ctx, helperTimeout); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(string(s.dir)), s.removeNotify())
}
