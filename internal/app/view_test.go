package app

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/workspace"
)

// fill sets each field of v that has a plain type to something.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(7 + i))
		}
	}
}

// What a list shows of a row has each field that both have, whether a server made
// the list or it was read from the disk.
func TestRecordedHasAllFields(t *testing.T) {
	var w workspace.Workspace
	fill(reflect.ValueOf(&w).Elem())
	var s store.Session
	fill(reflect.ValueOf(&s).Elem())
	for _, tt := range []struct{ row, view any }{{w, RecordedWorkspace(w)}, {s, RecordedSession(s, "label")}} {
		row, view := reflect.ValueOf(tt.row), reflect.ValueOf(tt.view)
		checked := 0
		for i := range row.NumField() {
			name := row.Type().Field(i).Name
			got := view.FieldByName(name)
			if !got.IsValid() || row.Field(i).IsZero() || got.Type() != row.Field(i).Type() {
				continue
			}
			checked++
			if !reflect.DeepEqual(got.Interface(), row.Field(i).Interface()) {
				t.Errorf("%s of %T: %v, want %v", name, tt.view, got, row.Field(i))
			}
		}
		if checked < 8 {
			t.Errorf("%T: only %d fields are compared", tt.view, checked)
		}
	}
}

// What removes a session tells of it after whoever is about to tell of the session: a
// list that hears of both would show it for ever.
func TestRemovalIsToldLast(t *testing.T) {
	s, _ := newApp(t)
	w := workspace.Workspace{ID: terminal.NewID("w"), Name: "w", Mode: workspace.ModeDirectory, State: workspace.StateReady, CreatedAt: time.Now()}
	if err := s.Store.CreateWorkspace(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	row := store.Session{ID: terminal.NewID("s"), WorkspaceID: w.ID, Name: "sh", Backend: ptyowner.Name, State: terminal.StateExited, CreatedAt: time.Now()}
	if err := s.Store.CreateSession(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	before := s.Events.Now()
	leave := s.publishing.take(row.ID) // as publishSession has it while it asks the owner
	removed := make(chan error, 1)
	go func() { removed <- s.forgetSession(t.Context(), row) }()
	for { // until it is out of the store
		if _, err := s.Store.Session(t.Context(), row.ID); errors.Is(err, store.ErrNotFound) {
			break
		}
	}
	select { // it must wait for its turn: give it time not to
	case err := <-removed:
		t.Fatalf("it has told of the removal already (%v)", err)
	case <-time.After(100 * time.Millisecond):
	}
	s.Events.Publish(w.ID, api.Event{Type: "session", ID: row.ID})
	leave()
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	var told []string
	list, _, _, _ := s.Events.After(before)
	for _, r := range list {
		if r.Event.ID == row.ID {
			told = append(told, r.Event.Type)
		}
	}
	if !slices.Equal(told, []string{"session", "session-removed"}) {
		t.Errorf("told %q", told)
	}
}
