//go:build unix

package backendtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"middleman/terminal"
	"middleman/terminal/await"
)

// waits returns what came of a wait.
func (f *fixture) waits(s terminal.Session, c await.Condition) await.Result {
	f.Helper()
	r, err := await.Wait(f.ctx, s, c)
	f.ok(err)
	return r
}

// text is the condition that a text shows.
func (f *fixture) text(text string) await.Condition {
	f.Helper()
	match, err := await.Text(text)
	f.ok(err)
	return await.Condition{Match: match}
}

func (f *fixture) regex(pattern string) await.Condition {
	f.Helper()
	match, err := await.Regex(pattern)
	f.ok(err)
	return await.Condition{Match: match}
}

// isNotShown checks that a wait does not end.
func (f *fixture) isNotShown(what string, s terminal.Session, c await.Condition) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, 100*time.Millisecond)
	defer cancel()
	if r, err := await.Wait(ctx, s, c); err == nil || !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		f.Errorf("%s: %+v, %v", what, r, err)
	}
}

// testWait: each condition, on what is there, on what comes, and at the end.
func testWait(f *fixture) {
	s := f.sh(`stty -echo; i=0; while [ $i -lt 60 ]; do echo line-$i.; i=$((i+1)); done; printf 'PRO\033[1mMPT'
		read x; printf '\033[2J\033[5;7Hworld\033[5;1Hhello'; read x; echo; echo; seq 1 9999; read x; exit 3`)
	f.printed(s, "MPT")
	if r := f.waits(s, f.text("PROMPT")); r.Match != "PROMPT" || r.Exit != nil || r.Offset != uint64(len(f.output(s, 0))) {
		f.Errorf("on the screen: %+v", r)
	}
	if r := f.waits(s, f.regex(`^line-5[0-9]\.$`)); r.Match != "line-50." {
		f.Errorf("a whole line of the screen: %+v", r)
	}
	f.isNotShown("what has scrolled away", s, f.text("line-3."))
	above := f.text("line-3.")
	above.Scrollback = true
	if r := f.waits(s, above); r.Match != "line-3." {
		f.Errorf("in the scrollback: %+v", r)
	}
	if r := f.waits(s, await.Condition{Quiet: 30 * time.Millisecond}); r.Exit != nil || r.Offset == 0 {
		f.Errorf("quiet: %+v", r)
	}
	later := f.later(s, f.text("hello world")) // drawn in pieces, out of order
	f.ok(s.Input(f.ctx, []byte("\r")))
	later("hello world")
	later = f.later(s, f.regex("^4321$")) // printed and scrolled away
	f.ok(s.Input(f.ctx, []byte("\r")))
	later("4321")
	f.waits(s, f.text("9999"))
	never := make(chan error, 1)
	go func() {
		_, err := await.Wait(f.ctx, s, f.text("never"))
		never <- err
	}()
	exit := make(chan await.Result, 1)
	go func() {
		r, _ := await.Wait(f.ctx, s, await.Condition{})
		exit <- r
	}()
	f.ok(s.Input(f.ctx, []byte("\r")))
	if r := <-exit; r.Exit == nil || r.Exit.Code != 3 || r.Offset != r.Exit.Offset {
		f.Errorf("exit: %+v", r)
	}
	err := <-never
	notShown, ok := errors.AsType[*await.NotShownError](err)
	if !ok || notShown.Exit.Code != 3 || !errors.Is(err, terminal.ErrEnded) {
		f.Errorf("text that never came: %v", err)
	}
	f.ended(s)
	if r := f.waits(s, f.text("9999")); r.Match != "9999" {
		f.Errorf("on the last screen: %+v", r)
	}
	if r := f.waits(s, await.Condition{Quiet: time.Hour}); r.Exit == nil {
		f.Errorf("quiet of one that ended: %+v", r)
	}
	_, err = await.Wait(f.ctx, f.b.Session(terminal.NewID("s")), await.Condition{})
	f.is("wait for one that is not there", err, terminal.ErrNotFound)
}

// later waits in the background, as the only watcher, and returns when it
// watches. The function that it returns checks the match.
func (f *fixture) later(s terminal.Session, c await.Condition) func(want string) {
	f.Helper()
	// An owner sees that the connection of the wait before has ended a moment
	// after that wait.
	f.watchers(s, 0)
	type result struct {
		await.Result
		error
	}
	done := make(chan result, 1)
	go func() {
		r, err := await.Wait(f.ctx, s, c)
		done <- result{r, err}
	}()
	f.watchers(s, 1)
	return func(want string) {
		f.Helper()
		r := <-done
		f.ok(r.error)
		if r.Match != want {
			f.Errorf("waited for %q, got %+v", want, r.Result)
		}
	}
}

// watchers waits until a session has n watchers.
func (f *fixture) watchers(s terminal.Session, n int) {
	f.Helper()
	f.eventually(fmt.Sprintf("%d watchers", n), func() bool {
		st, err := s.Status(f.ctx)
		f.ok(err)
		return st.Watchers == n
	})
}

// testWaitFrom: with an offset only what is printed from there on counts.
func testWaitFrom(f *fixture) {
	s := f.sh(`stty -echo; echo BEFORE; read x; printf 'AF\033[31mTER\033[0m\r\n'; read x; exit 3`)
	f.waits(s, f.text("BEFORE"))
	from := func(c await.Condition, offset uint64) await.Condition {
		c.From = &offset
		return c
	}
	head := uint64(len(f.output(s, 0)))
	f.isNotShown("what is on the screen", s, from(f.text("BEFORE"), await.Now))
	f.isNotShown("what was printed before", s, from(f.text("BEFORE"), 1))
	if r := f.waits(s, from(f.regex("^BEFORE$"), 0)); r.Match != "BEFORE" || r.Offset != head {
		f.Errorf("from the beginning: %+v, want offset %d", r, head)
	}
	later := f.later(s, from(f.regex("^AFTER$"), await.Now)) // $ holds at the end of what was printed too
	at, err := s.Type(f.ctx, []byte("\r"), terminal.Expect{})
	if err != nil || at != head {
		f.Errorf("typed at %d, %v, want %d", at, err, head)
	}
	later("AFTER")
	if r := f.waits(s, from(f.text("AFTER"), at)); r.Match != "AFTER" {
		f.Errorf("from where it was typed: %+v", r)
	}
	_, err = await.Wait(f.ctx, s, from(f.text("x"), 1<<40))
	f.is("from beyond the head", err, terminal.ErrRange)
	_, err = s.Type(f.ctx, []byte("\r"), terminal.Expect{})
	f.ok(err)
	f.ended(s)
	if r := f.waits(s, from(f.text("AFTER"), at)); r.Match != "AFTER" {
		f.Errorf("of one that has ended: %+v", r)
	}
	_, err = await.Wait(f.ctx, s, from(f.text("BEFORE"), at))
	f.is("what was printed before, of one that has ended", err, terminal.ErrEnded)
}

// testFollow: a stream has each byte once, through the exit, and that of a
// session that has ended has the same.
func testFollow(f *fixture) {
	const n = 1 << 20
	spec := f.spec(program(f, "stream", fmt.Sprint(n), "17")...)
	s := f.start(spec)
	for _, from := range []uint64{0, 4711} {
		var got []byte
		copied := await.Stream{Session: s, Client: "follow", From: from,
			Write:   func(p []byte) error { got = append(got, p...); return nil },
			Missing: func(from, to uint64) { f.Errorf("%d to %d is missing", from, to) }}
		exit, err := copied.Follow(f.ctx)
		f.ok(err)
		if want := onTerminal(stream(n, 17))[from:]; string(got) != string(want) || exit.Offset != copied.From || exit.Code != 0 {
			f.Errorf("from %d: %d bytes of %d, up to %d, exit %+v", from, len(got), len(want), copied.From, exit)
		}
	}
	f.ended(s)
	copied := await.Stream{Session: s, From: 1 << 40, Write: func([]byte) error { return nil }}
	f.is("copy beyond the head", copied.Copy(f.ctx), terminal.ErrRange)
	failing := errors.New("full")
	copied = await.Stream{Session: s, Write: func([]byte) error { return failing }}
	f.is("copy to what fails", copied.Copy(f.ctx), failing)
	_, err := copied.Follow(f.ctx)
	f.is("follow to what fails", err, failing)
}
