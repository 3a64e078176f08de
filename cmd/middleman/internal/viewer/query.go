package viewer

import (
	"bytes"
	"slices"
	"strconv"

	"middleman/terminal/escape"
)

// replayFilter removes from replayed output the queries that a terminal would
// answer: the program got its answer long ago, and would read a second one as
// typed input. Everything else passes byte for byte.
type replayFilter struct {
	split escape.Splitter
	out   []byte
	open  bool // the last written sequence has no terminator
	tmux  bool // the output is for a terminal of tmux
}

// newHostFilter returns a filter for a program that runs in tmux, which answers
// its queries.
func newHostFilter() *replayFilter {
	f := newReplayFilter()
	f.tmux = true
	return f
}

func newReplayFilter() *replayFilter {
	f := &replayFilter{}
	f.split.Text = func(p []byte) {
		for {
			at := bytes.IndexByte(p, enq)
			if at < 0 {
				break
			}
			f.out = append(f.out, p[:at]...)
			p = p[at+1:]
		}
		f.out = append(f.out, p...)
	}
	f.split.Sequence = func(p []byte, whole bool) {
		switch {
		case f.tmux && string(p) == tmuxTitle:
			f.out = append(f.out, "\x1b]2;"...)
			f.open = true
		case !whole || !isQuery(p):
			f.out = append(f.out, p...)
			f.open = !whole || isOpen(p)
		case f.open:
			// The query's ESC would have ended that sequence.
			f.out = append(f.out, stringEnd...)
			f.open = false
		}
	}
	return f
}

// filter returns the part of p that may be drawn, valid until the next call. It
// holds back an incomplete sequence.
func (f *replayFilter) filter(p []byte) []byte {
	f.out = f.out[:0]
	f.split.Write(p)
	return f.out
}

// rest ends the replay and returns what was held back. If that is a query, the
// program has no answer yet, so the terminal must see it.
func (f *replayFilter) rest() []byte {
	f.out = f.out[:0]
	f.split.Flush()
	return f.out
}

// Control characters.
const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
)

const (
	enq       = 0x05 // asks for the answerback message
	stringEnd = "\x1b\\"
	// tmuxTitle begins a title that ends as an OSC does. Terminals other than
	// tmux and screen would print it.
	tmuxTitle = "\x1bk"
)

// isOpen reports whether the sequence p is a string without terminator, which
// the next sequence ends.
func isOpen(p []byte) bool {
	return len(p) > 1 && bytes.IndexByte([]byte("P]X^_"), p[1]) >= 0 &&
		!bytes.HasSuffix(p, []byte(stringEnd)) && p[len(p)-1] != bel
}

// isQuery reports whether a terminal answers the complete sequence p.
func isQuery(p []byte) bool {
	switch {
	case len(p) < 2:
		return false
	case p[1] == '[':
		return isCSIQuery(p[2:])
	case p[1] == ']':
		return isOSCQuery(trimString(p))
	case p[1] == 'P': // DECRQSS and XTGETTCAP
		body := bytes.TrimLeft(trimString(p), "0123456789:;")
		return bytes.HasPrefix(body, []byte("$q")) || bytes.HasPrefix(body, []byte("+q"))
	case p[1] == '_': // the kitty graphics protocol answers unless told not to
		body := trimString(p)
		return bytes.HasPrefix(body, []byte("G")) && bytes.Contains(body, []byte("a=q"))
	}
	return string(p) == "\x1bZ" // DECID
}

// trimString returns a string's content, without introducer, terminator and
// controls, which terminals ignore.
func trimString(p []byte) []byte {
	p = bytes.TrimSuffix(p[2:], []byte(stringEnd))
	p = bytes.TrimSuffix(p, []byte{bel})
	control := func(b byte) bool { return b < ' ' || b == del }
	if !slices.ContainsFunc(p, control) {
		return p
	}
	return slices.DeleteFunc(bytes.Clone(p), control)
}

// csiQueries are the control sequences that are answered whatever their
// parameters. The key is private prefix, intermediates and final byte.
var csiQueries = map[string]bool{
	"c": true, ">c": true, "=c": true, // DA1, DA2, DA3
	"n": true, "?n": true, // DSR
	"$p": true, "?$p": true, // DECRQM
	"x":  true,             // DECREQTPARM
	">q": true,             // XTVERSION
	"?u": true,             // kitty keyboard flags
	"?m": true,             // XTQMODKEYS
	"?S": true,             // XTSMGRAPHICS
	"*y": true,             // DECRQCRA
	"$w": true, "$u": true, // DECRQPSR, DECRQTSR
	"&u": true, "\"v": true, // DECRQUPSS, DECRQDE
	"+x": true, "'|": true, // DECRQPKFM, DECRQLP
	"#R": true, "#S": true, // XTREPORTCOLORS, XTTITLEPOS
}

// isCSIQuery checks the part of a sequence after ESC [.
func isCSIQuery(p []byte) bool {
	var kind []byte
	params := p[:0:0]
	for i, b := range p {
		switch {
		case i == 0 && b >= '<' && b <= '?', b >= 0x20 && b < 0x30, b >= 0x40:
			kind = append(kind, b)
		default:
			params = append(params, b)
		}
	}
	if string(kind) == "t" { // XTWINOPS reports
		first, _, _ := bytes.Cut(params, []byte(";"))
		n, err := strconv.Atoi(string(first))
		return err == nil && n >= 11 && n <= 21
	}
	return csiQueries[string(kind)]
}

// isOSCQuery checks the content of an OSC, such as "11;?".
func isOSCQuery(p []byte) bool {
	number, rest, _ := bytes.Cut(p, []byte(";"))
	n := readNumber(number).value
	switch {
	case n == 1337: // iTerm2
		for _, name := range []string{"ReportCellSize", "ReportVariable", "RequestUpload", "Capabilities"} {
			if bytes.HasPrefix(rest, []byte(name)) {
				return true
			}
		}
		return false
	case n == 99: // kitty notifications
		return bytes.Contains(rest, []byte("p=?"))
	case n == 4, n == 5, n >= 10 && n <= 19, n == 21, n == 22, n == 50, n == 52, n == 60, n == 61, n > maxNumber:
		for field := range bytes.SplitSeq(rest, []byte(";")) {
			if bytes.HasPrefix(field, []byte("?")) || bytes.HasSuffix(field, []byte("=?")) {
				return true
			}
		}
		return n == 60 || n == 61
	}
	return false
}
