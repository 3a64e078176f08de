package client

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"middleman/internal/api"
)

func TestReadEvents(t *testing.T) {
	const stream = "retry: 1000\nid: e1.7\n\n:\n\n" +
		"id: e1.8\nevent: notice\ndata: {\"type\":\"notice\",\"notice\":{\"items\":[{\"kind\":\"done\"}]}}\n\n" +
		"id: e1.9\nevent: resync\ndata: {\"type\":\"resync\"}\n\n"
	for _, tt := range []struct {
		name, stream, last string
		stop               int // the event at which the caller has enough, 0 for none
		want               []string
		fails              bool
	}{
		{"all", stream, "e1.9", 0, []string{"e1.8 notice", "e1.9 resync"}, false},
		{"until it has enough", stream, "e1.8", 1, []string{"e1.8 notice"}, false},
		{"half an event", stream + "id: e1.10\ndata: {\"type\":", "e1.9", 0, []string{"e1.8 notice", "e1.9 resync"}, false},
		{"no JSON", "id: x\ndata: {\n\n", "x", 0, nil, true},
		{"a line without an end", "data: " + strings.Repeat("x", maxEvent+1), "before", 0, nil, true},
		{"nothing", "", "before", 0, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			last, err := ReadEvents(strings.NewReader(tt.stream), "before", func(id string, e api.Event) error {
				if got = append(got, id+" "+e.Type); len(got) == tt.stop {
					return errors.New("enough")
				}
				return nil
			})
			if !slices.Equal(got, tt.want) || last != tt.last || (err != nil) != tt.fails {
				t.Errorf("%q, last %q, %v", got, last, err)
			}
		})
	}
}

// FuzzReadEvents: whatever a server sends, each event has an id that a later
// request can name.
func FuzzReadEvents(f *testing.F) {
	f.Add("id: a\ndata: {}\n\n")
	f.Add("id: a\r\ndata: {}\r\n\r\n")
	f.Add(":\n\ndata:{\"session\":{\"id\":\"../x\"}}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		_, _ = ReadEvents(strings.NewReader(stream), "", func(id string, _ api.Event) error {
			if strings.ContainsAny(id, "\n") {
				t.Errorf("id %q", id)
			}
			return nil
		})
	})
}
