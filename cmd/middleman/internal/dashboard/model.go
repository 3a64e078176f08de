package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/plaintext"
)

// dashboard is the state of the dashboard. Its fields belong to the loop of the
// program; what runs in the background sends messages.
type dashboard struct {
	cli     *cli.CLI // prints nothing: the terminal shows the dashboard
	command Command
	here    string // the directory that the user stands in
	ctx     context.Context
	plain   bool // the user wants no colours
	send    func(tea.Msg)
	input   *input
	away    bool          // the terminal is given to a session
	notAway func()        // makes SIGQUIT what it was before that
	again   chan struct{} // asks the feed to read the list again

	background sync.WaitGroup
	shown      int                // counts how often the dashboard was shown
	end        context.CancelFunc // ends what runs while it is shown; nil while it is hidden

	cols, rows int
	list       catalog.List
	asked      []api.Approval  // what agents wait to be allowed
	all        []row           // of list and asked
	table      []row           // those that the filter lets pass
	ages       map[string]aged // by the ids of the rows
	widths     widths
	at         string // id of the selected row
	place      int    // where it was last
	top        int    // the first line of the list that is shown
	listed     bool   // the list has come
	server     bool   // a server keeps it up to date

	preview  preview
	filter   string
	found    map[string]string // what a search has found in sessions, by their ids
	searched string
	pane     pane // what is shown over the list; nil for nothing
	note     string
	doing    string // the command that runs
	later    press  // what was pressed meanwhile
	fresh    fresh  // the workspace that is made
	sure     string // id of the session that the next Enter takes over
}

// pane is what takes the keys instead of the list.
type pane interface {
	// press takes a key.
	press(d *dashboard, k tea.KeyPressMsg) tea.Cmd
	// paste takes text that was pasted.
	paste(d *dashboard, text string)
	// draw returns the lines of the whole screen, and where the cursor is.
	draw(d *dashboard) (lines []string, cursor *tea.Cursor)
}

func newDashboard(ctx context.Context, c *cli.CLI, command Command, here string) *dashboard {
	return &dashboard{cli: c.To(io.Discard, io.Discard), command: command, here: here, ctx: ctx, input: newInput(c.In), again: make(chan struct{}, 1), found: map[string]string{}}
}

// Init starts to follow the list.
func (d *dashboard) Init() tea.Cmd {
	d.show()
	return nil
}

// show begins what runs while the dashboard is shown.
func (d *dashboard) show() {
	d.hide()
	ctx, end := context.WithCancel(d.ctx)
	d.end = end
	d.shown++
	shown := d.shown
	d.background.Go(func() { d.feed(ctx, shown) })
	d.preview = preview{}
	d.look()
}

// hide ends it: a dashboard that is not shown asks nobody.
func (d *dashboard) hide() {
	if d.end != nil {
		d.end()
		d.end = nil
	}
	if d.preview.end != nil {
		d.preview.end()
		d.preview.end = nil
	}
}

// look follows the screen of the selected session, and of no other.
func (d *dashboard) look() {
	r, ok := d.selected()
	if ok && !r.hasSession() {
		ok = false
	}
	same := ok && d.preview.id == r.id
	if d.end == nil || same && (d.preview.end != nil || d.preview.screen != nil && !r.live()) {
		return
	}
	if d.preview.end != nil {
		d.preview.end()
	}
	number := d.preview.number + 1
	if !same {
		d.preview = preview{}
	}
	d.preview.number = number
	if !ok {
		return
	}
	ctx, end := context.WithCancel(d.ctx)
	d.preview.id, d.preview.end = r.id, end
	d.background.Go(func() { d.watch(ctx, r.session, number) })
}

// Update takes a message.
func (d *dashboard) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		d.cols, d.rows = m.Width, m.Height
	case tea.KeyPressMsg:
		if cmd = d.typed(m); m.Code == tea.KeyEnter {
			d.tookEnter()
		}
	case tea.PasteMsg:
		if d.pane != nil {
			d.pane.paste(d, m.Content)
		}
	case tea.ResumeMsg:
		d.show()
	case listed:
		d.takeList(m)
	case changed:
		d.takeChanged(m)
	case screen:
		d.takeScreen(m)
	case unwatched:
		if m.number == d.preview.number && d.preview.end != nil {
			d.preview.end()
			d.preview.end = nil // the next list begins again
		}
	case typed:
		m.peek.take(d, m.err)
	case seenAgain:
		m.peek.takeAgain(&m.screen)
	case ripened:
		m.request.ripe = true
	case loaded:
		d.takeLoaded(m)
		cmd = d.actLater()
	case back:
		cmd = d.takeBack(m)
	case result:
		cmd = d.takeResult(m)
		cmd = tea.Batch(cmd, d.actLater())
	}
	return d, tea.Batch(cmd, d.welcome())
}

// takeList takes the whole list.
func (d *dashboard) takeList(m listed) {
	if m.shown != d.shown {
		return
	}
	if m.err != nil {
		d.note = "the list could not be read: " + m.err.Error()
		return
	}
	d.list, d.asked, d.server, d.listed = m.list, m.asked, m.server, true
	if r, ok := d.pane.(*request); ok && !slices.ContainsFunc(d.asked, r.is) {
		r.end("it waits no more: it was answered, or its hook has ended")
	}
	if m.note != "" {
		d.note = m.note
	}
	d.fresh.lists++
	d.arrange(true)
}

// takeChanged takes sessions and approvals that have changed.
func (d *dashboard) takeChanged(m changed) {
	if m.shown != d.shown {
		return
	}
	for _, s := range m.sessions {
		if at := slices.IndexFunc(d.list.Sessions, func(old api.Session) bool { return old.ID == s.ID && old.Runtime == s.Runtime }); at >= 0 {
			d.list.Sessions[at] = s
		} else {
			d.list.Sessions = append(d.list.Sessions, s)
		}
	}
	for _, a := range m.asked {
		d.takeAsked(a)
	}
	d.arrange(false)
}

// takeScreen takes what a session shows.
func (d *dashboard) takeScreen(s screen) {
	if s.number != d.preview.number {
		return
	}
	d.preview.screen = &s
	if p, ok := d.pane.(*peek); ok && p.row.id == s.id {
		p.see(&s)
	}
}

// arrange makes the rows of the list. anew says that it was read again as a whole.
func (d *dashboard) arrange(anew bool) {
	d.all = rowsOf(d.list, d.asked)
	d.ages = tellAges(d.all, d.ages, anew)
	d.widths = widthsOf(d.all)
	d.sift()
}

// sift applies the filter to the rows.
func (d *dashboard) sift() {
	words := strings.Fields(strings.ToLower(d.filter))
	d.table = d.table[:0]
	for _, r := range d.all {
		r.found = ""
		if d.searched != "" && d.searched == d.filter {
			r.found = d.found[r.id]
		}
		if r.matches(words) {
			d.table = append(d.table, r)
		}
	}
	d.place = d.index()
	d.at = ""
	if len(d.table) > 0 {
		d.at = d.table[d.place].id
	}
	d.look()
}

// index returns the place of the selected row. If that is gone it is the one that
// has its place now.
func (d *dashboard) index() int {
	if at := slices.IndexFunc(d.table, func(r row) bool { return r.id == d.at }); at >= 0 {
		return at
	}
	return max(0, min(d.place, len(d.table)-1))
}

// selected returns the selected row.
func (d *dashboard) selected() (row, bool) {
	if len(d.table) == 0 {
		return row{}, false
	}
	return d.table[d.index()], true
}

// choose selects the row at a place, or the nearest one.
func (d *dashboard) choose(place int) {
	if len(d.table) > 0 {
		d.place = max(0, min(len(d.table)-1, place))
		d.at = d.table[d.place].id
		d.look()
	}
}

// next selects the next session that needs the user.
func (d *dashboard) next() {
	from := d.index()
	for i := range d.table {
		if at := (from + 1 + i) % len(d.table); d.table[at].group == attention.NeedsYou {
			d.choose(at)
			return
		}
	}
	d.note = "nothing needs you"
}

// counts says how many sessions there are, and how many of them need the user.
func (d *dashboard) counts() string {
	live, need := 0, 0
	for _, r := range d.all {
		if r.live() {
			live++
		}
		if r.group == attention.NeedsYou {
			need++
		}
	}
	text := plaintext.Count(live, "session") + " running"
	if need > 0 {
		text += fmt.Sprintf(", %d waiting for you", need)
	}
	return text
}

// said returns a note as one line. One that came while something is done is about that.
func (d *dashboard) said() string { return plaintext.Line(cmp.Or(d.note, d.doing)) }
