//go:build unix

package tmux

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/host"
)

// Each tmux program is tried out once, because versions differ, distributions
// patch tmux, and users replace it with wrappers. The check uses the same code
// that hosts sessions, on a tmux server of its own, with a program that echoes
// its input.

const (
	// checkedFile is the file in the runtime directory that names the program
	// that has passed.
	checkedFile = "tmux.checked"
	// checkTime bounds the program's replies, and the resize.
	checkTime = 5 * time.Second
	// failedTime is after how long a program that has failed is tried again.
	failedTime = time.Minute
)

// selfCheck is the last result of the check.
type selfCheck struct {
	mu     sync.Mutex // held during the check
	of     string     // the identity of the program
	at     time.Time
	failed error
}

// tried returns nil if the tmux at path has passed the check, and otherwise
// what it does wrong. It runs the check if the result is not known.
func (s *Server) tried(ctx context.Context, path string) error {
	which, err := s.identity(path)
	if err != nil {
		return err
	}
	s.check.mu.Lock()
	defer s.check.mu.Unlock()
	known := s.check.of == which && (s.check.failed == nil || time.Since(s.check.at) < failedTime)
	if known {
		return s.check.failed
	}
	file := filepath.Join(s.o.Runtime, checkedFile)
	if passed, err := private.ReadFile(file); err == nil && string(passed) == which {
		s.check.of, s.check.failed = which, nil
		return nil
	}
	if err := private.MakeDir(s.o.Runtime); err != nil {
		return err
	}
	err = s.tryOut(ctx, path)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("%s does not do what sessions need: %w", path, err)
	} else {
		_ = private.Replace(file, []byte(which), private.ThisBoot) // on failure it is only checked again
	}
	s.check.of, s.check.at, s.check.failed = which, time.Now(), err
	return err
}

// identity returns a text that changes with the tmux program, with ours, and
// with the user's tmux.conf.
func (s *Server) identity(path string) (string, error) {
	exe, err := s.o.Executable()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, p := range []string{path, exe} {
		info, err := os.Stat(p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %d %d\n", p, info.Size(), info.ModTime().UnixNano())
	}
	conf, _ := s.userConf() // Complaint returns the error
	fmt.Fprintf(&b, "%s %s\n", conf.path, conf.stamp)
	return b.String(), nil
}

// tryOut starts a session on a server of its own, checks it, and ends both.
func (s *Server) tryOut(ctx context.Context, path string) error {
	exe, err := s.o.Executable()
	if err != nil {
		return err
	}
	defer private.Expose(exe)()
	dir, alive, err := tryDir(s.o.Runtime)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	defer alive.Close()
	o := Options{Sessions: dir, Runtime: dir, Config: s.o.Config, Executable: s.o.Executable, HistoryLines: 100, Tmux: path, alive: alive.Name()}
	id := terminal.NewID("c")
	state := filepath.Join(dir, id)
	if err := os.Mkdir(state, 0o700); err != nil {
		return err
	}
	st := &starter{b: New(o), p: host.Program{
		Spec: terminal.Spec{
			ID: id, Dir: "/", Argv: []string{"/bin/sh", "-c", "stty raw -echo && printf ready && exec cat"},
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		},
		Size: terminal.DefaultSize, Umask: 0o077, Dir: state, Socket: filepath.Join(dir, "s"),
	}}
	defer func() {
		st.undo()
		ctx, cancel := context.WithTimeout(context.Background(), undoTime)
		defer cancel()
		_, _ = st.c.run(ctx, "kill-server") // an error means that it has ended, or hangs
	}()
	t, err := st.start(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", st.step, err)
	}
	defer t.Close()
	return t.tryOut(ctx, st.c)
}

// tryDir makes a directory to try a tmux out in: in the runtime directory, or
// in /tmp if that path would be too long for sockets. The caller keeps alive
// open until all is over. When alive is closed, even by the end of this
// process, the server ends (see Options.alive).
func tryDir(runtime string) (dir string, alive *os.File, err error) {
	parent := filepath.Join(runtime, TryDir)
	if len(parent) > ipc.MaxSocketPath-40 {
		parent = "/tmp"
	} else if err := private.MakeDir(parent); err != nil {
		return "", nil, err
	}
	old, _ := filepath.Glob(filepath.Join(runtime, TryDir, "*")) // Glob fails only for a bad pattern
	for _, dir := range old {
		// A process that was killed before it started a server has left this.
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > 10*time.Minute {
			os.RemoveAll(dir)
		}
	}
	if dir, err = os.MkdirTemp(parent, "mm-"); err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, "alive.fifo")
	if err = unix.Mkfifo(path, 0o600); err == nil {
		// Open it for reading too, or the open would wait for a reader.
		alive, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		os.RemoveAll(dir)
	}
	return dir, alive, err
}

// tryOut checks a pane whose program echoes its input, and ends the program.
func (t *paneTerminal) tryOut(ctx context.Context, c client) error {
	if err := t.SetDeadline(time.Now().Add(checkTime)); err != nil {
		return err
	}
	if err := t.comesBack(nil, []byte("ready")); err != nil {
		return fmt.Errorf("output did not come as it was printed: %w", err)
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for keys := range slices.Chunk(all, fewKeys) {
		if err := t.comesBack(keys, keys); err != nil {
			return fmt.Errorf("keys did not arrive as they were typed: %w", err)
		}
	}
	paste := bytes.Repeat(all[1:], 8)
	if err := t.comesBack(paste, paste); err != nil {
		return fmt.Errorf("a paste did not arrive as it was: %w", err)
	}
	if err := t.tryResize(ctx, c, terminal.Size{Cols: 101, Rows: 31}); err != nil {
		return fmt.Errorf("a resize did not hold: %w", err)
	}
	if err := unix.Kill(t.Program, unix.SIGKILL); err != nil {
		return err
	}
	t.LetEnd()
	if n, err := t.Read(make([]byte, 4<<10)); n > 0 || !t.marks.found {
		return fmt.Errorf("the end of the output was not reported: %d bytes more, %w", n, err)
	}
	return nil
}

// comesBack types something, and reads until the same number of bytes has come
// back.
func (t *paneTerminal) comesBack(typed, want []byte) error {
	if _, err := t.Write(typed); err != nil {
		return err
	}
	var got []byte
	buf := make([]byte, 4<<10)
	for len(got) < len(want) && bytes.HasPrefix(want, got) {
		n, err := t.Read(buf)
		got = append(got, buf[:n]...)
		if err != nil {
			return fmt.Errorf("%d of %d bytes came: %w", len(got), len(want), err)
		}
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("got %.60q instead of %.60q", got, want)
	}
	return nil
}

// tryResize resizes the pane and waits until tmux has done so too. It polls,
// because there is no event for that.
func (t *paneTerminal) tryResize(ctx context.Context, c client, size terminal.Size) error {
	if err := t.SetSize(size); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	want := fmt.Sprintf("%dx%d", size.Cols, size.Rows)
	for {
		got, err := c.run(ctx, "display-message", "-p", "-t", t.Pane, "#{window_width}x#{window_height} #{pane_width} #{pane_height}")
		if err != nil {
			return err
		}
		now, err := unix.IoctlGetWinsize(int(t.tty.Fd()), unix.TIOCGWINSZ)
		if err != nil {
			return err
		}
		// A hook of the user may have split the window.
		window, pane, _ := strings.Cut(got, " ")
		if window == want && pane == fmt.Sprintln(now.Col, now.Row) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("tmux has %q and the terminal %dx%d, but the size was set to %s", got, now.Col, now.Row, want)
		case <-time.After(pollInterval):
		}
	}
}
