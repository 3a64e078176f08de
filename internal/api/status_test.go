package api

import (
	"reflect"
	"testing"
	"time"

	"middleman/terminal"
)

// What a session's backend answers is shown with each field that both have: the
// processes that an ended program left, too.
func TestSetStatusHasAllFields(t *testing.T) {
	keep := int64(7)
	status := terminal.Status{
		State: terminal.StateExited, PID: 3, Size: terminal.Size{Cols: 80, Rows: 24}, Title: "title",
		Foreground: "make", JournalBytes: &keep, Clipboard: "ask", Journal: "full", Writer: &terminal.Writer{},
		Watchers: 2, Unseen: &terminal.Unseen{Bytes: 1}, Exit: &terminal.Exit{Code: 1}, Left: []int{4}, Source: "owner",
		AsOf: time.Unix(1, 0), Head: 9,
	}
	var s Session
	s.SetStatus(status)
	from, to := reflect.ValueOf(status), reflect.ValueOf(s)
	// What a session has from its record, not from its status.
	recorded := map[string]bool{"ID": true, "Backend": true, "Argv": true}
	checked := 0
	for i := range from.NumField() {
		name := from.Type().Field(i).Name
		got := to.FieldByName(name)
		if !got.IsValid() || recorded[name] {
			continue
		}
		if from.Field(i).IsZero() {
			t.Errorf("%s: the test does not set it", name)
		}
		if !reflect.DeepEqual(got.Interface(), from.Field(i).Interface()) {
			t.Errorf("%s = %v, want %v", name, got, from.Field(i))
		}
		checked++
	}
	if checked < 12 || s.Offset != status.Head || s.KeepOutput != status.JournalBytes {
		t.Errorf("%d fields checked; offset %d, keep %v", checked, s.Offset, s.KeepOutput)
	}
}

// A session without an exit record says why, and what it has left.
func TestSetStatusOfLost(t *testing.T) {
	s := Session{}
	s.SetStatus(terminal.Status{State: terminal.StateLost, Left: []int{4, 5}})
	const want = "the process that hosted its terminal was killed, so it is not known how it ended; 2 of its processes still run: a stop ends them"
	if s.Error != want {
		t.Errorf("error %q, want %q", s.Error, want)
	}
}
