//go:build unix

package tmux

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
	"middleman/terminal"
)

// The owner and the processes in a pane talk over a Unix socket, with one JSON
// object a line. A greeting, a launch and an order with Pipe carry a descriptor
// with their first bytes. The receiver calls next and then file.

// greeting is the first message of a process in the pane.
type greeting struct {
	Role   string `json:"role"` // rolePane or rolePipe
	PID    int    `json:"pid,omitempty"`
	Pane   string `json:"pane,omitempty"`   // the pane's id in tmux
	Server int    `json:"server,omitempty"` // the process id of the tmux server
}

const (
	rolePane = "pane" // the launcher; passes the pane's terminal
	rolePipe = "pipe" // the pipe's helper; passes the pipe
)

// launch is the owner's first message to the launcher; it passes the pipe.
type launch struct {
	Spec  terminal.Spec `json:"spec"`
	Umask int           `json:"umask"`
	Core  uint64        `json:"core_limit"`
	// State is for an owner that replaces this one. State.Mark is what the
	// launcher prints after the program's last output.
	State paneState `json:"state"`
	// Again is the standard input for such an owner.
	Again []byte `json:"again"`
	// Env holds variables for fault injection in tests.
	Env []string `json:"env,omitempty"`
}

// order is each later message of the owner to the launcher. It sets one field.
type order struct {
	Keep bool `json:"keep,omitempty"` // the session goes on without this owner
	Mark bool `json:"mark,omitempty"` // print the mark
	Over bool `json:"over,omitempty"` // the exit is on disk
	Pipe bool `json:"pipe,omitempty"` // a new pipe of the pane is passed with this
}

// news is a message of the launcher to the owner. It sets one field, and with
// it the fields that belong to it.
type news struct {
	Started int             `json:"started,omitempty"` // the process id of the program, which runs
	State   *paneState      `json:"state,omitempty"`   // first message to an owner that replaces another
	Failed  string          `json:"failed,omitempty"`
	Errno   syscall.Errno   `json:"errno,omitempty"` // the cause of Failed, if it is a system error
	Ended   int             `json:"ended,omitempty"` // the process id of a process that was waited for
	Status  unix.WaitStatus `json:"status,omitempty"`
	Gone    bool            `json:"gone,omitempty"` // the pane's terminal has ended
}

const (
	// maxFiles is how many descriptors a message can have.
	maxFiles = 1
	// maxMessage bounds one message; a launch holds an environment.
	maxMessage = 16 << 20
)

// hearer reads the messages on a connection, and keeps the descriptors that
// come with them.
type hearer struct {
	conn   *net.UnixConn
	unread []byte // received but not returned yet, so that a deadline loses nothing
	files  []*os.File
}

// next blocks for the next message and decodes it into v.
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
		n, fds, err := ipc.ReceiveFiles(r.conn, p, maxFiles)
		if err != nil {
			return err
		}
		r.unread = append(r.unread, p[:n]...)
		for _, fd := range fds {
			r.files = append(r.files, os.NewFile(uintptr(fd), "passed"))
		}
	}
}

// file returns the one descriptor that must have been passed. The caller closes
// it.
func (r *hearer) file() (*os.File, error) {
	if n := len(r.files); n != 1 {
		r.drop()
		return nil, fmt.Errorf("got %d descriptors, want 1", n)
	}
	f := r.files[0]
	r.files = nil
	return f, nil
}

// drop closes the descriptors that file has not returned.
func (r *hearer) drop() {
	closeAll(r.files)
	r.files = nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// sendFile sends v, and passes the descriptor of f, which stays open here.
func sendFile(conn *net.UnixConn, v any, f *os.File) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	controlErr := raw.Control(func(fd uintptr) { err = ipc.SendFiles(conn, append(data, '\n'), int(fd)) })
	return errors.Join(controlErr, err)
}

// say sends v as one line of JSON.
func say(conn *net.UnixConn, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(data, '\n'))
	return err
}
