package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testLog(t *testing.T) *Log {
	l := New(t.TempDir(), func(err error) { t.Error(err) })
	t.Cleanup(l.Close)
	return l
}

// Whatever is recorded can be shown, and comes back as it was.
func TestRecordIsPlain(t *testing.T) {
	l := testLog(t)
	uid := 1000
	hostile := "evil\x1b[31m\u009b2J\u202etxt\n\x7f\U0001F600" + string([]byte{0xff, 0x9b})
	l.Write(Record{Event: Login, By: By{Kind: "token", ID: "t1", Name: hostile, UID: &uid, PID: 7}, From: "192.0.2.1", What: strings.Repeat("ä", 4000), Outcome: OK})
	raw, err := os.ReadFile(filepath.Join(l.dir, happened))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsFunc(raw[:len(raw)-1], func(r rune) bool { return r < ' ' || r > '~' }) || bytes.Count(raw, []byte{'\n'}) != 1 {
		t.Errorf("not plain: %q", raw)
	}
	if len(raw) > 4096 {
		t.Errorf("%d bytes", len(raw))
	}
	list, damaged, err := Read(l.dir, time.Time{})
	if err != nil || damaged != 0 || len(list) != 1 {
		t.Fatalf("%v, %d damaged, %v", list, damaged, err)
	}
	if got := list[0].By; got.Name != strings.ToValidUTF8(hostile, "\uFFFD") || *got.UID != 1000 || got.PID != 7 {
		t.Errorf("%+v", got)
	}
	if info, err := os.Stat(filepath.Join(l.dir, happened)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Refusals, however many and from wherever, are few lines, and push out
// nothing that happened.
func TestRefusalsAreCounted(t *testing.T) {
	l := testLog(t)
	l.every = time.Hour
	l.Write(Record{Event: Login, Outcome: OK})
	for i := range 100_000 {
		l.Refuse(Record{Event: Unauthorized, From: "127.0.0." + string(rune('a'+i%500))})
	}
	l.Close()
	list, _, err := Read(l.dir, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, r := range list[1:] {
		times += max(1, r.Times)
	}
	if list[0].Event != Login || len(list) > 1+2*(maxKinds+1) || times != 100_000 {
		t.Errorf("%d records of %d refusals; the first is %+v", len(list), times, list[0])
	}
}

func TestRefusalsAreSettled(t *testing.T) {
	l := testLog(t)
	l.every = 10 * time.Millisecond
	for range 3 {
		l.Refuse(Record{Event: Forbidden, From: "x"})
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		list, _, err := Read(l.dir, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, r := range list {
			n += max(1, r.Times)
		}
		if n == 3 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", list)
		}
	}
}

func TestRotation(t *testing.T) {
	l := testLog(t)
	l.max = 2000
	for i := range 200 {
		l.Write(Record{Event: SessionStop, What: strings.Repeat("x", i), Outcome: OK})
	}
	list, damaged, err := Read(l.dir, time.Time{})
	if err != nil || damaged != 0 {
		t.Fatal(damaged, err)
	}
	if last := list[len(list)-1]; len(last.What) != 199 || len(list) < 20 {
		t.Errorf("%d records, the last of %d", len(list), len(last.What))
	}
	files, err := filepath.Glob(filepath.Join(l.dir, happened+"*"))
	if err != nil || len(files) != maxFiles {
		t.Errorf("%v, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() > 2000 {
			t.Errorf("%s: %v, %v", file, info.Size(), err)
		}
	}
}

// A line that a full disk has cut off costs that line, and a log that cannot be
// written is told of once.
func TestTornAndBroken(t *testing.T) {
	l := testLog(t)
	l.Write(Record{Event: Login, Outcome: OK})
	path := filepath.Join(l.dir, happened)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"time":"20`)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Write(Record{Event: Logout, Outcome: OK})
	list, damaged, err := Read(l.dir, time.Time{})
	if err != nil || damaged != 1 || len(list) != 2 {
		t.Errorf("%v, %d damaged, %v", list, damaged, err)
	}
	told := 0
	broken := New(filepath.Join(t.TempDir(), "none"), func(error) { told++ })
	broken.Write(Record{Event: Login, Outcome: OK})
	broken.Write(Record{Event: Login, Outcome: OK})
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	if err := os.WriteFile(path, append(bytes.Repeat([]byte("x"), 3*maxBytes), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, damaged, err := Read(l.dir, time.Time{}); err != nil || damaged != 1 {
		t.Errorf("one line that does not end: %d damaged, %v", damaged, err)
	}
	(*Log)(nil).Write(Record{})
	(*Log)(nil).Refuse(Record{})
	(*Log)(nil).Close()
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-02T03:04:05Z","event":"login","by":{"kind":"socket","uid":0,"pid":1},"outcome":"ok"}`))
	f.Add([]byte(`{"time":"2026-01-02T03:04:05Z","event":"\u202e","outcome":"refused","times":3}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parse(line)
		if err != nil {
			return
		}
		again, err := r.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsFunc(again, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("not plain: %q", again)
		}
		back, err := parse(again)
		if err != nil {
			t.Fatalf("%q: %v", again, err)
		}
		third, err := back.Marshal()
		if err != nil || !bytes.Equal(again, third) {
			t.Errorf("%q becomes %q, %v", again, third, err)
		}
	})
}
