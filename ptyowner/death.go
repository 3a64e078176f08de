package ptyowner

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"middleman/internal/plaintext"
	"middleman/internal/private"
	"middleman/ptyowner/state"
)

// An owner never ends by itself without an exit record. One that did was killed
// or has failed, and this is who knows of it: the runtime writes last words to
// its standard error, which is owner.log, and whoever started it, and still
// runs, sees the signal and notes it there.

const (
	// lastWordsBytes is how much of a log's end is read, and lastWordsShown how
	// much of it is told.
	lastWordsBytes = 64 << 10
	lastWordsShown = 300
	// deathTime is how long the starter's note is waited for where this process
	// is the starter.
	deathTime = 5 * time.Second
)

// death tells how the owner of a lost session came to its end.
func (s *session) death(r state.Record) string {
	if noted, ok := s.b.waits.Load(s.dir.ID); ok {
		select {
		case <-noted.(chan struct{}):
		case <-time.After(deathTime):
		}
	}
	if text := lastWords(logTail(s.dir), r.OwnerPID); text != "" {
		return text
	}
	if boot := bootTime(); !r.Created.IsZero() && boot.After(r.Created) {
		return "the machine was restarted, and its owner ended with it"
	}
	return "its owner was killed or has failed; how is not known"
}

// logTail is the end of the owner's log, from a line's beginning; nothing where
// it cannot be read.
func logTail(d state.Dir) []byte {
	f, err := private.Open(d.File(state.LogFile))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, info.Size()-lastWordsBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, from, lastWordsBytes))
	if err != nil {
		return nil
	}
	if from > 0 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data
}

// endNote is what a starter notes of the owner that it waited for: its pid, how
// it ended, and how many processes beside it were killed for memory meanwhile.
const endNote = "owner %d ended: %s; killed for memory: %d"

var endNotePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\S+ owner (\d+) ended: ([^;]*); killed for memory: (\d+)$`)
})

// lastWords tells from an owner's log how it ended, "" where that says nothing.
// What was in the log is spelled out where a terminal would not show it.
func lastWords(log []byte, pid int) string {
	panicked, noted := "", ""
	for line := range bytes.Lines(log) {
		text := strings.TrimRight(string(line), "\r\n")
		if m := endNotePattern().FindStringSubmatch(text); m != nil && m[1] == strconv.Itoa(pid) {
			noted = endText(m[2], m[3])
		}
		for prefix, word := range map[string]string{"panic: ": "its owner panicked: ", "fatal error: ": "its owner ended by a fatal error: "} {
			if rest, ok := strings.CutPrefix(text, prefix); ok {
				panicked = word + shorten(rest)
			}
		}
	}
	if panicked != "" {
		return panicked + " (" + state.LogFile + ")"
	}
	return noted
}

// endText says what the system says of an owner's end.
func endText(how, killed string) string {
	if how != "signal: killed" {
		return "its owner ended by " + shorten(how)
	}
	if n, _ := strconv.Atoi(killed); n > 0 {
		return fmt.Sprintf("its owner was killed by SIGKILL, probably for memory: the kernel killed %d processes of its control group for that", n)
	}
	return "its owner was killed by SIGKILL; by whom is not known"
}

// shorten is text on one line, of bounded length.
func shorten(text string) string {
	if len(text) > lastWordsShown {
		text = strings.ToValidUTF8(text[:lastWordsShown], "") + "..."
	}
	return plaintext.Line(text)
}
