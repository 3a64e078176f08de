//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// helperMode makes this program act as the second user.
const helperMode = "helper"

// runHelper does one thing and prints what came of it.
func runHelper(args []string) int {
	if len(args) < 2 {
		return 2
	}
	var err error
	switch verb, path := args[0], args[1]; verb {
	case "connect":
		err = helpConnect(path)
	case "read":
		var raw []byte
		if raw, err = os.ReadFile(path); err == nil {
			_, err = os.Stdout.Write(raw)
		}
	case "list":
		var entries []os.DirEntry
		entries, err = os.ReadDir(path)
		for _, e := range entries {
			fmt.Println(e.Name())
		}
	case "write":
		err = os.WriteFile(path, []byte("written by a second user\n"), 0o600)
	case "listen":
		err = helpListen(path, args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// helpConnect sends what is on its standard input to a socket, and prints what
// comes within three seconds.
func helpConnect(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Println("connected")
	if _, err := io.Copy(conn, os.Stdin); err != nil {
		return nil // it was closed: that is an answer
	}
	if err := conn.SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, conn)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// helpListen serves a socket as a middleman might, and writes all that it is
// sent to log.
func helpListen(path, log string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	record, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err = errors.Join(err, os.Chmod(path, 0o777)); err != nil {
		return err
	}
	fmt.Println("ready")
	return http.Serve(recordingListener{l, record}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "ok", "workspaces": []any{}, "sessions": []any{}, "version": "x"})
	}))
}

// recordingListener copies all that connections bring.
type recordingListener struct {
	net.Listener
	to io.Writer
}

func (l recordingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return recordingConn{conn, l.to}, nil
}

type recordingConn struct {
	net.Conn
	to io.Writer
}

func (c recordingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	_, _ = c.to.Write(p[:n]) // the log is all that there is to tell
	return n, err
}

// asOther is a command that runs as the second user.
func (w *world) asOther(argv ...string) *exec.Cmd {
	w.needOther()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "TERM=xterm"}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUID, Gid: otherUID, NoSetGroups: false}}
	return cmd
}

// other runs this program's helper as the second user.
func (w *world) other(input string, args ...string) output {
	cmd := w.asOther(append([]string{w.self, helperMode}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	return collect(cmd)
}

// otherPlace makes a directory of the second user's.
func (w *world) otherPlace(mode os.FileMode) string {
	w.needOther()
	path := w.place()
	w.give(path, mode)
	return path
}

// give hands a path to the second user.
func (w *world) give(path string, mode os.FileMode) {
	must(errors.Join(os.Chown(path, otherUID, otherUID), os.Chmod(path, mode)))
}
