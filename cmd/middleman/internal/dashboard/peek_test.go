package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"testing"

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
