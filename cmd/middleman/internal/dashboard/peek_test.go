package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/terminal"
	"middleman/terminal/vt"
)

func screenOf(text, hash string, offset uint64) *screen {
	s := &screen{id: "s1", hash: hash, offset: offset, vt: vt.New(vt.Options{Cols: 20, Rows: 4}), used: 1}
	s.vt.Write([]byte(text))
	return s
}

func drawnBy(p *peek, d *dashboard) string {
	lines, _ := p.draw(d)
	return strings.Join(lines, "\n")
}

// On a small screen the reason why a reply was not sent is there to its last word.
func TestPeekTellsTheWholeReason(t *testing.T) {
	d := newDashboard(t.Context(), &cli.CLI{}, nil, "/")
	long := "nothing was typed: it is not known whether it shows a dialog (no profile starts this program); " + strings.Repeat("x", 70) + " END"
	for _, size := range [][2]int{{50, 20}, {80, 24}, {30, 4}} {
		d.cols, d.rows = size[0], size[1]
		p := &peek{}
		p.reply.set("yes")
		p.see(screenOf("shown", "h1", 5))
		for _, err := range []error{terminal.ErrChanged, errors.New(long)} {
			p.take(d, err)
			lines, cursor := p.draw(d)
			if len(lines) != d.rows || !strings.HasPrefix(lines[cursor.Y], "reply: yes") {
				t.Errorf("%v: %d lines, the cursor in line %d:\n%s", size, len(lines), cursor.Y, strings.Join(lines, "\n"))
			}
			for _, line := range lines[1:] { // the rule has colour
				if uniseg.StringWidth(line) > d.cols {
					t.Errorf("%v: too long: %q", size, line)
				}
			}
			said := strings.ReplaceAll(strings.Join(lines[cursor.Y+1:], ""), " ", "")
			if d.rows >= 20 && said != strings.ReplaceAll(p.problem, " ", "") {
				t.Errorf("%v: said %q of %q", size, said, p.problem)
			}
		}
	}
}

// A reply expects the screen that is drawn, also when a newer one has come; the newer
// one is drawn, and expected, once the user asked for it.
func TestPeekExpectsWhatIsDrawn(t *testing.T) {
	d := newDashboard(t.Context(), &cli.CLI{}, nil, "/")
	d.cols, d.rows = 60, 8
	p := &peek{}
	if p.reply.set("yes"); p.send(d, "\r") != nil {
		t.Error("a reply is sent before a screen was seen")
	}
	p.see(screenOf("first", "h1", 5))
	p.see(screenOf("first", "h1", 9))
	if p.moved != nil || !strings.Contains(drawnBy(p, d), "first") {
		t.Errorf("output that leaves the text as it was counts as another screen:\n%s", drawnBy(p, d))
	}
	p.see(screenOf("second", "h2", 12))
	if text := drawnBy(p, d); !strings.Contains(text, "first") || strings.Contains(text, "second") || !strings.Contains(text, "printed more since") {
		t.Errorf("after a newer screen has come:\n%s", text)
	}
	if e := p.seen.expect(api.Session{}); e.Hash != "h1" {
		t.Errorf("a reply expects %+v", e)
	}
	p.take(d, fmt.Errorf("type: %w", terminal.ErrChanged))
	if text := drawnBy(p, d); !strings.Contains(text, "first") || !strings.Contains(text, "not sent: the screen has moved on") || p.reply.text() != "yes" {
		t.Errorf("after a refusal:\n%s", text)
	}
	p.takeAgain(screenOf("third", "", 20))
	if e := p.seen.expect(api.Session{}); e.Hash != "" || e.Offset == nil || *e.Offset != 20 || !strings.Contains(drawnBy(p, d), "third") {
		t.Errorf("an owner that has no hash: %+v\n%s", e, drawnBy(p, d))
	}
	p.see(screenOf("third", "", 21))
	if p.moved == nil {
		t.Error("without a hash, more output is no other screen")
	}
	p.take(d, errors.New("evil \x1b[2J"))
	if text := drawnBy(p, d); strings.Contains(text, "evil \x1b[2J") || !strings.Contains(text, "not sent: evil") {
		t.Errorf("another error:\n%q", text)
	}
}
