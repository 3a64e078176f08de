//go:build unix

package tmux

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// What the owner and the processes in a pane say to each other, one JSON
// object after the other, over a Unix socket. Descriptors travel with the
// first bytes of a greeting and of a launch; the other side waits for them.

// greeting is what a process in the pane says first.
type greeting struct {
	Role   string `json:"role"` // rolePane or rolePipe
	PID    int    `json:"pid,omitempty"`
	Pane   string `json:"pane,omitempty"`   // tmux's id of it
	Server int    `json:"server,omitempty"` // the tmux server's process
}

const (
	rolePane = "pane" // the launcher, with the pane's terminal
	rolePipe = "pipe" // the pipe's helper, with the pipe
)

// launch is what the owner tells the launcher, with the pipe.
type launch struct {
	Spec  terminal.Spec `json:"spec"`
	Umask int           `json:"umask"`
	Core  uint64        `json:"core_limit"`
	// State is what a later owner is told. Its mark is what the launcher prints
	// after the program's last output.
	State paneState `json:"state"`
	// Again is the standard input of an owner that replaces this one.
	Again []byte `json:"again"`
	// Env is what tests of faults have told the owner.
	Env []string `json:"env,omitempty"`
}

// order is what the owner says to the launcher from then on, one of them.
type order struct {
	Keep bool `json:"keep,omitempty"` // the session goes on without this owner
	Mark bool `json:"mark,omitempty"` // print the mark
	Over bool `json:"over,omitempty"` // the exit is on disk
	Pipe bool `json:"pipe,omitempty"` // a new pipe of the pane comes with this
}

// news is what the launcher says to the owner, one of them.
type news struct {
	Started int             `json:"started,omitempty"` // the program runs
	State   *paneState      `json:"state,omitempty"`   // for an owner that comes later, first
	Failed  string          `json:"failed,omitempty"`
	Errno   syscall.Errno   `json:"errno,omitempty"` // of Failed, where it is the system's
	Ended   int             `json:"ended,omitempty"` // a process that was waited for
	Status  unix.WaitStatus `json:"status,omitempty"`
	Gone    bool            `json:"gone,omitempty"` // the pane's terminal has ended
}

const (
	// maxFiles is how many descriptors are taken with one read.
	maxFiles = 4
	// maxMessage bounds what is said at once: a launch has an environment.
	maxMessage = 16 << 20
)

// hearer reads what the other side of a connection says. Descriptors that come
// with it are kept.
type hearer struct {
	conn   *net.UnixConn
	unread []byte // received, and not returned: a deadline loses nothing
	files  []*os.File
}

// next decodes what is said next into v.
func (r *hearer) next(v any) error {
	for looked := 0; ; {
		if n := bytes.IndexByte(r.unread[looked:], '\n'); n >= 0 {
			line := r.unread[:looked+n]
			r.unread = r.unread[looked+n+1:]
			return json.Unmarshal(line, v)
		}
		if len(r.unread) > maxMessage {
			return errors.New("a message of the pane does not end")
		}
		p := make([]byte, 4<<10)
		looked = len(r.unread)
		n, err := r.read(p)
		r.unread = append(r.unread, p[:n]...)
		if err != nil {
			return err
		}
	}
}

func (r *hearer) read(p []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(maxFiles*4))
	n, oobn, _, _, err := r.conn.ReadMsgUnix(p, oob)
	n = max(n, 0) // -1 where it failed
	if oobn > 0 {
		err = errors.Join(err, r.take(oob[:oobn]))
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	return n, err
}

func (r *hearer) take(oob []byte) error {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("take descriptors over: %w", err)
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue // something else
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			r.files = append(r.files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return nil
}

// file is the one descriptor that must have come.
func (r *hearer) file() (*os.File, error) {
	if len(r.files) != 1 {
		for _, f := range r.files {
			f.Close()
		}
		return nil, fmt.Errorf("%d descriptors came, where 1 has to", len(r.files))
	}
	f := r.files[0]
	r.files = nil
	return f, nil
}

// sendFile says v, with a descriptor.
func sendFile(conn *net.UnixConn, v any, f *os.File) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	n := 0
	controlErr := raw.Control(func(fd uintptr) {
		n, _, err = conn.WriteMsgUnix(data, unix.UnixRights(int(fd)), nil)
	})
	if err = errors.Join(controlErr, err); err != nil {
		return err
	}
	_, err = io.Copy(conn, bytes.NewReader(data[n:]))
	return err
}

// say sends v.
func say(conn *net.UnixConn, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(data, '\n'))
	return err
}
