package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/testenv"
)

// dialog is a program with a prompt, over which it draws a dialog at a moment that
// the socket at a path names. It reads and draws in one thread, as agents do, and
// what it reads once it has decided to draw is the dialog's. It is told
//
//	round N AFTER US    draws a prompt, and the dialog so many microseconds after
//	                    "start", or after the first of a "paste" has come
//	end                 tells what came of it, and draws no dialog any more
func dialog(path string) error {
	t, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
	t.Iflag &^= unix.ICRNL
	if err := unix.IoctlSetTermios(0, unix.TCSETS, t); err != nil {
		return err
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	file, err := conn.(*net.UnixConn).File()
	if err != nil {
		return err
	}
	d := dialogProgram{conn: int(file.Fd())}
	if err := unix.SetNonblock(d.conn, false); err != nil {
		return err
	}
	d.draw("\x1b[?2004h")
	for {
		if err := d.turn(); err != nil {
			return err
		}
	}
}

// dialogReport is what came of a round.
type dialogReport struct {
	Submitted []string // the prompts
	Drawn     bool     // the dialog was
	Answer    string   // what was typed at it
}

type dialogProgram struct {
	conn   int
	told   []byte
	round  string
	after  string
	delay  time.Duration
	due    time.Time // of the dialog; zero for none yet
	text   string    // what is in the prompt
	pastes bool      // a paste is open
	dialogReport
}

// turn waits for the first that happens, and does what follows.
func (d *dialogProgram) turn() error {
	fds := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}, {Fd: int32(d.conn), Events: unix.POLLIN}}
	var wait *unix.Timespec
	if !d.due.IsZero() {
		left := unix.NsecToTimespec(int64(max(0, time.Until(d.due))))
		wait = &left
	}
	if _, err := unix.Ppoll(fds, wait, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	if !d.due.IsZero() && !time.Now().Before(d.due) {
		d.due, d.Drawn = time.Time{}, true
		d.draw("\x1b[10;1HALLOW? (y/n)")
		return nil
	}
	p := make([]byte, 4<<10)
	if fds[0].Revents != 0 {
		n, err := unix.Read(0, p)
		if err != nil || n == 0 {
			return errors.Join(err, os.ErrClosed)
		}
		d.typed(p[:n])
		return nil
	}
	if fds[1].Revents != 0 {
		n, err := unix.Read(d.conn, p)
		if err != nil || n == 0 {
			return errors.Join(err, os.ErrClosed)
		}
		d.told = append(d.told, p[:n]...)
		for line, rest, whole := bytes.Cut(d.told, []byte("\n")); whole; line, rest, whole = bytes.Cut(d.told, []byte("\n")) {
			d.told = rest
			d.do(string(line))
		}
	}
	return nil
}

func (d *dialogProgram) do(line string) {
	if line == "end" {
		d.due = time.Time{}
		report, _ := json.Marshal(d.dialogReport) // it has nothing that JSON has not
		d.tell(string(report))
		return
	}
	words := strings.Fields(line)
	us, _ := strconv.Atoi(words[3])
	*d = dialogProgram{conn: d.conn, told: d.told, round: words[1], after: words[2], delay: time.Duration(us) * time.Microsecond}
	d.draw("\x1b[2J\x1b[H" + d.round + "> ")
	if d.after == "start" {
		d.due = time.Now().Add(d.delay)
	}
	d.tell("ready")
}

// typed takes input: for the dialog, once it was drawn, else for the prompt.
func (d *dialogProgram) typed(p []byte) {
	if d.Drawn {
		d.Answer += string(p)
		return
	}
	text := string(p)
	if body, ok := strings.CutPrefix(text, "\x1b[200~"); ok {
		d.pastes, text = true, body
		if d.after == "paste" {
			d.due = time.Now().Add(d.delay)
		}
	}
	if d.pastes {
		body, rest, ended := strings.Cut(text, "\x1b[201~")
		d.text += body
		d.pastes, text = !ended, rest
	}
	if line, _, submitted := strings.Cut(text, "\r"); submitted {
		d.Submitted, d.text = append(d.Submitted, d.text+line), ""
		d.draw("\x1b[2;1Hsubmitted")
	}
	d.draw("\x1b[1;1H\x1b[K" + d.round + "> " + strings.ReplaceAll(d.text, "\r", " | "))
}

func (d *dialogProgram) draw(text string) { writeAll(1, text) }
func (d *dialogProgram) tell(text string) { writeAll(d.conn, text+"\n") }

func writeAll(fd int, text string) {
	for p := []byte(text); len(p) > 0; {
		n, err := unix.Write(fd, p)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return // whoever read it has gone
		}
		p = p[max(n, 0):]
	}
}

// cmdPrompts sends prompts while a dialog appears, in so many seeded rounds:
//
//	prompts WORKSPACE BACKEND SHORT LONG
//
// Each prompt is submitted, or refused and never submitted; the dialog, which its
// sender has not seen, never gets anything of it.
func cmdPrompts(ts *testscript.TestScript, _ bool, args []string) {
	rounds, err := strconv.Atoi(args[2])
	ts.Check(err)
	if os.Getenv("MIDDLEMAN_LONG") == "1" {
		rounds, err = strconv.Atoi(args[3])
		ts.Check(err)
	}
	const sessions = 4
	var all sync.WaitGroup
	sums := make([]map[string]int, sessions)
	errs := make([]error, sessions)
	for i := range sessions {
		dir, err := os.MkdirTemp(testenv.ShortParent(), "mm")
		ts.Check(err)
		defer os.RemoveAll(dir)
		listener, err := net.Listen("unix", filepath.Join(dir, "s"))
		ts.Check(err)
		defer listener.Close()
		out, err := command(ts, "middleman", "run", args[0], "-d", "--backend", args[1], "--json", "--", "program", "dialog", filepath.Join(dir, "s")).Output()
		ts.Check(err)
		var made api.Created
		ts.Check(json.Unmarshal(out, &made))
		conn, err := listener.Accept()
		ts.Check(err)
		defer conn.Close()
		p := prompter{
			session: made.Session.ID, socket: filepath.Join(ts.Getenv("MIDDLEMAN_HOME"), "run", "middleman.sock"),
			conn: conn, said: bufio.NewScanner(conn), rng: rand.New(rand.NewPCG(16, uint64(i))),
		}
		all.Go(func() { sums[i], errs[i] = p.run(rounds / sessions) })
	}
	all.Wait()
	ts.Check(errors.Join(errs...))
	sum := map[string]int{}
	for _, one := range sums {
		for what, n := range one {
			sum[what] += n
		}
	}
	ts.Logf("%d rounds: %v", rounds, sum)
	for _, what := range []string{"submitted", api.CodeChanged, api.CodeNotSubmitted} {
		if sum[what] == 0 {
			ts.Fatalf("no prompt of %d was %s: the dialog never came in between", rounds, what)
		}
	}
}

// prompter sends prompts to one session.
type prompter struct {
	session, socket string
	conn            net.Conn
	said            *bufio.Scanner
	rng             *rand.Rand
}

// run sends so many prompts, and counts what became of them.
func (p prompter) run(rounds int) (sum map[string]int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	sum = map[string]int{}
	for round := range rounds {
		after, us := "start", p.rng.IntN(40000)
		switch p.rng.IntN(3) {
		case 1:
			after, us = "paste", p.rng.IntN(20000)
		case 2:
			after, us = "paste", 40000+p.rng.IntN(300000)
		}
		became, report, err := p.send(ctx, round, after, us)
		if err != nil {
			return sum, fmt.Errorf("round %d: %w", round, err)
		}
		sum[became]++
		if report.Answer != "" {
			return sum, fmt.Errorf("round %d: the dialog got %q; %d us after %s, %s", round, report.Answer, us, after, became)
		}
		if n := len(report.Submitted); (n == 1) != (became == "submitted") || n > 1 || n == 1 && report.Submitted[0] != "yes\rplease" {
			return sum, fmt.Errorf("round %d: %s, and the program was given %q", round, became, report.Submitted)
		}
	}
	return sum, nil
}

// send sends one prompt at the screen that it has seen, and returns "submitted" or
// the code of the refusal.
func (p prompter) send(ctx context.Context, round int, after string, us int) (became string, report dialogReport, err error) {
	fmt.Fprintf(p.conn, "round %d %s %d\n", round, after, us)
	if !p.said.Scan() || p.said.Text() != "ready" {
		return "", report, fmt.Errorf("the program says %q, %v", p.said.Text(), p.said.Err())
	}
	c := client.New(p.socket)
	defer c.Close()
	hash, err := p.prompt(ctx, fmt.Sprintf("%d>\n", round))
	if err != nil {
		return "", report, err
	}
	became = "submitted"
	if _, err = c.Prompt(ctx, p.session, api.Prompt{Text: "yes\nplease", Expect: hash}); err != nil {
		problem, ok := errors.AsType[*api.Problem](err)
		if !ok {
			return "", report, err
		}
		became = problem.Code
	}
	fmt.Fprintln(p.conn, "end")
	if !p.said.Scan() {
		return "", report, fmt.Errorf("no report: %v", p.said.Err())
	}
	return became, report, json.Unmarshal(p.said.Bytes(), &report)
}

// prompt waits until the screen shows a prompt alone, or with a dialog, and
// returns the hash of the prompt alone, which the sender saw.
func (p prompter) prompt(ctx context.Context, want string) (hash string, err error) {
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", p.socket)
	}}}
	defer web.CloseIdleConnections()
	return hash, waitFor(want, patience, func() bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/sessions/"+p.session+"/capture", nil)
		if err != nil {
			return false
		}
		resp, err := web.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, err := bufio.NewReader(resp.Body).ReadString(0)
		if strings.HasPrefix(text, want) && text != want {
			hash = strings.Repeat("0", 32) // the dialog is there already
			return true
		}
		hash = resp.Header.Get("Middleman-Hash")
		return err != nil && text == want
	})
}
