//go:build unix

package backendtest

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// testForkBomb: processes that fork as fast as they can are ended by a stop.
// They hold a FIFO open, so that its end proves that none is left, and end by
// themselves when the test's directory goes.
func testForkBomb(f *fixture) {
	dir := f.TempDir()
	held := filepath.Join(dir, "held")
	f.ok(unix.Mkfifo(held, 0o600))
	r, err := os.OpenFile(held, os.O_RDONLY|unix.O_NONBLOCK, 0)
	f.ok(err)
	defer r.Close()
	spec := f.spec(f.path("sh"), "-c", `trap "" HUP TERM; exec 8>"$D/held"
		member() { while [ -e "$D/held" ]; do (:); done; }
		mover() { while [ -e "$D/held" ]; do mover & exit; done; }
		i=0; while [ $i -lt 40 ]; do member & i=$((i+1)); done
		i=0; while [ $i -lt 8 ]; do mover & i=$((i+1)); done
		echo READY; member`)
	spec.Env = append(spec.Env, "D="+dir)
	s := f.start(spec)
	f.printed(s, "READY")
	f.ok(s.Stop(f.ctx, -1))
	if n, err := r.Read(make([]byte, 1)); err != io.EOF {
		f.Errorf("after the stop somebody holds what the program had: read %d bytes, %v", n, err)
	}
	if st := f.ended(s); len(st.Left) > 0 || st.Exit.Signal != int(unix.SIGKILL) {
		f.Errorf("left %v, exit %+v, want none and by SIGKILL", st.Left, st.Exit)
	}
}

// rows is how many rows are printed at once for those who look back.
const rows = 5000

// testRows: who is attached while rows are printed, and who comes then, can
// look back at each of them.
func testRows(f *fixture) {
	s := f.sh(fmt.Sprintf(`stty -echo; echo READY; read x; seq -f 'row %%g.' %d; echo DONE; read x`, rows))
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize, Scrollback: -1})
	v.shows("READY")
	v.types("\r")
	v.shows("DONE")
	v.hasRows()
	v.close()
	for _, mode := range []terminal.Mode{terminal.ModeAttach, terminal.ModeWatch} {
		v := f.attach(s, terminal.AttachOptions{Mode: mode, Scrollback: -1})
		v.shows("DONE")
		v.hasRows()
		v.close()
	}
}

// hasRows checks that each row is there once, in order.
func (v *viewer) hasRows() {
	v.f.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	var want strings.Builder
	for i := range rows {
		fmt.Fprintf(&want, "row %d.\n", i+1)
	}
	if text := v.screen.Text(vt.TextOptions{Scrollback: true}); !strings.Contains(text, want.String()) {
		v.f.Errorf("of %d rows %d are there, or not in order", rows, strings.Count(text, "row "))
	}
}

// testResizeInTheMiddle: sizes that change while output streams cost no byte,
// and the writer's screen is in the end what the session's is.
func testResizeInTheMiddle(f *fixture) {
	n := short(1, 4) << 20
	argv := program(f, "stream", strconv.Itoa(n), "5")
	s := f.start(f.spec(f.path("sh"), "-c", `stty -echo; echo READY; read x; "$0" "$@"; read x`, argv[0], argv[1], argv[2], argv[3], argv[4]))
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	v.shows("READY")
	want := append([]byte("READY\r\n"), onTerminal(stream(n, 5))...)
	v.types("\r")
	const times = 10
	for i := range times {
		v.until("more output", func() bool { return v.next >= uint64(len(want)/(times+1)*i) })
		f.ok(v.a.Resize(terminal.Size{Cols: uint16(50 + 7*i), Rows: uint16(40 - 3*i)}))
	}
	last := terminal.Size{Cols: 50 + 7*(times-1), Rows: 40 - 3*(times-1)}
	v.until("the last size, and all output", func() bool {
		cols, rows := v.screen.Size()
		return cols == int(last.Cols) && rows == int(last.Rows) && v.next == uint64(len(want))
	})
	f.same(f.output(s, 0), want)
	c, err := s.Capture(f.ctx, terminal.CaptureOptions{Format: terminal.FormatText})
	f.ok(err)
	v.mu.Lock()
	defer v.mu.Unlock()
	if got := v.screen.Text(vt.TextOptions{}); strings.TrimRight(got, "\n") != strings.TrimRight(string(c.Data), "\n") {
		f.Errorf("the writer's screen is\n%s\nthe session's\n%s", got, c.Data)
	}
}

// testPaste: what is pasted comes as it is, every byte there is, with a program
// that reads it in its own time.
func testPaste(f *fixture) {
	p := make([]byte, 200_000)
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	s := f.sh(fmt.Sprintf("stty raw -echo; echo READY; sleep 0.2; head -c %d | md5sum; stty sane; read x", len(p)))
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	v.shows("READY")
	f.ok(v.a.Input(p))
	v.shows(fmt.Sprintf("%x", md5.Sum(p)))
}

// testWatchFullScreen: a watcher whose terminal is smaller than the session's
// is told of that one's size, gets that one's screen, and changes neither.
func testWatchFullScreen(f *fixture) {
	spec := f.spec(program(f, "paint", "2", "20000", "3")...)
	spec.Size = terminal.Size{Cols: 110, Rows: 30}
	s := f.start(spec)
	live := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeWatch, Size: terminal.Size{Cols: 80, Rows: 20}})
	f.ok(s.Input(f.ctx, []byte("\n")))
	f.printed(s, "round 0 done.")
	late := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeWatch, Size: terminal.Size{Cols: 80, Rows: 20}})
	c, err := s.Capture(f.ctx, terminal.CaptureOptions{Format: terminal.FormatText})
	f.ok(err)
	for name, v := range map[string]*viewer{"who watched from the start": live, "who came later": late} {
		if size := v.a.Hello().Size; size.Cols != 110 || size.Rows != 30 || c.Size.Cols != 110 || c.Size.Rows != 30 {
			f.Errorf("%s is told of %+v, the capture of %+v, want 110x30", name, size, c.Size)
		}
		v.until("the session's screen", func() bool {
			return strings.TrimRight(v.screen.Text(vt.TextOptions{}), "\n") == strings.TrimRight(string(c.Data), "\n")
		})
	}
}

// testKilledViewers: viewers that are killed anywhere in the output, and go on
// where they were, have every byte once.
func testKilledViewers(f *fixture) {
	n := short(1, 5) << 20
	if os.Getenv("MIDDLEMAN_LONG") == "1" {
		n = 50 << 20
	}
	seed := uint64(time.Now().UnixNano())
	f.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	s := f.start(f.spec(program(f, "stream", strconv.Itoa(n), "9")...))
	id, want := f.id(s), onTerminal(stream(n, 9))
	var got []byte
	killed := 0
	for len(got) < len(want) {
		part := f.viewAndKill(id, uint64(len(got)), 1+rng.IntN(n/8))
		got = append(got, part...)
		killed++
		if len(part) == 0 {
			f.Fatalf("a viewer got nothing from offset %d of %d", len(got), len(want))
		}
	}
	f.Logf("%d viewers", killed)
	f.same(got, want)
	f.ended(s)
	f.same(f.output(s, 0), want)
}

// viewAndKill returns the output from an offset that a viewer got before it was
// killed: n bytes and what was under way.
func (f *fixture) viewAndKill(id string, from uint64, n int) []byte {
	f.Helper()
	if f.h.Viewer == nil {
		f.Skip("the harness has no viewers that can be killed")
	}
	argv := f.h.Viewer(id, from)
	cmd := exec.Command(argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	f.ok(err)
	f.ok(cmd.Start())
	got, readErr := io.ReadAll(io.LimitReader(out, int64(n)))
	f.ok(cmd.Process.Kill())
	rest, restErr := io.ReadAll(out)
	_ = cmd.Wait() // it was killed, or had all
	f.ok(readErr)
	f.ok(restErr)
	if said.Len() > 0 {
		f.Fatalf("a viewer from offset %d: %s", from, said.Bytes())
	}
	return append(got, rest...)
}
