//go:build unix

package private_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/internal/testenv"
)

// connected returns two ends of a Unix socket.
func connected(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	l, err := private.Listen(filepath.Join(testenv.ShortDir(t), "s"))
	must(t, err)
	defer l.Close()
	dialed, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	must(t, err)
	t.Cleanup(func() { dialed.Close() })
	accepted, err := l.AcceptUnix()
	must(t, err)
	t.Cleanup(func() { accepted.Close() })
	return dialed, accepted
}

// Descriptors come with the bytes, and no child process inherits them. Too many
// are refused, and none of them is left open.
func TestSendFiles(t *testing.T) {
	const most = 2
	for n := range 2 * most {
		from, to := connected(t)
		read, write, err := os.Pipe()
		must(t, err)
		fds := make([]int, n)
		for i := range fds {
			fds[i] = int(write.Fd())
		}
		must(t, private.SendFiles(from, []byte("text"), fds...))
		must(t, write.Close())
		p := make([]byte, 10)
		got, passed, err := private.ReceiveFiles(to, p, most)
		if n > most {
			if err == nil || got != 0 || len(passed) != 0 {
				t.Errorf("%d descriptors: %d bytes, %v, %v", n, got, passed, err)
			}
		} else if err != nil || string(p[:got]) != "text" || len(passed) != n {
			t.Errorf("%d descriptors: %q, %v, %v", n, p[:got], passed, err)
		}
		for _, fd := range passed {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("flags %x, %v: a child would inherit it", flags, err)
			}
		}
		private.CloseFiles(passed)
		if _, err := io.ReadAll(read); err != nil { // comes to its end when all are closed
			t.Error(err)
		}
		must(t, read.Close())
	}
}

// More bytes than fit at once arrive whole, and the end is io.EOF.
func TestSendFilesWithManyBytes(t *testing.T) {
	from, to := connected(t)
	sent := bytes.Repeat([]byte("long"), 1<<20)
	done := make(chan error)
	go func() { done <- errors.Join(private.SendFiles(from, sent, int(os.Stdin.Fd())), from.Close()) }()
	var got []byte
	files := 0
	for p := make([]byte, 1<<16); ; {
		n, fds, err := private.ReceiveFiles(to, p, 1)
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		got = append(got, p[:n]...)
		files += len(fds)
		private.CloseFiles(fds)
	}
	must(t, <-done)
	if !bytes.Equal(got, sent) || files != 1 {
		t.Errorf("%d bytes and %d descriptors came", len(got), files)
	}
}

func TestListen(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	path := filepath.Join(testenv.ShortDir(t), "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	stale.SetUnlinkOnClose(false)
	must(t, stale.Close())
	l, err := private.Listen(path)
	must(t, err)
	if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	must(t, l.Close())
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
	if _, err := private.Listen(filepath.Join(path, "s")); err == nil {
		t.Error("listens where there is no directory")
	}
}

// What is written by parts replaces the file when it is whole, and not before. A
// symbolic link is replaced, not followed.
func TestReplaceWith(t *testing.T) {
	dir := testenv.ShortDir(t)
	path, target := filepath.Join(dir, "file"), filepath.Join(dir, "target")
	must(t, os.WriteFile(target, []byte("theirs"), 0o600))
	must(t, os.Symlink("target", path))
	why := errors.New("no more")
	write := func(err error) func(*os.File) error {
		return func(f *os.File) error {
			_, writeErr := f.WriteString("new")
			return errors.Join(writeErr, f.Chmod(0o644), err)
		}
	}
	for _, keep := range []private.Keep{private.Durable, private.ThisBoot} {
		if err := private.ReplaceWith(path, keep, write(why)); !errors.Is(err, why) {
			t.Errorf("a write that fails: %v", err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "theirs" {
			t.Errorf("after a write that failed: %q, %v", text, err)
		}
	}
	must(t, private.ReplaceWith(path, private.Durable, write(nil)))
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for path, want := range map[string]string{path: "new", target: "theirs"} {
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestAppendAndCreate(t *testing.T) {
	path := filepath.Join(testenv.ShortDir(t), "log")
	for _, step := range []struct {
		open func(string) (*os.File, error)
		want string
	}{{private.Append, "x"}, {private.Append, "xx"}, {private.Create, "x"}, {private.Append, "xx"}} {
		f, err := step.open(path)
		must(t, err)
		_, err = f.WriteString("x")
		must(t, errors.Join(err, f.Close()))
		info, err := os.Lstat(path)
		must(t, err)
		if text, err := os.ReadFile(path); err != nil || string(text) != step.want || info.Mode() != 0o600 {
			t.Errorf("%q with mode %v, %v, want %q", text, info.Mode(), err, step.want)
		}
	}
}

// A file that another user could have put there is not written, and not emptied.
func TestAppendAndCreateRefuseUnsafeFiles(t *testing.T) {
	for _, tt := range unsafeFiles {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.make(t)
			before, _ := os.Stat(path)
			for name, open := range map[string]func(string) (*os.File, error){"Append": private.Append, "Create": private.Create} {
				if _, err := open(path); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q", name, err, tt.want)
				}
			}
			if after, err := os.Stat(path); before != nil && (err != nil || after.Size() != before.Size()) {
				t.Errorf("changed: %v, %v", after, err)
			}
		})
	}
}
