package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/approve"
	"middleman/internal/plaintext"
)

// request is what an agent asks to be allowed, whole, and takes the user's answer.
// It stays the same request until it is closed, whatever else the agent asks.
type request struct {
	approval api.Approval
	lines    []string // of text that is safe to print
	scroller
	read    bool   // its last line was shown
	ripe    bool   // it has been shown for readTime
	over    string // why it cannot be answered any more, "" while it can
	problem string
	reason  *entry // why the user denies it; nil while they do not
}

// readTime is how long a request must be shown before it can be allowed: a key that
// was meant for another one, which was answered elsewhere a moment ago, allows nothing.
const readTime = 300 * time.Millisecond

// ripened says that a request was shown for readTime.
type ripened struct{ request *request }

// openRequest shows the oldest request of a row's agent.
func (d *dashboard) openRequest(r row) tea.Cmd {
	if len(r.asks) == 0 {
		d.note = r.cells[colName] + " asks to be allowed nothing"
		return nil
	}
	opened := newRequest(r.asks[0])
	d.pane = opened
	return tea.Tick(readTime, func(time.Time) tea.Msg { return ripened{opened} })
}

func newRequest(a api.Approval) *request { return &request{approval: a, lines: requestText(a)} }

// is reports whether r shows an approval.
func (r *request) is(a api.Approval) bool { return a.ID == r.approval.ID }

// end says that the request cannot be answered any more.
func (r *request) end(why string) {
	if r.over == "" {
		r.over, r.reason = why, nil
	}
}

// takeAsked takes an approval that has changed.
func (d *dashboard) takeAsked(a api.Approval) {
	d.asked = slices.DeleteFunc(d.asked, func(old api.Approval) bool { return old.ID == a.ID })
	if a.State == api.ApprovalWaiting {
		d.asked = append(d.asked, a)
		return
	}
	r, ok := d.pane.(*request)
	switch {
	case !ok || !r.is(a):
	case a.DecidedBy != "":
		r.end(plaintext.Line(a.State + " already, by " + a.DecidedBy))
	default:
		r.end("it waits no more: " + plaintext.Line(a.Reason))
	}
}

// requestText returns the lines that say all of a request.
func requestText(a api.Approval) []string {
	lines := []string{
		plaintext.Line(fmt.Sprintf("%s in %s asks to use %s", a.Agent, a.Session, a.Tool)),
		plaintext.Line(a.Rule + ": " + a.Reason), "",
	}
	for line := range strings.Lines(approve.Text(a.Diff, a.Arguments)) {
		// Text keeps tabs, and what else ends a line it spells out.
		lines = append(lines, untab(plaintext.Text(strings.TrimSuffix(line, "\n"))))
	}
	return lines
}

// fit returns the lines on so many columns. Those of a diff are coloured.
func (r *request) fit(cols int) (fitted []string) {
	for i, line := range r.lines {
		style := ""
		switch {
		case i < headLines || r.approval.Diff == "":
		case strings.HasPrefix(line, "+"):
			style = "\x1b[32m"
		case strings.HasPrefix(line, "-"):
			style = "\x1b[31m"
		}
		for _, part := range fold([]string{line}, cols) {
			if style != "" {
				part = style + part + "\x1b[m"
			}
			fitted = append(fitted, part)
		}
	}
	return fitted
}

// headLines are those of requestText before the arguments or the diff.
const headLines = 3

// askedLines returns n lines of the beginning of a request. The last one says how
// many more there are.
func askedLines(a api.Approval, cols, n int) []string {
	lines := newRequest(a).fit(cols)
	if more := len(lines) - n; more > 0 {
		lines = append(lines[:max(0, n-1)], viewer.Fit(fmt.Sprintf("... %d more lines: a shows them", more+1), cols))
	}
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines[:n]
}

func (r *request) paste(_ *dashboard, text string) {
	if r.reason != nil {
		r.problem = r.reason.insert(text)
	}
}

func (r *request) press(d *dashboard, k tea.KeyPressMsg) tea.Cmd {
	r.problem = ""
	if r.reason != nil {
		return r.deny(d, k)
	}
	switch k.String() {
	case "y":
		return r.allow(d)
	case "n":
		if r.over == "" {
			r.reason = &entry{}
		}
	case "q", "esc":
		d.pane = nil
	default:
		r.move(k.String(), len(r.fit(d.cols)))
	}
	return nil
}

// allow allows the request, if the user has seen all of it.
func (r *request) allow(d *dashboard) tea.Cmd {
	switch {
	case r.over != "":
		return nil
	case !r.read:
		r.problem = "not allowed: there is more to read, PgDn shows it"
		return nil
	case !r.ripe:
		r.problem = "not allowed: it was shown only just now"
		return nil
	}
	return r.answer(d, "allowed", "approve", r.approval.ID, "--yes")
}

// deny takes the reason for a denial.
func (r *request) deny(d *dashboard, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		r.reason = nil
	case "enter":
		return r.answer(d, "denied", "deny", "--", r.approval.ID, r.reason.text())
	default:
		r.reason.press(k)
	}
	return nil
}

// answer answers by a command, as the command line does. Another answer may have
// been first: the server says so.
func (r *request) answer(d *dashboard, done string, args ...string) tea.Cmd {
	d.pane = nil
	what := plaintext.Line(r.approval.Session + ": " + r.approval.Summary)
	return d.run("answering "+what, d.say(done+": "+what), args...)
}

func (r *request) draw(d *dashboard) ([]string, *tea.Cursor) {
	text := r.fit(d.cols)
	shown := r.part(text, d.rows-2)
	more := len(text) - r.top - len(shown)
	r.read = r.read || more == 0
	lines := append([]string{rule(plaintext.Line(r.approval.Session+" · "+r.approval.Summary), d.cols)}, shown...)
	for len(lines) < d.rows-1 {
		lines = append(lines, "")
	}
	if r.reason != nil {
		const ask = "why not (Enter denies it): "
		text, at := r.reason.draw(d.cols - len(ask))
		return append(lines, viewer.Fit(ask+text, d.cols)), tea.NewCursor(len(ask)+at, len(lines))
	}
	keys := "n denies it  Esc goes back"
	switch {
	case more > 0:
		keys = fmt.Sprintf("PgDn: %d more lines  %s", more, keys)
	case r.ripe:
		keys = "y allows it once  " + keys
	}
	for _, said := range []string{r.problem, r.over} {
		if said != "" {
			return append(lines, viewer.Fit(said, d.cols)), nil
		}
	}
	return append(lines, d.foot(keys)), nil
}
