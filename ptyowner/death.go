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

// An owner never ends by itself without an exit record. If it does, a signal
// killed it or it failed. Two places tell which. The Go runtime writes a panic
// to its standard error, which is owner.log. And the process that started the
// owner, if it still runs, sees the signal and notes it in the same log.

const (
	// lastWordsBytes is how much of the end of a log is read. lastWordsShown
	// is how many bytes of it a message quotes.
	lastWordsBytes = 64 << 10
	lastWordsShown = 300
	// deathTime is how long to wait for the starter's note, if this process is
	// the starter.
	deathTime = 5 * time.Second
)

// death describes how the owner of a lost session ended.
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
	return "its owner was killed or has failed; the reason is not known"
}

// logTail returns the last part of the owner's log, from the beginning of a
// line, or nil if it cannot be read.
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

// endNote is the note of a starter about an owner that it waited for: the
// owner's pid, how it ended, and how many processes of its cgroup the kernel
// killed for lack of memory while it ran.
const endNote = "owner %d ended: %s; killed for memory: %d"

var endNotePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\S+ owner (\d+) ended: ([^;]*); killed for memory: (\d+)$`)
})

// lastWords finds in an owner's log how the owner ended, or returns "" if the
// log does not tell. Text from the log is escaped, so that all of it shows on a
// terminal.
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

// endText describes an owner's end from the fields of endNote.
func endText(how, killed string) string {
	if how != "signal: killed" {
		return "its owner ended by " + shorten(how)
	}
	if n, _ := strconv.Atoi(killed); n > 0 {
		return fmt.Sprintf("its owner was killed by SIGKILL, probably for memory: the kernel killed %d processes of its control group for that", n)
	}
	return "its owner was killed by SIGKILL; it is not known by whom"
}

// shorten returns text as one line of bounded length.
func shorten(text string) string {
	if len(text) > lastWordsShown {
		text = strings.ToValidUTF8(text[:lastWordsShown], "") + "..."
	}
	return plaintext.Line(text)
}
