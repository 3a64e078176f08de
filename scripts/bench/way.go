//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/creack/pty"

	"middleman/ptyowner"
	"middleman/scripts/bench/tmuxway"
	"middleman/terminal"
	"middleman/terminal/host"
)

// way is how a viewer reaches a program on a terminal.
type way struct {
	name string
	open func(b *bench, argv []string) (*view, error)
}

// The ways. Peers are there where they are installed.
var (
	bare    = way{"bare PTY", openBare}
	owner   = way{"owner", openOwner}
	attach  = way{"attach", func(b *bench, argv []string) (*view, error) { return openAttach(b, argv, ptyowner.Name) }}
	chain   = way{"WebSocket", func(b *bench, argv []string) (*view, error) { return openChain(b, argv, ptyowner.Name) }}
	ourTmux = way{"our tmux", openOurTmux}
	plain   = way{"tmux", openTmux}
	dtach   = way{"dtach", openDtach}
	screen  = way{"screen", openScreen}
	ttyd    = way{"ttyd", openTtyd}

	tmuxAttach = way{"attach, host tmux", func(b *bench, argv []string) (*view, error) { return openAttach(b, argv, tmuxway.Name) }}
	tmuxChain  = way{"WebSocket, host tmux", func(b *bench, argv []string) (*view, error) { return openChain(b, argv, tmuxway.Name) }}
)

// installed returns those of the peers whose program is there.
func (b *bench) installed(peers ...way) (found []way) {
	for _, p := range peers {
		if _, err := exec.LookPath(p.name); err == nil {
			found = append(found, p)
		} else if !slices.Contains(b.absent, p.name) {
			b.absent = append(b.absent, p.name)
		}
	}
	return found
}

// view is one attached viewer. Each read is what came at once.
type view struct {
	way   string
	read  func() ([]byte, error)
	write func(p []byte) error
	close func()
}

// until reads until mark has come, which reads may cut.
func (v *view) until(mark string) error {
	var tail []byte
	for {
		p, err := v.read()
		if err != nil {
			return fmt.Errorf("read from %s: %w", v.way, err)
		}
		if bytes.Contains(p, []byte(mark)) {
			return nil
		}
		tail = append(tail, p[max(0, len(p)-len(mark)):]...)
		if bytes.Contains(tail, []byte(mark)) {
			return nil
		}
		tail = tail[max(0, len(tail)-len(mark)+1):]
	}
}

// end ends the program, and with it the view; what does not end by the
// program's quit, close ends.
func (v *view) end() {
	late := time.AfterFunc(3*time.Second, v.close)
	err := v.write([]byte{quit})
	for err == nil {
		_, err = v.read()
	}
	late.Stop()
	v.close()
}

// openAll opens ways on programs of their own and waits until they run.
func (b *bench) openAll(ways []way, argv []string) (views []*view, err error) {
	for _, w := range ways {
		v, err := w.open(b, argv)
		if err == nil {
			v.way = w.name
			views = append(views, v)
			stuck := time.AfterFunc(20*time.Second, v.close)
			err = v.until(readyMark)
			stuck.Stop()
		}
		if err != nil {
			endAll(views)
			return nil, fmt.Errorf("open %s: %w", w.name, err)
		}
	}
	return views, nil
}

func endAll(views []*view) {
	for _, v := range views {
		v.end()
	}
}

// spawn runs a viewer's program on a PTY that we read.
func (b *bench) spawn(env []string, argv ...string) (*view, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = b.dir
	cmd.Env = append([]string{"TERM=xterm-256color", "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + b.dir}, env...)
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: b.size.Rows, Cols: b.size.Cols})
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 64<<10)
	return &view{
		read: func() ([]byte, error) {
			n, err := master.Read(buf)
			return buf[:n], err
		},
		write: func(p []byte) error {
			_, err := master.Write(p)
			return err
		},
		close: sync.OnceFunc(func() {
			master.Close()
			gone := time.AfterFunc(2*time.Second, func() { cmd.Process.Kill() })
			cmd.Wait()
			gone.Stop()
		}),
	}, nil
}

func openBare(b *bench, argv []string) (*view, error) { return b.spawn(nil, argv...) }

func openDtach(b *bench, argv []string) (*view, error) {
	socket := filepath.Join(b.dir, terminal.NewID("d"))
	return b.spawn(nil, append([]string{"dtach", "-c", socket, "-Ez", "-r", "none"}, argv...)...)
}

func openScreen(b *bench, argv []string) (*view, error) {
	dir := filepath.Join(b.dir, "screen")
	config := filepath.Join(b.dir, "screenrc")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, []byte("startup_message off\nescape ^@^@\nhardstatus off\n"), 0o600); err != nil {
		return nil, err
	}
	return b.spawn([]string{"SCREENDIR=" + dir}, append([]string{"screen", "-U", "-c", config, "-S", terminal.NewID("n")}, argv...)...)
}

// openTmux is tmux as it comes, but for the status line, which ours has not
// either.
func openTmux(b *bench, argv []string) (*view, error) {
	config := filepath.Join(b.dir, "tmux.conf")
	if err := os.WriteFile(config, []byte("set -g status off\n"), 0o600); err != nil {
		return nil, err
	}
	socket := filepath.Join(b.dir, terminal.NewID("t"))
	return b.spawn(nil, append([]string{"tmux", "-S", socket, "-f", config, "new-session"}, argv...)...)
}

// ourBackend makes sessions of this binary's, all below dir. h is the owners'
// host, nil a PTY of their own.
func (b *bench) ourBackend(dir string, h host.Provider) terminal.Backend {
	return ptyowner.New(ptyowner.Options{
		Data: dir, Sessions: filepath.Join(dir, "sessions"), Runtime: filepath.Join(dir, "run"), Host: h,
		Executable: func() (string, error) { return b.binary, nil },
	})
}

func openOwner(b *bench, argv []string) (*view, error) {
	return b.openSession(b.ourBackend(filepath.Join(b.dir, "own"), nil), argv)
}

func openOurTmux(b *bench, argv []string) (*view, error) {
	dir := filepath.Join(b.dir, "ot")
	return b.openSession(b.ourBackend(dir, tmuxway.Host(dir, b.binary)), argv)
}

// spec is what every session of ours is started with.
func (b *bench) spec(argv []string) terminal.Spec {
	return terminal.Spec{
		ID: terminal.NewID("s"), Argv: argv, Dir: b.dir, Size: b.size, JournalBytes: 16 << 20,
		Env: []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + b.dir}, Grace: time.Second,
	}
}

// openSession starts a session and attaches to all of its output.
func (b *bench) openSession(backend terminal.Backend, argv []string) (*view, error) {
	spec := b.spec(argv)
	if _, err := backend.Start(b.ctx, spec); err != nil {
		return nil, err
	}
	s := backend.Session(spec.ID)
	remove := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), 10*time.Second)
		defer cancel()
		if s.Stop(ctx, -1) == nil {
			s.Remove(ctx)
		}
	}
	from := uint64(0)
	o := terminal.AttachOptions{Mode: terminal.ModeAttach, Size: b.size, From: &from}
	a, err := s.Attach(b.ctx, o)
	if err != nil {
		remove()
		return nil, err
	}
	return &view{
		read: func() ([]byte, error) {
			m, err := a.Receive()
			return m.Data, err
		},
		write: a.Input,
		close: sync.OnceFunc(func() {
			a.Close()
			remove()
		}),
	}, nil
}
