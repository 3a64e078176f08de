package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

const (
	// composerDraw is how long composer takes from reading to drawing, as a program
	// that draws in frames.
	composerDraw = 60 * time.Millisecond
	// composerWork is how long it works on a prompt.
	composerWork = 300 * time.Millisecond
)

// submission is a prompt that composer was given.
type submission struct {
	Text string
	Busy bool // it worked when the prompt was pasted
}

// composer is a program with claude's title and an input, which draws what it reads
// later. It appends each submission to the file at path, as a line of JSON.
func composer(path string) error {
	t, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
	t.Iflag &^= unix.ICRNL
	if err := unix.IoctlSetTermios(0, unix.TCSETS, t); err != nil {
		return err
	}
	var now submission
	var until time.Time // it works
	done := 0           // submissions
	submitted := func() error {
		line, err := json.Marshal(now)
		if err != nil {
			return err
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.Write(append(line, '\n'))
		now, until, done = submission{}, time.Now().Add(composerWork), done+1
		return err
	}
	writeAll(1, "\x1b[?2004h")
	p := make([]byte, 4<<10)
	for {
		star := "✳"
		if time.Now().Before(until) {
			star = "⠂"
		}
		writeAll(1, fmt.Sprintf("\x1b]0;%s %d done\x07", star, done)+"\x1b[2J\x1b[H● ready\r\n\r\n──────\r\n❯ "+now.Text+"\r\n──────\r\n  ? for shortcuts")
		wait := -1
		if left := time.Until(until); left > 0 {
			wait = int(left.Milliseconds()) + 1
		}
		if n, err := unix.Poll([]unix.PollFd{{Fd: 0, Events: unix.POLLIN}}, wait); n <= 0 {
			if err != nil && err != unix.EINTR {
				return err
			}
			continue
		}
		n, err := unix.Read(0, p)
		if err != nil || n == 0 {
			return fmt.Errorf("its terminal has ended: %v", err)
		}
		time.Sleep(composerDraw)
		text := string(p[:n])
		now.Busy = now.Busy || strings.Contains(text, "\x1b[200~") && time.Now().Before(until)
		text = strings.NewReplacer("\x1b[200~", "", "\x1b[201~", "").Replace(text)
		for line, rest, key := strings.Cut(text, "\r"); ; line, rest, key = strings.Cut(rest, "\r") {
			if now.Text += line; !key {
				break
			}
			if err := submitted(); err != nil {
				return err
			}
		}
	}
}

// cmdAtOnce sends so many prompts at once to a session of "program composer FILE", with
// more flags for send. Each that was sent is submitted once and alone, and no other is:
//
//	at-once TIMES TARGET FILE [FLAG...]
func cmdAtOnce(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	target, path, flags := args[1], args[2], args[3:]
	before := len(submissions(ts, path))
	var commands [][]string
	for i := range times {
		text := "do not " + strings.Repeat(string(rune('a'+i)), 9)
		commands = append(commands, append(append([]string{"middleman", "send", target, "--prompt"}, flags...), text))
	}
	want := map[string]bool{}
	for i, o := range allAtOnce(ts, commands) {
		text := commands[i][len(commands[i])-1]
		switch {
		case o.code == 0:
			want[text] = true
		case o.code != 3 || !strings.Contains(o.errs, "nothing was typed") && !strings.Contains(o.errs, "not typed: "):
			ts.Fatalf("%q: exit code %d, said %q", text, o.code, o.errs)
		}
	}
	if len(want) == 0 || slices.Contains(flags, "--when") && len(want) < times {
		ts.Fatalf("%d of %d prompts were sent", len(want), times)
	}
	var given []submission
	ts.Check(waitFor("as many submissions as prompts", patience, func() bool {
		given = submissions(ts, path)[before:]
		return len(given) >= len(want)
	}))
	for _, s := range given {
		if !want[s.Text] {
			ts.Fatalf("the program was given %q, which was not sent, or twice", s.Text)
		}
		if s.Busy && slices.Contains(flags, "--when") {
			ts.Fatalf("the program was given %q while it worked", s.Text)
		}
		delete(want, s.Text)
	}
	idle := fmt.Sprintf("✳ %d done", before+len(given))
	ts.Check(waitFor("the title "+idle, patience, func() bool { // what follows compares the screen
		out, _ := command(ts, "middleman", "status", target, "--json").Output() // its code is that of the state
		return strings.Contains(string(out), idle)
	}))
}

func submissions(ts *testscript.TestScript, path string) (list []submission) {
	raw, err := os.ReadFile(ts.MkAbs(path))
	if err != nil && !os.IsNotExist(err) {
		ts.Check(err)
	}
	for line := range strings.Lines(string(raw)) {
		var s submission
		ts.Check(json.Unmarshal([]byte(line), &s))
		list = append(list, s)
	}
	return list
}
