package ws

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"middleman/terminal"
)

func TestParseQuery(t *testing.T) {
	with := func(change func(*terminal.AttachOptions)) terminal.AttachOptions {
		a := terminal.AttachOptions{Mode: terminal.ModeAttach, Client: "web", MaxLag: 1 << 20, Scrollback: 1000}
		change(&a)
		return a
	}
	zero, large := uint64(0), uint64(1<<64-1)
	tests := []struct {
		name, in string
		want     terminal.AttachOptions
		err      string
	}{
		{name: "nothing", in: "", want: with(func(*terminal.AttachOptions) {})},
		{name: "watch", in: "mode=watch", want: with(func(a *terminal.AttachOptions) { a.Mode = terminal.ModeWatch })},
		{name: "from the first byte", in: "from=0", want: with(func(a *terminal.AttachOptions) { a.From = &zero })},
		{name: "from the last", in: "from=18446744073709551615", want: with(func(a *terminal.AttachOptions) { a.From = &large })},
		{name: "size", in: "cols=120&rows=40", want: with(func(a *terminal.AttachOptions) { a.Size = terminal.Size{Cols: 120, Rows: 40} })},
		{name: "takeover", in: "takeover=1", want: with(func(a *terminal.AttachOptions) { a.Takeover = true })},
		{name: "guest", in: "guest=1", want: with(func(a *terminal.AttachOptions) { a.Guest = true })},
		{name: "unclear guest", in: "guest=some", err: `guest is "some"`},
		{name: "all scrollback", in: "scrollback=-1", want: with(func(a *terminal.AttachOptions) { a.Scrollback = -1 })},
		{name: "every byte", in: "max_lag=0", want: with(func(a *terminal.AttachOptions) { a.MaxLag = 0 })},
		{name: "unknown key", in: "colour=red", want: with(func(*terminal.AttachOptions) {})},
		{name: "unknown mode", in: "mode=write", err: `mode is "write"`},
		{name: "negative offset", in: "from=-1", err: `from is "-1"`},
		{name: "empty offset", in: "from=", err: `from is ""`},
		{name: "columns alone", in: "cols=80", err: "must both be positive"},
		{name: "no rows", in: "cols=80&rows=0", err: "must both be positive"},
		{name: "too many columns", in: "cols=65536&rows=24", err: `cols is "65536"`},
		{name: "unclear takeover", in: "takeover=maybe", err: `takeover is "maybe"`},
		{name: "unclear scrollback", in: "scrollback=x", err: `scrollback is "x"`},
		{name: "unclear lag", in: "max_lag=x", err: `max_lag is "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q, err := url.ParseQuery(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseQuery(q)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got.Attach, tt.want) {
				t.Errorf("got %+v, %v, want %+v", got.Attach, err, tt.want)
			}
		})
	}
}

func TestQueryRoundTrip(t *testing.T) {
	from := uint64(7)
	for _, want := range []terminal.AttachOptions{
		{Mode: terminal.ModeWatch, Client: "web"},
		{Mode: terminal.ModeAttach, Client: "web", From: &from, MaxLag: 1, Scrollback: -1, Takeover: true, Size: terminal.Size{Cols: 3, Rows: 4}},
	} {
		if got, err := ParseQuery(Query(want)); err != nil || !reflect.DeepEqual(got.Attach, want) {
			t.Errorf("%+v became %+v, %v", want, got.Attach, err)
		}
	}
}
