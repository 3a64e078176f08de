package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"middleman/terminal/vt"
)

// A recording of an agent is an asciicast v2 with two kinds of event more: "h" is
// a report of a hook, a Hook in JSON, and "m" a mark, the state that the user saw.

// Limits of a recording that is read.
const (
	maxCastLine   = 16 << 20
	maxMoments    = 10000
	maxCastTime   = 1e7 // seconds
	replayedLooks = 100 * time.Millisecond
)

// castHeader is the first line of a recording.
type castHeader struct {
	Version   int      `json:"version"`
	Width     int      `json:"width"`
	Height    int      `json:"height"`
	Timestamp int64    `json:"timestamp"`
	Recorded  Recorded `json:"middleman"`
}

// Recorded says what was recorded.
type Recorded struct {
	// Profile is the built-in profile whose program it was, and Program what that
	// program printed for --version.
	Profile string `json:"profile"`
	Program string `json:"program"`
}

// Recorder writes a recording. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex // guards the fields below
	w       io.Writer
	start   time.Time
	partial []byte // the beginning of a character
	err     error
}

// NewRecorder begins a recording on w of a terminal of that size.
func NewRecorder(w io.Writer, what Recorded, cols, rows int, now time.Time) *Recorder {
	r := &Recorder{w: w, start: now.Truncate(time.Second)}
	r.line(castHeader{Version: 2, Width: cols, Height: rows, Timestamp: r.start.Unix(), Recorded: what})
	return r
}

// Output adds output. A byte that is not UTF-8 becomes U+FFFD.
func (r *Recorder) Output(p []byte, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p = append(r.partial, p...)
	n := len(p)
	if last := lastRune(p); !utf8.FullRune(p[last:]) {
		n = last
	}
	if r.partial = bytes.Clone(p[n:]); n > 0 {
		r.event(now, "o", string(p[:n]))
	}
}

// lastRune returns where the last character of p begins, which may be cut.
func lastRune(p []byte) int {
	i := max(0, len(p)-1)
	for i > 0 && len(p)-i < utf8.UTFMax && !utf8.RuneStart(p[i]) {
		i--
	}
	return i
}

// Size adds a change of the terminal's size.
func (r *Recorder) Size(cols, rows int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event(now, "r", fmt.Sprintf("%dx%d", cols, rows))
}

// Hook adds what a hook said.
func (r *Recorder) Hook(h Hook, now time.Time) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event(now, "h", string(data))
	return nil
}

// Mark adds the state that the user sees.
func (r *Recorder) Mark(m Mark, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event(now, "m", m.String())
}

// Err returns the first error of a write.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// The caller of event and line has locked.

func (r *Recorder) event(now time.Time, kind, text string) {
	r.line([]any{max(0, now.Sub(r.start).Seconds()), kind, text})
}

func (r *Recorder) line(v any) {
	data, err := json.Marshal(v)
	if err == nil && r.err == nil {
		_, err = r.w.Write(append(data, '\n'))
	}
	r.err = errors.Join(r.err, err)
}

// Mark is a state as a user writes it, such as "waiting permission".
type Mark struct {
	State State
	Kind  Kind // "" for any
}

// ParseMark reads a Mark.
func ParseMark(text string) (Mark, error) {
	state, kind, _ := strings.Cut(strings.Join(strings.Fields(text), " "), " ")
	m := Mark{State: State(state), Kind: Kind(kind)}
	kinds, known := kindsOf[m.State]
	if m.State == "" || !known || kind != "" && !slices.Contains(kinds, m.Kind) {
		return Mark{}, fmt.Errorf("%q is no state: write working, waiting, idle or failed; permission, question, login or rate limit may follow waiting, and background idle", text)
	}
	return m, nil
}

func (m Mark) String() string { return strings.TrimSpace(string(m.State) + " " + string(m.Kind)) }

// Moment is a mark in a recording, or a change of what was judged.
type Moment struct {
	At     float64 `json:"at"` // seconds after the beginning
	Marked string  `json:"marked,omitempty"`
	Judged Status  `json:"judged"`
	// Verdict of a mark is right, wrong or unknown: the rules did not know.
	Verdict string `json:"verdict,omitempty"`
}

// Replayed is what the rules of a profile make of a recording.
type Replayed struct {
	Recorded
	Moments []Moment `json:"moments"`
	// Right, Wrong and Unknown count the marks.
	Right   int `json:"right"`
	Wrong   int `json:"wrong"`
	Unknown int `json:"unknown"`
}

// Passed reports whether the recording shows that the rules hold: no mark is
// wrong, and one is right.
func (r Replayed) Passed() bool { return r.Wrong == 0 && r.Right > 0 }

// Replay reads a recording and judges it as the server would have judged the
// session. It fails if it is no recording of the profile's program.
func (p Profile) Replay(in io.Reader) (Replayed, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxCastLine)
	var h castHeader
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &h) != nil || h.Version != 2 {
		return Replayed{}, errors.Join(errors.New("this is no asciicast v2: `middleman profile record` makes one"), lines.Err())
	}
	if h.Recorded.Profile != p.RulesOf() {
		return Replayed{}, fmt.Errorf("the recording is of profile %q, not of %s", oneLine(h.Recorded.Profile), p.RulesOf())
	}
	base := time.Unix(h.Timestamp, 0).UTC()
	r := &replay{profile: p, base: base, now: base, terminal: vt.New(vt.Options{Cols: h.Width, Rows: h.Height, ScrollbackBytes: -1})}
	r.Recorded = Recorded{Profile: h.Recorded.Profile, Program: oneLine(h.Recorded.Program)}
	r.tracker.Rules = p.RulesOf()
	for n := 2; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := r.take(lines.Bytes()); err != nil {
			return Replayed{}, fmt.Errorf("line %d of the recording: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Replayed{}, fmt.Errorf("read the recording: %w", err)
	}
	return r.Replayed, nil
}

// replay is a recording that is being judged.
type replay struct {
	Replayed
	profile   Profile
	base, now time.Time
	looked    time.Time // when the screen was last judged
	printed   bool      // there was output since
	terminal  *vt.Terminal
	tracker   Tracker
}

// take takes one event.
func (r *replay) take(line []byte) error {
	var at float64
	var kind, text string
	event := []any{&at, &kind, &text}
	if err := json.Unmarshal(line, &event); err != nil || len(event) != 3 || !(at >= 0 && at <= maxCastTime) {
		return errors.New("it is no event: a time, a kind and a text")
	}
	if now := r.base.Add(time.Duration(at * float64(time.Second))); now.After(r.now) {
		r.pass(now)
	}
	switch kind {
	case "o":
		if r.now.Sub(r.looked) >= replayedLooks {
			r.look()
		}
		_, _ = r.terminal.Write([]byte(text)) // it never fails
		r.printed = true
	case "r":
		var cols, rows int
		if _, err := fmt.Sscanf(text, "%dx%d", &cols, &rows); err != nil {
			return fmt.Errorf("%q is no size", oneLine(text))
		}
		r.terminal.Resize(cols, rows)
		r.printed = true
	case "h":
		var h Hook
		if err := json.Unmarshal([]byte(text), &h); err != nil {
			return errors.New("it is no report of a hook")
		}
		if err := h.Check(); err != nil {
			return err
		}
		if h.At.IsZero() || h.At.After(r.now) || !r.now.Equal(r.base) {
			h.At = r.now
		} // else it is from before the recording, as old as it is
		r.changed(r.tracker.Hear(h, r.now))
	case "m":
		m, err := ParseMark(text)
		if err != nil {
			return err
		}
		r.look()
		return r.mark(m)
	}
	return nil // players skip other kinds too
}

// pass lets time pass.
func (r *replay) pass(now time.Time) {
	if r.printed && now.Sub(r.looked) >= replayedLooks {
		r.now = r.looked.Add(replayedLooks)
		if r.now.Before(r.base) {
			r.now = r.base
		}
		r.look()
	}
	if next := r.tracker.Next(); !next.IsZero() && next.After(r.now) && next.Before(now) {
		r.now = next
		r.changed(r.tracker.Decide(next))
	}
	r.now = now
}

// look judges the screen.
func (r *replay) look() {
	e := Evidence{Title: r.terminal.Title(), Progress: r.terminal.Progress(), Screen: strings.Split(strings.TrimRight(r.terminal.Text(vt.TextOptions{}), "\n"), "\n")}
	r.changed(r.tracker.See(r.profile.Look(e), r.printed, r.now))
	r.looked, r.printed = r.now, false
}

// changed adds a moment if what is judged has changed.
func (r *replay) changed(yes bool) {
	if n := len(r.Moments); yes && n < maxMoments && (n == 0 || !r.tracker.Now.same(r.Moments[n-1].Judged)) {
		r.Moments = append(r.Moments, Moment{At: r.now.Sub(r.base).Seconds(), Judged: r.tracker.Now})
	}
}

// mark compares what the user saw with what is judged.
func (r *replay) mark(m Mark) error {
	if len(r.Moments) >= maxMoments {
		return fmt.Errorf("it has more than %d marks and changes", maxMoments)
	}
	now := r.tracker.Now
	moment := Moment{At: r.now.Sub(r.base).Seconds(), Marked: m.String(), Judged: now, Verdict: "wrong"}
	switch {
	case now.State == m.State && (m.Kind == "" || now.Kind == m.Kind):
		moment.Verdict = "right"
		r.Right++
	case now.State == Unknown || now.State == "":
		moment.Verdict = "unknown"
		r.Unknown++
	default:
		r.Wrong++
	}
	r.Moments = append(r.Moments, moment)
	return nil
}
