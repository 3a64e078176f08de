package contain

import (
	"errors"
	"strings"
	"testing"
)

func TestTogether(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	met := make(chan struct{})
	meet := func() error { // both must run at the same time
		select {
		case met <- struct{}{}:
		case <-met:
		}
		return nil
	}
	for _, tt := range []struct {
		name string
		all  []func() error
		want string
	}{
		{"none", nil, ""},
		{"at the same time", []func() error{meet, meet}, ""},
		{"the first error in their order", []func() error{
			func() error { <-met; return first },
			func() error { met <- struct{}{}; return second },
		}, "first"},
		{"a panic is an error", []func() error{meet, meet, func() error { panic("broken") }}, "broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Together(tt.all...)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
