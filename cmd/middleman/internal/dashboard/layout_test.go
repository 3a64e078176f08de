package dashboard

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/terminal"
)

// someList has workspaces and sessions with what does not fit, and with what would
// steer a terminal.
func someList() catalog.List {
	made := time.Now().Add(-3 * time.Minute)
	return catalog.List{
		Workspaces: []api.Workspace{
			{ID: "w1", Label: "docs", Branch: "middleman/docs", RepoName: "api"},
			{ID: "w2", Label: strings.Repeat("long", 30), Branch: strings.Repeat("日本", 40), RepoName: "\x1b[2Jevil"},
			{ID: "w3", Label: "none", State: "failed"},
		},
		Sessions: []api.Session{
			{ID: "s1", Name: "sh", WorkspaceID: "w1", WorkspaceName: "docs", State: terminal.StateRunning, Argv: []string{"sh"}, CreatedAt: made},
			{ID: "s2", Name: "x\x07", WorkspaceID: "w2", WorkspaceName: strings.Repeat("long", 30), State: terminal.StateRunning, Argv: []string{"/bin/make", "a\nb\x1b]0;t\x07"}, CreatedAt: made},
			{ID: "s3", Name: "ask", WorkspaceID: "w1", WorkspaceName: "docs", State: terminal.StateRunning, Argv: []string{"ask"}, CreatedAt: made, Unseen: &terminal.Unseen{Bytes: 1, Bell: true}},
			{ID: "s4", Name: "old", WorkspaceID: "w1", WorkspaceName: "docs", State: terminal.StateExited, Exit: &terminal.Exit{Time: made}, CreatedAt: made},
			{ID: "s5", Name: "later", WorkspaceID: "w1", WorkspaceName: "docs", State: terminal.StateExited, Exit: &terminal.Exit{Time: made.Add(time.Second)}, CreatedAt: made},
		},
	}
}

// someRequests are requests of s2, and of s4, which has ended.
func someRequests() []api.Approval {
	asked := time.Now().Add(-time.Minute)
	return []api.Approval{
		{ID: "a2", SessionID: "s2", Session: "x/\x1b[2J", Agent: "claude", Tool: "Edit", Summary: "Edit: " + strings.Repeat("日本", 90),
			Diff: "--- x\n+++ x\n-a\tb\r\n+\x1b]0;t\x07" + strings.Repeat("日本", 200) + "\n", State: api.ApprovalWaiting, CreatedAt: asked.Add(time.Second)},
		{ID: "a1", SessionID: "s2", Session: "x/y", Agent: "claude", Tool: "Bash", Summary: "Bash: make", Arguments: `{"command":"make\u001b[2J"}`, State: api.ApprovalWaiting, CreatedAt: asked},
		{ID: "a3", SessionID: "s4", Session: "docs/old", Agent: "claude", Tool: "Bash", Summary: "Bash: make", State: api.ApprovalWaiting, CreatedAt: asked},
	}
}

func TestRowsInOrder(t *testing.T) {
	var got []string
	for _, r := range rowsOf(someList(), someRequests()) {
		got = append(got, r.group.String()+" "+r.id)
	}
	want := "Needs you s3, Needs you s2, Ready s1, Ended s5, Ended s4, Ended w3"
	// A workspace that was never made has no time, so it ended longest ago.
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
}

// Every screen fits its terminal, whatever that has, and no character of it steers
// the terminal but those that style.
func TestDrawsFit(t *testing.T) {
	d := newDashboard(t.Context(), &cli.CLI{}, nil, "/")
	d.all = rowsOf(someList(), someRequests())
	d.listed, d.widths = true, widthsOf(d.all)
	d.sift()
	panes := []pane{nil, newPage("a title", "a\ttab\n\x1b[31mred "+strings.Repeat("日本", 60)+"\x1b[m\nend"),
		newText("a text", strings.Repeat("words and 日本 and", 40)+"\n\n  end"), &peek{row: d.all[0]}, &search{}, &menu{title: "menu", items: []item{{line: strings.Repeat("x", 200)}}},
		&form{known: []string{"shell", "claude"}}, newRequest(someRequests()[0]), &request{approval: someRequests()[1], reason: &entry{}}}
	for cols := 1; cols <= 130; cols += 3 {
		for rows := 1; rows <= 45; rows += 2 {
			d.cols, d.rows = cols, rows
			for i := range d.table {
				d.choose(i)
				for _, d.pane = range panes {
					checkScreen(t, d)
				}
			}
		}
	}
}

func checkScreen(t *testing.T, d *dashboard) {
	t.Helper()
	lines := strings.Split(d.View().Content, "\n")
	if len(lines) > d.rows {
		t.Fatalf("%dx%d has %d lines", d.cols, d.rows, len(lines))
	}
	for _, line := range lines {
		plain := unstyled(line)
		if n := uniseg.StringWidth(plain); n > d.cols {
			t.Fatalf("%dx%d has a line of %d columns: %q", d.cols, d.rows, n, line)
		}
		if strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("a line steers the terminal: %q", line)
		}
	}
}

// unstyled removes SGR sequences.
func unstyled(line string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(line, "\x1b[")
		b.WriteString(before)
		end := strings.TrimLeft(rest, "0123456789;")
		if !ok || !strings.HasPrefix(end, "m") {
			b.WriteString(rest)
			return b.String()
		}
		line = end[1:]
	}
}

// The columns that tell what needs the user stay the longest.
func TestFitLeavesOutTheLast(t *testing.T) {
	whole := widths{[columns]int{20, 30, 4, 20, 20, 20, 20}, least}
	for _, tt := range []struct {
		cols int
		left int // columns
	}{{200, 7}, {78, 7}, {77, 6}, {69, 5}, {57, 4}, {50, 4}, {49, 3}, {10, 3}} {
		left := 0
		for _, width := range whole.fit(tt.cols) {
			if width > 0 {
				left++
			}
		}
		if left != tt.left {
			t.Errorf("%d columns keep %d cells, want %d", tt.cols, left, tt.left)
		}
	}
}

// What a session needs is told whole at 80 columns, whatever else is in the list.
func TestFitKeepsTheNeed(t *testing.T) {
	rows := []row{
		{group: attention.NeedsYou, cells: [columns]string{"login/claude", "waiting (permission): Bash: make test", "5s", "2 changed, +10 -4", "claude", "middleman/login", "api"}},
		{group: attention.Working, cells: [columns]string{strings.Repeat("n", 40), strings.Repeat("s", 60), "5s", strings.Repeat("w", 40), strings.Repeat("r", 30), "b", "r"}},
	}
	for _, cols := range []int{80, 120} {
		line := rows[0].line(widthsOf(rows).fit(cols), cols, false)
		if !strings.Contains(line, rows[0].cells[colState]) {
			t.Errorf("%d columns cut it: %q", cols, line)
		}
	}
	if got := widthsOf(rows).fit(40); got[colState] != least[colState] {
		t.Errorf("40 columns: the state has %d", got[colState])
	}
}

// An age changes when the list was read again, or when the row's state is another.
func TestAges(t *testing.T) {
	made := time.Now().Add(-3 * time.Hour)
	rows := []row{{id: "same", since: made}, {id: "other", since: made}, {id: "new", since: made}}
	before := map[string]aged{"same": {made, "5s"}, "other": {made.Add(-time.Hour), "5s"}}
	for _, tt := range []struct {
		anew bool
		want []string
	}{{false, []string{"5s", "3h", "3h"}}, {true, []string{"3h", "3h", "3h"}}} {
		tellAges(rows, before, tt.anew)
		for i, want := range tt.want {
			if got := rows[i].cells[colAge]; got != want {
				t.Errorf("anew %v: row %s is %s old, want %s", tt.anew, rows[i].id, got, want)
			}
		}
	}
}

func TestFold(t *testing.T) {
	for _, tt := range []struct {
		in   string
		cols int
		want []string
	}{
		{"", 5, []string{""}},
		{"short", 5, []string{"short"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"unbreakable", 5, []string{"unbre", "akabl", "e"}},
		{"日本語", 4, []string{"日本", "語"}},
		{"日本", 1, []string{"日本"}}, // nothing fits: the terminal's edge cuts it
	} {
		if got := fold([]string{tt.in}, tt.cols); !slices.Equal(got, tt.want) {
			t.Errorf("%q in %d columns is %q, want %q", tt.in, tt.cols, got, tt.want)
		}
	}
}
