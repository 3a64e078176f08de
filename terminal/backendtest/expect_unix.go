//go:build unix

package backendtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// screen captures what a sender sees.
func (f *fixture) screen(s terminal.Session, rows terminal.Rows) terminal.Capture {
	f.Helper()
	c, err := s.Capture(f.ctx, terminal.CaptureOptions{Format: terminal.FormatText, Rows: rows})
	f.ok(err)
	if sum := fmt.Sprintf("%x", sha256.Sum256(c.Data)); c.Hash != sum[:2*terminal.HashBytes] {
		f.Errorf("hash %s of %q, want the beginning of %s", c.Hash, c.Data, sum)
	}
	return c
}

// types types text if what is expected holds, and reports whether it did.
func (f *fixture) types(s terminal.Session, text string, e terminal.Expect) bool {
	f.Helper()
	_, err := s.Type(f.ctx, []byte(text), e)
	if err != nil {
		f.is("type "+text, err, terminal.ErrChanged)
	}
	return err == nil
}

// testExpect: by offset and by hash, of the screen that was seen and of another.
func testExpect(f *fixture) {
	s := f.sh(`stty raw -echo; printf READY; head -c 1 >/dev/null; printf '\033[2J\033[HALLOW?'; head -c 2; printf '\033[2J\033[HREADY'; head -c 1`)
	f.printed(s, "READY")
	seen := f.screen(s, terminal.Rows{})
	for what, e := range map[string]terminal.Expect{
		"an offset of before": {Offset: new(uint64)},
		"an offset to come":   {Offset: pointer(seen.Offset + 1)},
		"another hash":        {Hash: strings.Repeat("0", 2*terminal.HashBytes)},
		"one of two":          {Offset: &seen.Offset, Hash: strings.Repeat("0", 2*terminal.HashBytes)},
	} {
		if f.types(s, "refused", e) {
			f.Errorf("%s: typed", what)
		}
	}
	if !f.types(s, "1", terminal.Expect{Offset: &seen.Offset, Hash: seen.Hash}) {
		f.Error("the screen that was seen: refused")
	}
	f.printed(s, "ALLOW?")
	for what, e := range map[string]terminal.Expect{"offset": {Offset: &seen.Offset}, "hash": {Hash: seen.Hash}} {
		if f.types(s, "refused", e) {
			f.Errorf("the screen of before, by its %s: typed", what)
		}
	}
	dialog := f.screen(s, terminal.Rows{})
	if at, err := s.Type(f.ctx, []byte("yn"), terminal.Expect{Offset: &dialog.Offset}); err != nil || at != dialog.Offset {
		f.Errorf("typed at %d, %v, want %d", at, err, dialog.Offset)
	}
	f.eventually("the first screen again", func() bool { return f.types(s, "3", terminal.Expect{Hash: seen.Hash}) })
	f.ended(s)
	if out := string(f.output(s, 0)); strings.Contains(out, "re") || !strings.Contains(out, "yn") {
		f.Errorf("output %q", out)
	}
	_, err := s.Type(f.ctx, []byte("x"), terminal.Expect{Hash: seen.Hash})
	f.is("type at one that has ended", err, terminal.ErrEnded)
}

func pointer(n uint64) *uint64 { return &n }

// testExpectRows: what moves elsewhere does not matter, what changes in the rows
// does.
func testExpectRows(f *fixture) {
	s := f.sh(`stty -echo; printf '\033[3;1Hprompt>'
		(while sleep 0.002; do i=$((i+1)); printf '\0337\033[20;5H%d\0338' $i; done) & read x
		printf '\033[3;1HALLOW?'; read x; kill $!`)
	f.printed(s, "\x1b[20;5H3")
	prompt := terminal.Rows{First: 2, Last: 4}
	seen := f.screen(s, prompt)
	if string(seen.Data) != "\nprompt>\n" {
		f.Errorf("rows 2 to 4: %q", seen.Data)
	}
	if f.types(s, "refused", terminal.Expect{Hash: seen.Hash}) {
		f.Error("the whole screen has the hash of three rows")
	}
	if !f.types(s, "\r", terminal.Expect{Hash: seen.Hash, Rows: prompt}) {
		f.Error("refused, where only a counter elsewhere has moved")
	}
	f.printed(s, "ALLOW?")
	if f.types(s, "refused\r", terminal.Expect{Hash: seen.Hash, Rows: prompt}) {
		f.Error("typed at a dialog")
	}
	for _, rows := range []terminal.Rows{{First: 24, Last: 99}, {First: 99, Last: 100}} {
		if c := f.screen(s, rows); len(c.Data) > 0 {
			f.Errorf("rows %+v: %q", rows, c.Data)
		}
	}
	c, err := s.Capture(f.ctx, terminal.CaptureOptions{Format: terminal.FormatJSON, Rows: terminal.Rows{First: 3, Last: 3}})
	if err != nil || bytes.Count(c.Data, []byte(`"runs"`)) != 1 || !bytes.Contains(c.Data, []byte("ALLOW?")) ||
		!bytes.HasPrefix(c.Data, fmt.Appendf(nil, `{"offset":%d,"hash":"%s","cols":80,`, c.Offset, c.Hash)) {
		f.Errorf("row 3 as JSON: %s, %v", c.Data, err)
	}
	f.ok(s.Input(f.ctx, []byte("\r")))
	f.ended(s)
	last := f.screen(s, prompt)
	if want := "\nALLOW?>\n"; string(last.Data) != want {
		f.Errorf("rows of the last screen: %q, want %q", last.Data, want)
	}
}

// testExpectSteady: a clock in the status line that ticks all the time never refuses what
// was typed at the words above it, and other words always do.
func testExpectSteady(f *fixture) {
	s := f.sh(`stty -echo; printf '\033[3;1Hdelete 3 files?'
		(i=10; while sleep 0.002; do i=$((i % 50 + 11)); printf '\0337\033[999;5H12:00:%d\0338' $i; done) & read x
		printf '\033[3;1Hdelete 300 files?'; read x; kill $!`)
	f.printed(s, "12:00:")
	seen := f.screen(s, terminal.Rows{})
	if seen.Steady == "" || seen.Steady == seen.Hash {
		f.Fatalf("with a clock on it: steady hash %q, hash %q", seen.Steady, seen.Hash)
	}
	if !f.types(s, "\r", terminal.Expect{Hash: seen.Steady}) {
		f.Error("refused, where only a clock has moved")
	}
	f.printed(s, "300")
	if f.types(s, "refused\r", terminal.Expect{Hash: seen.Steady}) {
		f.Error("typed at other words")
	}
	f.ok(s.Input(f.ctx, []byte("\r")))
	f.ended(s)
}

// testExpectIdle: nothing is typed until nothing was printed for so long.
func testExpectIdle(f *fixture) {
	s := f.sh(`stty -echo; echo READY; (while sleep 0.005; do printf .; done) & read x; kill $!; wait; read y; echo got $y`)
	f.printed(s, "READY\r\n..")
	if f.types(s, "refused\r", terminal.Expect{Idle: time.Minute}) {
		f.Error("typed at one that prints")
	}
	f.ok(s.Input(f.ctx, []byte("\r")))
	f.eventually("quiet", func() bool { return f.types(s, "it\r", terminal.Expect{Idle: 100 * time.Millisecond}) })
	f.ended(s)
	if out := string(f.output(s, 0)); !strings.Contains(out, "got it") {
		f.Errorf("output %q", out)
	}
}

// testExpectNotRead: a program that does not read is not waited for.
func testExpectNotRead(f *fixture) {
	s := f.sh(`stty raw -echo; printf READY; sleep 1000`)
	f.printed(s, "READY")
	seen := f.screen(s, terminal.Rows{})
	part := bytes.Repeat([]byte("x"), terminal.MaxExpected)
	for i := 0; ; i++ {
		_, err := s.Type(f.ctx, part, terminal.Expect{Hash: seen.Hash})
		if e, ok := errors.AsType[*terminal.NotReadError](err); ok {
			if e.Typed >= len(part) {
				f.Errorf("%d bytes of %d were typed", e.Typed, len(part))
			}
			break
		}
		f.ok(err)
		if i == 100 {
			f.Fatalf("%d bytes were typed at a program that does not read", i*len(part))
		}
	}
	_, err := s.Type(f.ctx, append(part, 'x'), terminal.Expect{Hash: seen.Hash})
	f.is("too much", err, terminal.ErrTooLong)
	// Who waits for others to type, and leaves, types nothing.
	blocked, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
	defer cancel()
	if err := s.Input(blocked, part); !errors.Is(err, context.DeadlineExceeded) {
		f.Errorf("input at a program that does not read: %v", err)
	}
	late, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := s.Type(late, []byte("y"), terminal.Expect{Hash: seen.Hash}); err == nil {
		f.Error("typed at a program that does not read")
	}
}

// testExpectHeldPart: a program reads one byte of an input, and then waits in its write
// because its output is held. The sender is never told that nothing was typed.
func testExpectHeldPart(f *fixture) {
	for range 4 { // whether the owner sees the program begin is a matter of time
		s := f.sh(`stty raw -echo; printf READY; head -c 1; head -c 1; printf END`)
		f.printed(s, "READY")
		seen := f.screen(s, terminal.Rows{})
		_, err := s.Type(f.ctx, []byte("yes"), terminal.Expect{Hash: seen.Hash, Held: true})
		want := "READYyeEND"
		if err != nil {
			if e, ok := errors.AsType[*terminal.NotReadError](err); !ok || e.Typed != 1 {
				f.Errorf("one byte of three was read: %v", err)
			}
			f.printed(s, "READYy")
			f.ok(s.Input(f.ctx, []byte("q")))
			want = "READYyqEND"
		}
		f.ended(s)
		if out := string(f.output(s, 0)); out != want {
			f.Errorf("output %q, want %q, after %v", out, want, err)
		}
	}
	s := f.sh(`stty raw -echo; printf READY; sleep 1000`)
	f.printed(s, "READY")
	if f.types(s, "refused", terminal.Expect{Hash: f.screen(s, terminal.Rows{}).Hash, Held: true}) {
		f.Error("typed at a program that does not read")
	}
}

// dialogProgram is a program whose dialog must not be answered by mistake. Told
// by the socket at a path to prompt, it draws a prompt, and told so, a dialog
// over it. It takes input for an answer of the dialog from when the terminal has
// drawn that: with the dialog it asks where the cursor is, and the terminal's
// answer comes as input. When that and endOfRound have come, it says what came.
func dialogProgram(tty, out *os.File, socket string) error {
	raw, err := unix.IoctlGetTermios(int(tty.Fd()), ioctlGetTermios)
	if err != nil {
		return err
	}
	raw.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	raw.Iflag &^= unix.ICRNL | unix.IXON
	if err := unix.IoctlSetTermios(int(tty.Fd()), ioctlSetTermios, raw); err != nil {
		return err
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	typed := make(chan []byte)
	go func() { // ends with the process
		for {
			p := make([]byte, 4<<10)
			n, err := tty.Read(p)
			if err != nil {
				close(typed)
				return
			}
			typed <- p[:n]
		}
	}()
	told := make(chan string)
	go func() {
		defer close(told)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			told <- lines.Text()
		}
	}()
	var input []byte
	for {
		select {
		case line, ok := <-told:
			if !ok {
				return nil
			}
			text := "\x1b[10;1HALLOW? (y/n)\x1b[6n"
			if round, is := strings.CutPrefix(line, "prompt "); is {
				input, text = nil, "\x1b[2J\x1b[Hprompt "+round+">"
			}
			if _, err := io.WriteString(out, text); err != nil {
				return err
			}
		case p, ok := <-typed:
			if !ok {
				return nil
			}
			input = append(input, p...)
			if bytes.IndexByte(input, endOfRound) >= 0 && cursorReport.Match(input) {
				fmt.Fprintf(conn, "%q\n", input)
			}
		}
	}
}

const endOfRound = 4

var cursorReport = regexp.MustCompile(`\x1b\[10;[0-9]+R`)

// testExpectDialog: 1,000 times a text is sent in the instant in which a dialog
// appears. Where the owner typed it, nothing had been printed since the sender
// looked; so, where the owner's screen answers the program, the text never comes
// after the dialog was drawn. Where it did not, nothing of it comes.
func testExpectDialog(f *fixture) {
	listener, err := net.Listen("unix", filepath.Join(f.h.SocketDir(), "s"))
	f.ok(err)
	defer listener.Close()
	s := f.start(f.spec(program(f, "dialog", listener.Addr().String())...))
	conn, err := listener.Accept()
	f.ok(err)
	defer conn.Close()
	f.ok(conn.SetDeadline(time.Now().Add(2 * patience)))
	watcher, err := s.Attach(f.ctx, terminal.AttachOptions{Mode: terminal.ModeWatch, NoOutput: true, From: new(uint64)})
	f.ok(err)
	hostAnswers := watcher.Hello().HostAnswers
	f.ok(watcher.Close())
	reports := bufio.NewScanner(conn)
	rng := rand.New(rand.NewPCG(19, 15))
	typed := 0
	rounds := short(100, 1000)
	// The two begin about as far apart as makes them meet, however long either
	// takes here: who came second begins earlier the next time.
	var lead time.Duration // of the text before the dialog
	for round := range rounds {
		fmt.Fprintf(conn, "prompt %d\n", round)
		seen := f.prompt(s, round)
		expect := terminal.Expect{Offset: &seen.Offset}
		if rng.IntN(2) == 0 {
			expect = terminal.Expect{Hash: seen.Hash}
		}
		sendLate, dialogLate := time.Duration(rng.IntN(2000))*time.Microsecond, time.Duration(rng.IntN(2000))*time.Microsecond
		sendLate, dialogLate = sendLate+max(0, -lead), dialogLate+max(0, lead)
		var both sync.WaitGroup
		both.Go(func() {
			<-time.After(dialogLate)
			io.WriteString(conn, "dialog\n")
		})
		<-time.After(sendLate)
		at, err := s.Type(f.ctx, []byte("meant for the prompt"), expect)
		change := lead.Abs()/2 + 200*time.Microsecond
		if err != nil {
			f.is("type", err, terminal.ErrChanged)
			lead += change
		} else if lead, typed = lead-change, typed+1; at != seen.Offset {
			f.Errorf("round %d: typed at offset %d, after output that the sender had not seen: it knew %d", round, at, seen.Offset)
		}
		both.Wait()
		f.printed(s, fmt.Sprintf("prompt %d>\x1b[10;1HALLOW?", round))
		f.ok(s.Input(f.ctx, []byte{endOfRound}))
		input := f.reported(reports)
		if came := strings.Contains(input, "meant for the prompt"); came != (err == nil) {
			f.Errorf("round %d: %q came, where the owner said %v", round, input, err)
		}
		if drawn := cursorReport.FindStringIndex(input); !hostAnswers && strings.Contains(input[drawn[1]:], "meant") {
			f.Errorf("round %d: the dialog was answered: %q", round, input)
		}
	}
	f.Logf("%d of %d texts were typed, the others refused", typed, rounds)
	if typed == 0 || typed == rounds {
		f.Errorf("%d of %d texts were typed: the dialog never came in between", typed, rounds)
	}
}

// reported reads what the program says that it was given.
func (f *fixture) reported(reports *bufio.Scanner) (input string) {
	f.Helper()
	if !reports.Scan() {
		f.Fatalf("no report: %v", reports.Err())
	}
	if _, err := fmt.Sscanf(reports.Text(), "%q", &input); err != nil {
		f.Fatalf("report %s: %v", reports.Text(), err)
	}
	return input
}

// prompt waits until the prompt of a round is on the screen.
func (f *fixture) prompt(s terminal.Session, round int) (seen terminal.Capture) {
	f.Helper()
	want := fmt.Sprintf("prompt %d>\n", round)
	f.eventually(want, func() bool {
		seen = f.screen(s, terminal.Rows{})
		return string(seen.Data) == want
	})
	return seen
}
