//go:build unix

package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/vt"
)

// screenBytes bounds the scrollback of a screen that was captured of tmux,
// whose own bound is in lines.
const screenBytes = 64 << 20

// screenFormat is what display-message prints before the captured lines. The
// title is last, since it may hold anything but a line feed.
const screenFormat = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag} " +
	"#{alternate_on} #{pane_title}"

// screen draws the session's screen, scrollback and all, into a terminal of
// our own, in one tmux call.
func (srv server) screen(ctx context.Context, t target) (*vt.Terminal, error) {
	out, err := srv.run(ctx, nil, "display-message", "-p", "-t", t.pane, "#{"+paneOption+"}",
		";", "display-message", "-p", "-t", t.pane, screenFormat,
		";", "capture-pane", "-p", "-e", "-S", "-", "-t", t.pane)
	if err != nil {
		return nil, err
	}
	id, out, _ := strings.Cut(out, "\n")
	if id != t.id {
		return nil, t.refused(notOurs, nil)
	}
	return parseScreen(out)
}

// screen is the screen of a running session.
func (s *session) screen(ctx context.Context, rec record) (*vt.Terminal, error) {
	srv, t, err := s.reach(ctx, rec)
	if err != nil {
		return nil, err
	}
	return srv.screen(ctx, t)
}

func parseScreen(out string) (*vt.Terminal, error) {
	head, body, _ := strings.Cut(out, "\n")
	f := strings.SplitN(head, " ", 7)
	if len(f) != 7 {
		return nil, fmt.Errorf("tmux described the screen as %q", head)
	}
	var n [6]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(f[i]); err != nil {
			return nil, fmt.Errorf("tmux described the screen as %q", head)
		}
	}
	t := vt.New(vt.Options{Cols: n[0], Rows: n[1], ScrollbackBytes: screenBytes})
	var b strings.Builder
	b.WriteString("\x1b)0") // tmux shifts to G1 for line drawing
	b.WriteString(strings.ReplaceAll(strings.TrimSuffix(body, "\n"), "\n", "\r\n"))
	fmt.Fprintf(&b, "\x0f\x1b[m\x1b[%d;%dH\x1b]2;%s\x1b\\", n[3]+1, n[2]+1, f[6])
	if n[4] == 0 {
		b.WriteString("\x1b[?25l")
	}
	t.Write([]byte(b.String()))
	return t, nil
}

// snapshot returns bytes that draw t on a reset terminal, behind that many
// lines of scrollback (all where negative).
func snapshot(t *vt.Terminal, scrollback int) []byte {
	return t.AppendSnapshot(nil, vt.SnapshotOptions{Scrollback: scrollback})
}

// lastScreen draws the screen as it was recorded at the exit.
func (d stateDir) lastScreen(exit terminal.Exit) (*vt.Terminal, error) {
	t := vt.New(vt.Options{
		Cols: int(exit.Size.Cols), Rows: int(exit.Size.Rows), ScrollbackBytes: screenBytes,
	})
	b, err := private.ReadFile(d.path(screenFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the last screen: %w", err)
	}
	t.Write(b)
	return t, nil
}

// Capture implements terminal.Session.
func (s *session) Capture(ctx context.Context, o terminal.CaptureOptions) (terminal.Capture, error) {
	rec, state, exit, err := s.present()
	if err != nil {
		return terminal.Capture{}, err
	}
	if o.At != nil {
		return s.captureAt(*o.At, o)
	}
	// The offset first: the screen may be newer than it says, never older.
	_, head, err := s.bounds()
	if err != nil {
		return terminal.Capture{}, err
	}
	var t *vt.Terminal
	switch {
	case exit != nil:
		t, err = s.dir.lastScreen(*exit)
	case state.Ended():
		return terminal.Capture{}, fmt.Errorf("capture session %s: it is %s: %w", s.id, state, terminal.ErrGone)
	default:
		if t, err = s.screen(ctx, rec); err != nil {
			err = fmt.Errorf("capture session %s: %w: %w", s.id, terminal.ErrUnreachable, err)
		}
	}
	if err != nil {
		return terminal.Capture{}, err
	}
	return render(t, o, head)
}

func render(t *vt.Terminal, o terminal.CaptureOptions, offset uint64) (terminal.Capture, error) {
	cols, rows := t.Size()
	c := terminal.Capture{
		Offset: offset, Size: terminal.Size{Cols: uint16(cols), Rows: uint16(rows)}, Title: t.Title(),
	}
	text := vt.TextOptions{Scrollback: o.Scrollback}
	var err error
	switch o.Format {
	case terminal.FormatText, "":
		c.Data = []byte(t.Text(text))
	case terminal.FormatANSI:
		c.Data = []byte(t.ANSI(text))
	case terminal.FormatJSON:
		c.Data, err = json.Marshal(t.Cells())
	default:
		err = fmt.Errorf("capture format %q is not text, ansi or json", o.Format)
	}
	return c, err
}
