package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"middleman/terminal"
	"middleman/terminal/await"
	"middleman/terminal/keys"
)

// How a prompt gets to a program:
//
//  1. Somebody has seen the screen: the sender, who says which one it was, or
//     Send, which sends nothing at a dialog.
//  2. The text goes in as a paste if the screen is still that one. The program's
//     output is held until it has begun to read it (terminal.Expect.Held), so it
//     cannot draw a dialog in between.
//  3. The program draws the text. Send looks again: if there is more on the
//     screen than the text that was pasted, or if the text was put behind another
//     one, it goes no further.
//  4. The submit key is pressed if the screen is still that of step 3, held in
//     the same way.
//
// Paste and key are two inputs, because agents take a key that comes with a paste
// for a part of it. The caller sees to it that no other prompt comes in between.

const (
	pasteBegin, pasteEnd = "\x1b[200~", "\x1b[201~"
	// echoTime is how long the program has to draw the first of the text, and
	// drawTime how long to become quiet. quietTime without output is quiet.
	echoTime  = 500 * time.Millisecond
	drawTime  = time.Second
	quietTime = 60 * time.Millisecond
	// sendTime is for how long Send tries again where the screen changed between
	// its own look and the typing.
	sendTime = 5 * time.Second
)

// ErrDialog means that nothing was typed, because the program shows a dialog, or
// because it is not known whether it does.
var ErrDialog = errors.New("nothing was typed")

// ErrLines means that nothing was typed, because each line would be submitted by
// itself.
var ErrLines = errors.New("the text has several lines, and the program takes no pastes (it has not switched on bracketed paste), so each line would be submitted by itself")

// NotSubmittedError says that the text was typed and not submitted.
type NotSubmittedError struct {
	Why string
	err error
}

func (e *NotSubmittedError) Error() string {
	return "the text is in its input and was not submitted: " + e.Why + "; look at it, then press the key with send --expect HASH --key"
}

// Unwrap returns terminal.ErrChanged, or the error that came in between.
func (e *NotSubmittedError) Unwrap() error { return e.err }

// Prompt is a text for the program of a session, and the conditions to send it.
type Prompt struct {
	Text string
	// Expect is the screen that the sender has seen. With the zero value Send
	// looks itself, and the profile's composer must show, with no dialog.
	Expect terminal.Expect
	// Answer sends the text also if the screen is not known, or is a dialog.
	Answer bool
}

// CheckPrompt returns an error for a text that cannot be sent.
func CheckPrompt(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("the prompt is empty")
	case len(text) > MaxPrompt:
		return fmt.Errorf("the prompt has %d bytes: at most %d can be sent", len(text), MaxPrompt)
	case !utf8.ValidString(text):
		return errors.New("the prompt is not valid UTF-8")
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return fmt.Errorf("the prompt has the control character %U in it, which would end the paste or press a key", r)
		}
	}
	return nil
}

// Send types a text at a session's program and submits it, as described above.
// It returns the head at the submit: what the program prints in answer comes from
// there on. terminal.ErrChanged means that nothing was typed, and a
// *NotSubmittedError that only the submit is missing.
func (p Profile) Send(ctx context.Context, s terminal.Session, in Prompt) (offset uint64, err error) {
	if err := CheckPrompt(in.Text); err != nil {
		return 0, err
	}
	text := strings.TrimRight(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(in.Text), "\n")
	submit, err := keys.Of(ctx, s, []string{p.submitKey()})
	if err != nil {
		return 0, err
	}
	for began := time.Now(); ; {
		seen, err := look(ctx, s)
		if err != nil {
			return 0, err
		}
		expect := in.Expect
		if own := expect == (terminal.Expect{}); own {
			if err := p.allows(seen, in.Answer); err != nil {
				return 0, err
			}
			expect.Hash = seen.hashFor(in.Answer)
		}
		at, err := paste(ctx, s, text, seen, expect, in.Answer && p.asksForKey(seen, text))
		switch {
		case err == nil:
			return p.submit(ctx, s, submit, pasted{text, seen, at, in.Answer})
		case in.Expect != (terminal.Expect{}) || !errors.Is(err, terminal.ErrChanged) || time.Since(began) > sendTime:
			return 0, err
		}
	}
}

// allows returns an error unless the screen shows the profile's composer. A title does
// not tell that no dialog shows.
func (p Profile) allows(seen screen, answer bool) error {
	view := p.Look(seen.evidence())
	switch {
	case answer:
		return nil
	case view.State == Waiting && view.Kind != RateLimit: // of which a composer shows
		return fmt.Errorf("%w: it is %s, and the text would answer that; pass --answer if it shall, or the hash of the screen that you saw with --expect",
			ErrDialog, view.Text())
	case !view.Composer:
		return fmt.Errorf("%w: it is not known whether it shows a dialog (%s); look, and pass the hash of the screen with --expect, or --answer",
			ErrDialog, p.hidden())
	}
	return nil
}

// hidden says why the composer of the profile's program is not seen.
func (p Profile) hidden() string {
	switch {
	case !p.HasRules():
		return p.silence()
	case len(composers[p.RulesOf()]) == 0:
		return "profile " + p.Name + " does not know how its program takes a prompt"
	}
	return "its screen does not end with the line in which it takes a prompt"
}

// submitKey returns the name of the key that submits a prompt.
func (d Definition) submitKey() string {
	if d.Submit == "" {
		return "Enter"
	}
	return d.Submit
}

// asksForKey reports whether the text is one character at a dialog, which takes it as a
// key and may not take a paste.
func (p Profile) asksForKey(seen screen, text string) bool {
	return utf8.RuneCountInString(text) == 1 && p.Judge(seen.evidence()).Asks()
}

// paste types the text if the screen is the expected one, as a paste if the program has
// switched pastes on and the text is not a key. It returns the head at the typing.
func paste(ctx context.Context, s terminal.Session, text string, seen screen, expect terminal.Expect, key bool) (at uint64, err error) {
	switch {
	case key:
	case slices.Contains(seen.Modes, "bracketed-paste"):
		text = pasteBegin + strings.ReplaceAll(text, "\n", "\r") + pasteEnd
	case strings.Contains(text, "\n"):
		return 0, ErrLines
	}
	expect.Held = true
	first := text[:min(len(text), terminal.MaxHeld)]
	if at, err = s.Type(ctx, []byte(first), expect); err != nil || len(first) == len(text) {
		return at, err
	}
	if err := s.Input(ctx, []byte(text[len(first):])); err != nil {
		return at, &NotSubmittedError{"only a part of it was typed: " + err.Error(), err}
	}
	return at, nil
}

// pasted is a text that was typed, the screen that it was typed at, and the head
// at the typing.
type pasted struct {
	text   string
	seen   screen
	at     uint64
	answer bool
}

// submit presses the submit key once the program shows the text, and nothing
// else that is new.
func (p Profile) submit(ctx context.Context, s terminal.Session, key []byte, was pasted) (offset uint64, err error) {
	for began := time.Now(); ; {
		AwaitDrawn(ctx, s, was.at)
		now, err := look(ctx, s)
		if err != nil {
			return 0, &NotSubmittedError{err.Error(), err}
		}
		expect := terminal.Expect{Hash: now.hashFor(was.answer), Held: true}
		if now.Offset == was.at {
			expect = terminal.Expect{Offset: &was.at, Held: true} // it shows nothing of what is typed
		} else if row, with := newRow(was.seen.rows(), now.rows(), was.text); row != "" {
			return 0, &NotSubmittedError{fmt.Sprintf("its screen shows something else that is new, %q", row), terminal.ErrChanged}
		} else if with != "" && !was.answer {
			return 0, &NotSubmittedError{fmt.Sprintf("its input had other text already, %q", with), terminal.ErrChanged}
		}
		// At a composer, all that is new is the text, which may look like a dialog.
		status, composer := p.Judge(now.evidence()), p.Look(was.seen.evidence()).Composer
		if status.State == Waiting && !was.answer && (status.Source == FromTitle || !composer) {
			return 0, &NotSubmittedError{"it is " + status.Text(), terminal.ErrChanged}
		}
		offset, err = s.Type(ctx, key, expect)
		switch {
		case err == nil:
			return offset, nil
		case !errors.Is(err, terminal.ErrChanged) || time.Since(began) > sendTime:
			return 0, &NotSubmittedError{err.Error(), err}
		}
	}
}

// AwaitDrawn waits until the program has drawn what was typed at an offset, or
// for so long as that may take.
func AwaitDrawn(ctx context.Context, s terminal.Session, at uint64) {
	anything, err := await.Regex(`(?s).`)
	if err != nil {
		return
	}
	echo, cancel := context.WithTimeout(ctx, echoTime)
	defer cancel()
	if _, err := await.Wait(echo, s, await.Condition{Match: anything, From: &at}); err != nil {
		return
	}
	draw, cancel := context.WithTimeout(ctx, drawTime)
	defer cancel()
	_, _ = await.Wait(draw, s, await.Condition{Quiet: quietTime}) // the next look tells what there is
}

// screen is a capture of a session's screen.
type screen struct {
	Offset uint64
	hash   string
	steady string
	Title  string
	Modes  []string
	Lines  []struct{ Runs []struct{ Text string } }
}

// look captures the screen of a session that runs.
func look(ctx context.Context, s terminal.Session) (v screen, err error) {
	shot, err := s.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatJSON})
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(shot.Data, &v); err != nil {
		return v, fmt.Errorf("read the screen: %w", err)
	}
	v.Offset, v.hash, v.steady, v.Title = shot.Offset, shot.Hash, cmp.Or(shot.Steady, shot.Hash), shot.Title
	return v, nil
}

// hashFor returns the hash that the screen must still have. Clocks and spinners do not
// matter, unless the text may be an answer: a time may be what a dialog asks about.
func (v screen) hashFor(answer bool) string {
	if answer {
		return v.hash
	}
	return v.steady
}

// rows returns the text of the rows.
func (v screen) rows() []string {
	rows := make([]string, len(v.Lines))
	for i, line := range v.Lines {
		for _, run := range line.Runs {
			rows[i] += run.Text
		}
	}
	return rows
}

func (v screen) evidence() Evidence { return Evidence{Title: v.Title, Screen: v.rows()} }
