package app

import (
	"reflect"
	"testing"

	"middleman/internal/store"
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
