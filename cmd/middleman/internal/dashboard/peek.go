package dashboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/terminal"
)

// peek shows the screen of a session as it was when the user began to look, and
// takes a reply. The reply is typed only if the session still shows that, clocks and
// spinners aside; see screen.shows.
type peek struct {
	row     row
	seen    *screen // what the user sees; nil until it has come
	moved   *screen // what the session shows since; nil for the same
	reply   entry
	problem string
}

// typed is what became of a reply.
type typed struct {
	peek *peek
	err  error
}

// seenAgain is the screen that the user asked for.
type seenAgain struct {
	peek *peek
	screen
}

func (d *dashboard) newPeek(r row) *peek {
	p := &peek{row: r}
	if s := d.preview.screen; s != nil && s.err == nil && d.preview.id == r.id {
		p.seen = s
	}
	return p
}

// see takes a newer screen. It is not drawn until the user asks for it.
func (p *peek) see(s *screen) {
	switch {
	case s.err != nil:
		p.problem = "its screen could not be read: " + plaintext.Line(s.err.Error())
	case p.seen == nil:
		p.seen, p.problem = s, ""
	case p.seen.shows(s, p.row.session):
		p.seen, p.moved = s, nil
	default:
		p.moved = s
	}
}

func (p *peek) paste(_ *dashboard, text string) { p.problem = p.reply.insert(text) }

func (p *peek) press(d *dashboard, k tea.KeyPressMsg) tea.Cmd {
	p.problem = ""
	switch k.String() {
	case "esc":
		d.pane = nil
	case "ctrl+r":
		return func() tea.Msg { return seenAgain{p, d.lookAt(p.row.session)} }
	case "enter":
		return p.send(d, "\r")
	case "tab":
		return p.send(d, "")
	default:
		p.reply.press(k)
	}
	return nil
}

// send types the reply and then key.
func (p *peek) send(d *dashboard, key string) tea.Cmd {
	if p.reply.text() == "" {
		return nil
	}
	if p.seen == nil {
		p.problem = "not sent: its screen has not come yet"
		return nil
	}
	s, seen, text := p.row.session, p.seen, p.reply.text()
	if key != "" && seen.hash != "" && d.server && s.Agent != nil {
		return func() tea.Msg {
			return typed{p, d.reply(s, seen, func(now *screen) error { return d.prompt(s, text, now.hashFor(s)) })}
		}
	}
	return func() tea.Msg {
		return typed{p, d.reply(s, seen, func(now *screen) error { return d.typeAt(s, text+key, now.expect(s)) })}
	}
}

// replyTime is for how long a reply is tried again at a screen that has changed where
// that does not matter, if its owner does not tell that apart by itself (screen.steady).
const replyTime = 3 * time.Second

// reply sends by send, which compares the session's screen with the one that it gets:
// first the one that the user has seen, then a newer one, as long as that shows the same.
// send must type nothing if it returns terminal.ErrChanged.
func (d *dashboard) reply(s api.Session, seen *screen, send func(*screen) error) error {
	now := seen
	for began := time.Now(); ; {
		err := send(now)
		if !errors.Is(err, terminal.ErrChanged) || time.Since(began) > replyTime {
			return err
		}
		next := d.lookAt(s)
		if next.err != nil || !seen.shows(&next, s) {
			return err
		}
		now = &next
	}
}

// typeAt types at a session if it shows what is expected.
func (d *dashboard) typeAt(s api.Session, text string, expect terminal.Expect) error {
	ctx, cancel := context.WithTimeout(d.ctx, screenTime)
	defer cancel()
	t, err := catalog.Direct(d.cli, s)
	if err == nil {
		_, err = t.Session.Type(ctx, []byte(text), expect)
	}
	return err
}

// errTaken says that a dialog took the text itself, so that no key followed it.
var errTaken = errors.New("the dialog took the text without Enter")

// prompt gives an agent its next prompt, as send --prompt does, or the answer to a dialog,
// if it shows what is expected. After an answer the key is pressed only if the text is all
// that is new: many a dialog takes one character, and another may follow it.
func (d *dashboard) prompt(s api.Session, text, hash string) error {
	server, err := client.Connect(d.ctx, d.cli.Dirs)
	if err != nil {
		return err
	}
	defer server.Close()
	_, err = server.On(s.Runtime).Prompt(d.ctx, s.ID, api.Prompt{Text: text, Expect: hash, Answer: waits(s)})
	switch p, _ := errors.AsType[*api.Problem](err); {
	case p != nil && p.Code == api.CodeChanged:
		return fmt.Errorf("%w: %w", terminal.ErrChanged, err)
	case p != nil && p.Code == api.CodeNotSubmitted && waits(s):
		return fmt.Errorf("%w: %w", errTaken, err)
	}
	return err
}

// lookAt returns what a session shows now.
func (d *dashboard) lookAt(session api.Session) (s screen) {
	t, err := catalog.Direct(d.cli, session)
	if err == nil {
		s, err = look(d.ctx, t)
	}
	s.err = err
	return s
}

// takeAgain shows the screen that the user asked for: the reply goes to that.
func (p *peek) takeAgain(s *screen) {
	if s.err != nil {
		p.problem = "its screen could not be read: " + plaintext.Line(s.err.Error())
		return
	}
	p.seen, p.moved = s, nil
}

// take takes what became of the reply.
func (p *peek) take(d *dashboard, err error) {
	switch {
	case err == nil || errors.Is(err, errTaken):
		d.note = "sent to " + p.row.cells[colName]
		if err != nil {
			d.note += ", without Enter: the screen changed at the text"
		}
		if d.pane == p {
			d.pane = nil
		}
	case errors.Is(err, terminal.ErrChanged):
		p.problem = "not sent: the screen has moved on; ctrl-r shows it as it is now"
	default:
		p.problem = plaintext.Line(fmt.Sprintf("not sent: %v", err))
	}
}

func (p *peek) draw(d *dashboard) ([]string, *tea.Cursor) {
	foot := []string{"Enter sends  Tab sends without Enter  Esc goes back"}
	switch {
	case p.problem != "": // the reason matters more than the screen
		foot = fold([]string{p.problem}, d.cols)
		foot = foot[:min(len(foot), max(1, d.rows-3))]
	case p.moved != nil:
		foot[0] = "it has printed more since: ctrl-r shows it"
	}
	n := max(1, d.rows-2-len(foot))
	lines := []string{rule(d.about(p.row), d.cols)}
	if p.seen != nil {
		lines = append(lines, p.seen.lines(d.cols, n)...)
	}
	for len(lines) < n+1 {
		lines = append(lines, "")
	}
	const prompt = "reply: "
	text, at := p.reply.draw(d.cols - len(prompt))
	cursor := tea.NewCursor(len(prompt)+at, len(lines))
	lines = append(lines, viewer.Fit(prompt+text, d.cols))
	for _, line := range foot {
		lines = append(lines, viewer.Fit(line, d.cols))
	}
	return lines, cursor
}
