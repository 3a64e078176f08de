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

	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/host"
)

// What tmux is relied on for is tried out, once for each program: versions
// differ, distributions patch, and wrappers are put in its place. It is done
// with the very code that hosts sessions, on a server of its own: a pane whose
// program says back what is typed.

const (
	// checkedFile is, in the runtime directory, which program has passed.
	checkedFile = "tmux.checked"
	// checkTime is how long each step may take.
	checkTime = 5 * time.Second
	// failedTime is how long one that has failed is not tried again.
	failedTime = time.Minute
)

// selfCheck is what is known of a tmux program.
type selfCheck struct {
	mu     sync.Mutex // held while it is tried
	of     string     // which program
	at     time.Time
	failed error
}

// tried returns nil, or what the tmux at path does not do as it must. It tries
// it out where that is not known.
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
		_ = private.Replace(file, []byte(which), private.ThisBoot) // or it is tried again
	}
	s.check.of, s.check.at, s.check.failed = which, time.Now(), err
	return err
}

// identity names a tmux program, ours, and the user's tmux.conf, as they are now.
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
	conf, _ := s.userConf() // Complaint tells why not
	fmt.Fprintf(&b, "%s %s\n", conf.path, conf.stamp)
	return b.String(), nil
}

// tryOut starts a session as any on a server of its own, and ends both.
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
		_, _ = st.c.run(ctx, "kill-server") // it has ended, or is hung
	}()
	t, err := st.start(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", st.step, err)
	}
	defer t.Close()
	return t.tryOut(ctx, st.c)
}

// tryDir makes a directory to try a tmux out in: below the runtime directory, or
// in /tmp where that path would leave no room for sockets. alive is kept open
// until all is over: when it is closed, also by the end of this process, the
// server there ends (see Options.alive).
func tryDir(runtime string) (dir string, alive *os.File, err error) {
	parent := filepath.Join(runtime, TryDir)
	if len(parent) > private.MaxSocketPath-40 {
		parent = "/tmp"
	} else if err := private.MakeDir(parent); err != nil {
		return "", nil, err
	}
	old, _ := filepath.Glob(filepath.Join(runtime, TryDir, "*")) // the pattern is right
	for _, dir := range old {
		// Of a process that was killed before it had started a server.
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > 10*time.Minute {
			os.RemoveAll(dir)
		}
	}
	if dir, err = os.MkdirTemp(parent, "mm-"); err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, "alive.fifo")
	if err = unix.Mkfifo(path, 0o600); err == nil {
		// For reading too, or it would wait for who reads.
		alive, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		os.RemoveAll(dir)
	}
	return dir, alive, err
}

// tryOut tries what is relied on of a pane whose program says back what it
// reads, and ends it.
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
		return fmt.Errorf("the end of the output was not told: %d bytes more, %w", n, err)
	}
	return nil
}

// comesBack types something, and reads until as much has come back.
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
		return fmt.Errorf("%.60q came, where %.60q had to", got, want)
	}
	return nil
}

// tryResize resizes the pane and waits until tmux has done so too, which it
// tells nobody.
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
		// A hook of the user's may have split the window.
		window, pane, _ := strings.Cut(got, " ")
		if window == want && pane == fmt.Sprintln(now.Col, now.Row) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("tmux has %q, the terminal %dx%d, where it was told %s", got, now.Col, now.Row, want)
		case <-time.After(lockInterval):
		}
	}
}
