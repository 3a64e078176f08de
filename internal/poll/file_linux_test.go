package poll

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
)

// pollPair is two ends of a stream.
func pollPair(t *testing.T) (a, b *File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range []**File{&a, &b} {
		if *f, err = NewFile(fds[i], true); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*f).Close() })
	}
	return a, b
}

// fill writes until a stream takes no more.
func fill(t *testing.T, f *File) {
	t.Helper()
	for {
		if n := WriteNow(rawFile{f}, make([]byte, 4<<10)); n == 0 {
			return
		}
	}
}

// What blocks is woken by a deadline, also one that is set meanwhile, and by
// the end; after a deadline that is taken back all goes on.
func TestPollFileWakes(t *testing.T) {
	wakes := []struct {
		name string
		wake func(*File) error
		want error
	}{
		{"a deadline that has passed", func(f *File) error { return f.SetDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		{"a deadline to come", func(f *File) error { return f.SetDeadline(time.Now().Add(time.Millisecond)) }, os.ErrDeadlineExceeded},
		{"the end", (*File).Close, os.ErrClosed},
	}
	blocks := []struct {
		name  string
		block func(*File) (int, error)
	}{
		{"read", func(f *File) (int, error) { return f.Read(make([]byte, 1)) }},
		{"write", func(f *File) (int, error) { return f.Write(make([]byte, 1<<10)) }},
	}
	for _, w := range wakes {
		for _, b := range blocks {
			t.Run(w.name+", "+b.name, func(t *testing.T) {
				f, other := pollPair(t)
				fill(t, f)
				failed := make(chan error)
				go func() {
					_, err := b.block(f)
					failed <- err
				}()
				if err := w.wake(f); err != nil { // before or after it blocks
					t.Fatal(err)
				}
				if err := <-failed; !errors.Is(err, w.want) {
					t.Fatalf("got %v, want %v", err, w.want)
				}
				if w.want == os.ErrClosed || f.SetDeadline(time.Time{}) != nil {
					return
				}
				other.Write([]byte("x"))
				if n, err := f.Read(make([]byte, 8)); n != 1 || err != nil {
					t.Errorf("after it: %d, %v", n, err)
				}
			})
		}
	}
}

// Who expects something gets it, and sleeps again where it does not come.
func TestPollFileExpects(t *testing.T) {
	f, other := pollPair(t)
	got := make(chan byte)
	go func() {
		for {
			ready, err := f.AwaitOr(nil)
			if err != nil || ready >= 0 {
				close(got)
				return
			}
			var p [1]byte
			if _, err := f.Read(p[:]); err != nil {
				close(got)
				return
			}
			got <- p[0]
		}
	}()
	for key := byte('a'); key < 'k'; key++ {
		f.Expect() // before or while it waits
		if key%2 == 0 {
			time.Sleep(2 * expectTime) // nothing comes in time
		}
		if _, err := other.Write([]byte{key}); err != nil {
			t.Fatal(err)
		}
		if p := <-got; p != key {
			t.Fatalf("got %q, want %q", p, key)
		}
	}
	awake := time.Hour
	for try := 0; try < 3 && awake > 50*time.Millisecond; try++ { // what else this process does counts too
		var before, after unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
			t.Fatal(err)
		}
		f.Expect()
		time.Sleep(100 * time.Millisecond) // of which it stays awake for expectTime alone
		if err := unix.Getrusage(unix.RUSAGE_SELF, &after); err != nil {
			t.Fatal(err)
		}
		awake = min(awake, time.Duration(unix.TimevalToNsec(after.Stime)+unix.TimevalToNsec(after.Utime)-
			unix.TimevalToNsec(before.Stime)-unix.TimevalToNsec(before.Utime)))
	}
	if awake > 50*time.Millisecond {
		t.Errorf("awake for %v of 100 ms, each of three times", awake)
	}
	f.Close()
	if _, open := <-got; open {
		t.Error("something came at the end")
	}
}

// Where another process gets the processor while one busy-waits, nobody does so
// for a while: the longer, the more often that was, but not for ever.
func TestPollFileExpectsLessOnABusyMachine(t *testing.T) {
	f, _ := pollPair(t)
	skipped := func() (n int) {
		for f.expected.Store(0); ; n++ {
			if f.Expect(); f.expected.Load() != 0 {
				return n
			}
		}
	}
	if f.isLost(expectTime) || skipped() != 0 {
		t.Error("a yield as long as the wait counts as a loss of the processor")
	}
	for lost := 1; lost <= 2*maxLost; lost++ {
		if want := 1 << min(lost, maxLost); !f.isLost(expectTime+1) || skipped() != want {
			t.Errorf("after %d losses not %d expectations are skipped", lost, want)
		}
	}
	f.Expect()
	if !f.busyWait([]unix.PollFd{{Fd: int32(f.wakes[toWrite]), Events: unix.POLLOUT}}, f.expected.Load()+int64(time.Hour)) {
		t.Error("what can be written at once is not ready")
	}
	if f.lost != maxLost-1 {
		t.Errorf("after an echo in time there are %d losses, want %d", f.lost, maxLost-1)
	}
}

// Every byte passes once, where both sides block now and then.
func TestPollFileStream(t *testing.T) {
	a, b := pollPair(t)
	want := bytes.Repeat([]byte("0123456789"), 200_000)
	wrote := make(chan error)
	go func() {
		n, err := a.Write(want)
		if err == nil && n != len(want) {
			err = io.ErrShortWrite
		}
		wrote <- errors.Join(err, a.CloseWrite())
	}()
	got, err := io.ReadAll(b)
	if err := errors.Join(err, <-wrote); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, want %d", len(got), len(want))
	}
}

// A reader that must not wait is told so, and loses nothing.
func TestPollFileNoWait(t *testing.T) {
	a, b := pollPair(t)
	b.NoWait = true
	p := make([]byte, 8)
	if n, err := b.Read(p); n != 0 || !errors.Is(err, ErrWait) {
		t.Errorf("nothing there: %d, %v", n, err)
	}
	a.Write([]byte("key"))
	if n, err := b.Read(p); string(p[:n]) != "key" || err != nil {
		t.Errorf("a key: %q, %v", p[:n], err)
	}
	a.Close()
	if n, err := b.Read(p); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// A connection is lent at any moment: also when who waits for it has looked for
// one, and does not wait yet.
func TestPollFilePokeBeforeTheWait(t *testing.T) {
	a, _ := pollPair(t)
	for range 3 {
		a.Poke()
		looked := make(chan error, 1)
		go func() {
			_, err := a.AwaitWith(nil)
			looked <- err
		}()
		if err := testenv.Receive(t, time.Minute, "a look after the poke", looked); err != nil {
			t.Fatal(err)
		}
	}
}

// A deadline costs no garbage: each write to a viewer has one.
func TestPollFileDeadlineAllocatesNothing(t *testing.T) {
	a, _ := pollPair(t)
	if allocs := testing.AllocsPerRun(100, func() {
		a.SetWriteDeadline(time.Now().Add(time.Hour))
		if _, err := a.left(toWrite, false); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
