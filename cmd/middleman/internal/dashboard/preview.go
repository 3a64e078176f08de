package dashboard

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rivo/uniseg"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/terminal/vt"
)

const (
	// settle is how long a session must be selected before its screen is asked for.
	settle = 40 * time.Millisecond
	// pause is the least time between two requests for a screen.
	pause = 100 * time.Millisecond
	// previewLag is how many bytes of output a preview may be behind, from an owner
	// that sends some: it needs none of them.
	previewLag = 64 << 10
	// farPause is the time between two requests for a screen on another machine, where a
	// viewer would count as somebody who looks.
	farPause = time.Second
	// screenTime bounds how long a session may take to answer.
	screenTime = 5 * time.Second
)

// screen is what a session shows.
type screen struct {
	id     string
	number int // of the preview that it belongs to
	hash   string
	steady string // the hash without clocks and spinners, "" if that is not known
	offset uint64
	vt     *vt.Terminal
	used   int // rows down to the last one that is not blank
	err    error
}

// unwatched says that a preview has ended.
type unwatched struct{ number int }

// preview is the following of one session's screen.
type preview struct {
	id     string
	number int
	end    context.CancelFunc
	screen *screen // nil until the first has come
}

// look asks for one screen.
func look(ctx context.Context, t catalog.Target) (screen, error) {
	ctx, cancel := context.WithTimeout(ctx, screenTime)
	defer cancel()
	shot, err := t.Session.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatANSI})
	if err != nil {
		return screen{}, err
	}
	cols, rows := vt.ClampSize(int(shot.Size.Cols), int(shot.Size.Rows))
	s := screen{id: target(t.Shown.Runtime, t.Shown.ID), hash: shot.Hash, steady: shot.Steady, offset: shot.Offset, vt: vt.New(vt.Options{Cols: cols, Rows: rows})}
	text := bytes.TrimRight(shot.Data, "\n")
	s.vt.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	s.used = strings.Count(strings.TrimRight(s.vt.Text(vt.TextOptions{}), " \n"), "\n") + 1
	return s, nil
}

// lines returns the last rows of the screen that fit, without what follows the last
// one that is not blank.
func (s *screen) lines(cols, rows int) []string {
	return s.vt.View(0, max(0, s.used-rows), cols, rows, stands)
}

// stands reports whether a character of a screen shows, and in its own place: a mark
// without a letter would join what is drawn before it, be it a line of ours.
func stands(character string) bool {
	return plaintext.ShowsContent(character) && uniseg.GraphemeClusterCount("a"+character) > 1
}

// watch follows the screen of a session until ctx ends: it asks for it at once, and
// when the session says that it has changed.
func (d *dashboard) watch(ctx context.Context, s api.Session, number int) {
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return
	}
	t, err := catalog.Direct(d.cli, s)
	if err == nil {
		err = d.watchTarget(ctx, t, number)
	}
	if err != nil {
		d.tell(ctx, screen{id: target(s.Runtime, s.ID), number: number, err: err})
	}
	d.tell(ctx, unwatched{number})
}

// watchTarget asks for the screen whenever the session tells of something.
func (d *dashboard) watchTarget(ctx context.Context, t catalog.Target, number int) error {
	at, err := d.tellScreen(ctx, t, number)
	if err != nil || t.Shown.State.Ended() {
		return err
	}
	if t.Shown.Runtime != "" {
		return d.watchFar(ctx, t, number)
	}
	att, err := t.Session.Attach(ctx, terminal.AttachOptions{
		Mode: terminal.ModeWatch, Client: "dashboard", From: &at, MaxLag: previewLag, NoOutput: true, Activity: true, Reader: true,
	})
	if err != nil {
		return err
	}
	stirred := make(chan struct{}, 1) // several messages become one request
	var receiving sync.WaitGroup
	receiving.Go(func() { receive(att, stirred) })
	defer receiving.Wait()
	defer att.Close()
	if att.Hello().Head != at {
		stir(stirred)
	}
	for {
		select {
		case _, more := <-stirred:
			if _, err := d.tellScreen(ctx, t, number); err != nil || !more {
				return err
			}
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// watchFar asks for the screen of a session on another machine again and again.
func (d *dashboard) watchFar(ctx context.Context, t catalog.Target, number int) error {
	for {
		select {
		case <-time.After(farPause):
		case <-ctx.Done():
			return nil
		}
		if _, err := d.tellScreen(ctx, t, number); err != nil {
			return err
		}
	}
}

// receive stirs at each message, and closes stirred after the last one.
func receive(att terminal.Attachment, stirred chan<- struct{}) {
	defer close(stirred)
	for {
		m, err := att.Receive()
		if err != nil {
			return
		}
		stir(stirred)
		if m.Kind == terminal.MessageExit || m.Kind == terminal.MessageDetached {
			return
		}
	}
}

func stir(stirred chan<- struct{}) {
	select {
	case stirred <- struct{}{}:
	default:
	}
}

// tellScreen passes the present screen on, and returns its offset.
func (d *dashboard) tellScreen(ctx context.Context, t catalog.Target, number int) (uint64, error) {
	s, err := look(ctx, t)
	if err == nil {
		s.number = number
		d.tell(ctx, s)
	}
	return s.offset, err
}
