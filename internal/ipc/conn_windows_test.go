package ipc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"middleman/internal/testenv"
)

// A pipe whose handle has the number of the closed standard input is one like any other.
func TestConnNumberedAsStdin(t *testing.T) {
	l, err := Listen(filepath.Join(t.TempDir(), "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stdin := syscall.Stdin
	defer func() { syscall.Stdin = stdin }()
	syscall.Stdin = syscall.Handle(l.next)
	client, err := Dial(t.Context(), l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := Accept(l)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	waiting := make(chan error, 1)
	go func() {
		got := make([]byte, 1)
		_, err := server.Read(got)
		if err == nil && got[0] != 'x' {
			err = errors.New("another byte came")
		}
		waiting <- err
	}()
	stacks := make([]byte, 1<<20)
	testenv.Eventually(t, time.Minute, "the read waits", func() bool {
		return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*Conn).Read("))
	})
	if _, err := server.Write([]byte("answer")); err != nil { // its end is not that of the read
		t.Fatal(err)
	}
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// A handle that the runtime cannot wait for is refused: its reads would lose bytes.
func TestConnOfBlockingHandle(t *testing.T) {
	wide, err := windows.UTF16PtrFromString(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := windows.CreateFile(wide, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.CREATE_NEW, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := newConn(h, "pipe"); c != nil || !errors.Is(err, os.ErrNoDeadline) {
		t.Errorf("a blocking handle is %v, %v", c, err)
	}
}
