package ptyowner_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"middleman/terminal"
)

// What a full disk kept out is a gap in the recording, and what came behind it
// shows as it was: the screen went on, and left a keyframe.
func TestPastOfAFullDisk(t *testing.T) {
	data, b := smallDisk(t)
	s := spec(`stty -echo; echo before; read x
		i=0; while [ $i -lt 9000 ]; do echo LOST $i.; i=$((i+1)); done; read x
		echo after; read x`)
	start(t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "before"); err != nil {
		t.Fatal(err)
	}
	free := fill(t, data)
	t.Cleanup(free)
	for _, step := range []struct{ input, shows string }{{"\r", "LOST 8999."}, {"\r", "after"}} {
		if err := session.Input(context.Background(), []byte(step.input)); err != nil {
			t.Fatal(err)
		}
		if err := waitText(session, step.shows); err != nil {
			t.Fatal(err)
		}
		free()
	}
	status, err := session.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(data, "sessions", s.ID, "journal", "*.log")); err != nil || len(files) != 3 {
		t.Errorf("segments %v, %v, want one before the gap, one from memory and one behind it", files, err)
	}
	// The present screen is as of the head, so the one that makes keyframes was there.
	if _, err := session.Capture(context.Background(), terminal.CaptureOptions{}); err != nil {
		t.Fatal(err)
	}
	c, err := session.Capture(context.Background(), terminal.CaptureOptions{Format: terminal.FormatText, At: &status.Head})
	if err != nil || c.Note != "" || !strings.HasSuffix(string(c.Data), "LOST 8999.\nafter\n") {
		t.Errorf("at the head: %q, %q, %v", c.Data, c.Note, err)
	}
	zero := uint64(8)
	c, err = session.Capture(context.Background(), terminal.CaptureOptions{Format: terminal.FormatText, At: &zero})
	if err != nil || string(c.Data) != "before\n" {
		t.Errorf("before the gap: %q, %v", c.Data, err)
	}
	gapEnd := status.Head - uint64(len("after\r\n")) - 64<<10 // from there on it was in memory
	inGap := gapEnd - 100
	if _, err = session.Capture(context.Background(), terminal.CaptureOptions{At: &inGap}); err == nil {
		t.Error("a capture in the gap")
	} else if _, to, ok := terminal.Gap(err); !ok || to != gapEnd {
		t.Errorf("in the gap: %v", err)
	}
	r, err := session.Recording(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cast, err := io.ReadAll(r)
	if text := string(cast); err != nil || strings.Count(text, `"m", "output from offset`) != 1 || !strings.HasSuffix(text, `"o", "after\r\n"]`+"\n") {
		t.Errorf("recording: %v\n%s", err, cast)
	}
}
