//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/creack/pty"
)

// patience is how long a step may take.
const patience = 60 * time.Second

var environment = []string{
	"PATH=/usr/local/go/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/games",
	"HOME=/home/u", "USER=u", "LOGNAME=u", "SHELL=/bin/bash", "TZ=UTC",
	"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "PS1=u@box:\\w\\$ ",
	"GOCACHE=/home/u/.cache/go", "GOPATH=/home/u/go", "GOPROXY=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local",
	"NPM_CONFIG_UPDATE_NOTIFIER=false",
}

// play runs a scenario to its end and returns what was printed.
func play(steps []step, setup string) (*tape, error) {
	setup, err := filepath.Abs(setup)
	if err != nil {
		return nil, fmt.Errorf("find setup script: %w", err)
	}
	cmd := exec.Command("unshare", "--uts", "--pid", "--mount", "--ipc", "--net", "--fork", "--mount-proc", "--kill-child",
		"sh", setup, steps[1].text)
	cmd.Env = environment
	t := newTape(steps[0].cols, steps[0].rows)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: steps[0].cols, Rows: steps[0].rows})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", steps[1].text, err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer t.end()
		// A PTY whose other side is closed reads as EIO: the end, not an error.
		_, _ = io.Copy(t, terminal)
	}()
	err = follow(steps[2:], t, terminal)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_ = terminal.Close()
	<-read
	return t, err
}

func follow(steps []step, t *tape, terminal *os.File) error {
	for _, s := range steps {
		var err error
		switch s.op {
		case "wait":
			err = t.await(s.text, patience)
		case "quiet":
			err = t.awaitQuiet(s.pause, patience)
		case "pass":
			<-time.After(s.pause)
		case "send":
			t.forget()
			_, err = terminal.WriteString(s.text)
		case "resize":
			t.forget()
			t.mark(fmt.Sprintf("resize %dx%d", s.cols, s.rows))
			err = pty.Setsize(terminal, &pty.Winsize{Cols: s.cols, Rows: s.rows})
		case "check":
			t.mark("check")
		case "exit":
			err = t.awaitEnd(patience)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.op, err)
		}
	}
	return nil
}
