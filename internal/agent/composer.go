package agent

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// composer is the form of the line in which a program takes its next prompt. It is
// known by its place too: below it comes a footer and nothing else. So it proves that
// what stands above is old, such as a dialog that the output quotes.
type composer struct {
	// above and below match the rows that frame it. Without them it ends at a blank
	// row, and only indented rows may come below.
	above, below string
	// first matches its first row. The rows after that are its own up to below.
	first string
	// output matches a row in which the program begins a new part of its output.
	output string
}

const (
	// maxComposer and maxFooter are how many rows of the screen a composer has at
	// most, and how many rows that are not blank come below it.
	maxComposer, maxFooter = 40, 6
	// askedRows is how many of the last rows of a screen are searched for a dialog.
	askedRows = 24
)

// composers are those of the profiles whose form is known. A row that could be the
// option of a dialog begins none.
var composers = map[string][]composer{
	"claude": {
		{above: `^[─━]{3,}`, first: `^[❯>]([ \x{A0}]|$)`, below: `^[─━]{3,}`, output: `^[●⏺] `},
		{above: `^ *╭─+╮?`, first: `^ *│ [❯>]([ \x{A0}]|$)`, below: `^ *╰─+`, output: `^[●⏺] `},
	},
	"codex": {{first: `^›( |$)`, output: `^[•■✗✓] `}},
	"gemini": {
		{above: `^ *╭─+╮?`, first: `^ *│ >( |$)`, below: `^ *╰─+`, output: `^✦ `},
		{above: `^ *[▀▄]{3,}`, first: `^ *>( |$)`, below: `^ *[▀▄]{3,}`, output: `^✦ `},
	},
}

// form is a composer whose expressions are compiled.
type form struct{ above, below, first, output *regexp.Regexp }

// forms has the composers compiled, at the first use.
var forms = sync.OnceValue(func() map[string][]form {
	compile := func(text string) *regexp.Regexp {
		if text == "" {
			return nil
		}
		return regexp.MustCompile(text)
	}
	all := map[string][]form{}
	for program, list := range composers {
		for _, c := range list {
			all[program] = append(all[program], form{compile(c.above), compile(c.below), compile(c.first), compile(c.output)})
		}
	}
	return all
})

// option matches a row that offers a choice, and hint one that belongs to a dialog.
var option, hint = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\s│┃▌|]*([❯›>●◉→▶] *)?\d{1,2}[.)] `)
}), sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[\s│┃▌|]*[❯›>●◉→▶]( |$)` +
		`|do you (want|trust)|would you like|\ballow\b|\bproceed\b|permission (required|for)|\?[\s│┃|]*$` +
		`|\b(esc|enter|return|tab)\b.{0,14}\b(cancel|confirm|continue|select|submit|exit|reject|dismiss|amend|accept|approve|deny)\b` +
		`|\b[\[(]?y(es)?/n(o)?\b|\((y|n|esc)\)`)
})

// frame matches a row that begins, is in, or ends a box or a part of the screen.
var frame = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([╭╰┌└┏┗╔╚│┃▌]|[─━═▀▄╌]{3})`)
})

// offers reports whether a row may be one of a dialog.
func offers(row string) bool { return option().MatchString(row) || hint().MatchString(row) }

// mayAsk reports whether the last rows of a screen may be those of a dialog.
func mayAsk(screen []string) bool {
	n := 0
	for i := len(screen) - 1; i >= 0 && n < askedRows; i-- {
		if strings.TrimSpace(screen[i]) != "" {
			n++
			if offers(screen[i]) {
				return true
			}
		}
	}
	return false
}

// parts are those of a screen.
type parts struct {
	// output is what stands above the composer, or the screen without one. latest is
	// the end of it, from where the program has last begun to print something.
	output, latest []string
	footer         []string
	composer       bool
}

// divide looks for the composer of a program.
func divide(program string, screen []string) parts {
	p := parts{output: screen, latest: screen}
	for _, f := range forms()[program] {
		first, end, ok := f.find(screen)
		if ok {
			p = parts{output: screen[:first], footer: screen[end:], composer: true}
		}
		p.latest = p.output
		for i, row := range slices.Backward(p.output) {
			if f.output.MatchString(row) {
				p.latest = p.output[i:]
				break
			}
		}
		if ok {
			return p
		}
	}
	return p
}

// find returns where a composer begins, with its frame, and where the rows below it do.
func (f form) find(screen []string) (first, end int, ok bool) {
	end, first = len(screen), -1
	if f.below == nil {
		first = lastRow(screen, f.first)
		end = first + 1
		for end < len(screen) && strings.TrimSpace(screen[end]) != "" {
			end++
		}
	} else if bottom := lastRow(screen, f.below); bottom > 0 {
		end = bottom + 1
		if top := lastRow(screen[:bottom], f.above); top >= 0 && bottom-top <= maxComposer {
			first = top + 1
		}
	}
	if first < 0 || first >= end || !f.first.MatchString(screen[first]) || option().MatchString(screen[first]) {
		return 0, 0, false
	}
	if f.below == nil {
		indented := func(row string) bool {
			return strings.TrimSpace(row) == "" || strings.HasPrefix(row, "  ") && !offers(row)
		}
		return first, end, every(screen[first+1:], indented) && isFooter(screen[end:])
	}
	return first - 1, end, isFooter(screen[end:])
}

// isFooter reports whether rows are few, and none may be of a dialog.
func isFooter(rows []string) bool {
	n := 0
	return every(rows, func(row string) bool {
		if strings.TrimSpace(row) == "" {
			return true
		}
		n++
		return n <= maxFooter && !offers(row) && !frame().MatchString(row)
	})
}

func every(rows []string, is func(string) bool) bool {
	return !slices.ContainsFunc(rows, func(row string) bool { return !is(row) })
}

// lastRow returns the index of the last row that matches, or -1.
func lastRow(rows []string, is *regexp.Regexp) int {
	for i, row := range slices.Backward(rows) {
		if is.MatchString(row) {
			return i
		}
	}
	return -1
}
