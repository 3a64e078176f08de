//go:build unix

package tmux

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// connected is a pair of connected Unix sockets.
func connected(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]*net.UnixConn
	for i, fd := range fds {
		unix.CloseOnExec(fd)
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c.(*net.UnixConn)
		t.Cleanup(func() { c.Close() })
	}
	return conns[0], conns[1]
}

// What is said in pieces is heard whole, and in order; an end in the middle is
// an error.
func TestHearer(t *testing.T) {
	said := `{"keep":true}` + "\n" + `{"mark":true,"newer":[1]}` + "\n\n" + "garbage\n" + `{"over":true}` + "\n" + `{"over":tr`
	for n := 1; n <= len(said); n++ {
		from, to := connected(t)
		go func() { // ends with the test's connections
			for p := []byte(said); len(p) > 0; p = p[min(n, len(p)):] {
				if _, err := from.Write(p[:min(n, len(p))]); err != nil {
					break
				}
			}
			from.Close()
		}()
		r := &hearer{conn: to}
		var got []order
		bad := 0
		for {
			var o order
			err := r.next(&o)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				bad++
				continue
			}
			got = append(got, o)
		}
		if want := []order{{Keep: true}, {Mark: true}, {Over: true}}; !reflect.DeepEqual(got, want) || bad != 2 {
			t.Fatalf("in pieces of %d: %+v and %d errors, want %+v and 2", n, got, bad, want)
		}
	}
}

// A message that does not end is refused, after as much as any may have.
func TestHearerRefusesAnEndlessMessage(t *testing.T) {
	from, to := connected(t)
	go func() { // ends when to is closed
		for p := bytes.Repeat([]byte("x"), 64<<10); ; {
			if _, err := from.Write(p); err != nil {
				return
			}
		}
	}()
	r := &hearer{conn: to}
	if err := r.next(new(order)); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("%v", err)
	}
	if n := len(r.unread); n > maxMessage+1<<20 {
		t.Errorf("%d bytes were kept", n)
	}
	to.Close()
}

// A descriptor comes with what is said; one too few or too many is an error,
// and none is left open.
func TestHearerTakesOneDescriptor(t *testing.T) {
	for n := range maxFiles + 2 {
		from, to := connected(t)
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		fds := make([]int, n)
		for i := range fds {
			fds[i] = int(write.Fd())
		}
		if _, _, err := from.WriteMsgUnix([]byte(`{"role":"pane"}`+"\n"), unix.UnixRights(fds...), nil); err != nil {
			t.Fatal(err)
		}
		write.Close()
		from.Close()
		r := &hearer{conn: to}
		var g greeting
		err = r.next(&g)
		if n <= maxFiles && (err != nil || g.Role != rolePane) {
			t.Fatalf("%+v, %v", g, err)
		}
		var f *os.File
		if err == nil {
			f, err = r.file()
		}
		if (err == nil) != (n == 1) {
			t.Errorf("%d descriptors: %v", n, err)
		}
		if err == nil {
			if _, err := f.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			f.Close()
		}
		if _, err := io.ReadAll(read); err != nil { // comes to its end when all are closed
			t.Error(err)
		}
		read.Close()
	}
}

// A descriptor and a long message arrive together.
func TestSendFile(t *testing.T) {
	from, to := connected(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	sent := launch{Again: bytes.Repeat([]byte("long"), 1<<20)}
	done := make(chan error)
	go func() { done <- sendFile(from, sent, write) }()
	r := &hearer{conn: to}
	var got launch
	if err := r.next(&got); err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("%d bytes, %v", len(got.Again), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	f, err := r.file()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	write.Close()
	if err := sendFile(from, sent, write); err == nil {
		t.Error("a closed file was sent")
	}
}

// FuzzHearer: whatever is said, in whatever pieces and with descriptors
// anywhere, the lines are heard one by one, and no descriptor is lost.
func FuzzHearer(f *testing.F) {
	f.Add([]byte(`{"started":7}`+"\n"), 3, 0)
	f.Add([]byte(`{"failed":"x","errno":2}`+"\n{}\n\n{"), 100, 2)
	f.Add([]byte("\x00\n[[[[\n"+`{"ended":1,"status":9}`), 1, 5)
	f.Fuzz(func(t *testing.T, p []byte, n, files int) {
		n = max(1, n%5000)
		files = max(0, files%(maxFiles+1))
		from, to := connected(t)
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		done := make(chan error)
		go func() { done <- sayInPieces(from, p, n, files, write) }()
		r := &hearer{conn: to}
		heard := 0
		for {
			var got news
			err := r.next(&got)
			if errors.Is(err, io.EOF) {
				break
			}
			checkHeard(t, bytes.Split(p, []byte("\n"))[heard], got, err)
			heard++
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(p, []byte("\n")); heard != lines {
			t.Errorf("%d of %d lines were heard in %q", heard, lines, p)
		}
		r.drop()
		if _, err := io.ReadAll(read); err != nil { // comes to its end when all are closed
			t.Error(err)
		}
	})
}

// checkHeard compares what came of a line with the line.
func checkHeard(t *testing.T, line []byte, got news, err error) {
	t.Helper()
	var want news
	if wantErr := json.Unmarshal(line, &want); (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v of %q, want %+v, %v", got, err, line, want, wantErr)
	}
}

// sayInPieces writes p in pieces of n bytes, the first with descriptors, and
// closes all.
func sayInPieces(to *net.UnixConn, p []byte, n, files int, file *os.File) error {
	defer to.Close()
	defer file.Close()
	fds := make([]int, files)
	for i := range fds {
		fds[i] = int(file.Fd())
	}
	for first := true; len(p) > 0; first = false {
		piece := p[:min(n, len(p))]
		var oob []byte
		if first && files > 0 {
			oob = unix.UnixRights(fds...)
		}
		if _, _, err := to.WriteMsgUnix(piece, oob, nil); err != nil {
			return err
		}
		p = p[len(piece):]
	}
	return nil
}
