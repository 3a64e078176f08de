package vt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// events returns what in makes a Terminal report, and the Terminal.
func events(in string) ([]Event, *Terminal) {
	var got []Event
	a := New(Options{Event: func(e Event) { got = append(got, e) }})
	a.Write([]byte(in))
	return got, a
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []Event
	}{
		{"\a", []Event{{EventBell, "", ""}}},
		{"\x1b]0;a;b\a", []Event{{EventTitle, "a;b", ""}}},
		{"\x1b]2;ö\x1b\\", []Event{{EventTitle, "ö", ""}}},
		{"\x1b]1;icon\a", nil},
		{"\x1b]2;x\a\x1b[22;0t\x1b]2;y\a\x1b[23;0t", []Event{{EventTitle, "x", ""}, {EventTitle, "y", ""}, {EventTitle, "x", ""}}},
		{"\x1b]7;file://host/tmp\a", []Event{{EventDirectory, "file://host/tmp", ""}}},
		{"\x1b]9;done\a", []Event{{EventNotification, "done", ""}}},
		{"\x1b]9;4;1;50\a", []Event{{EventProgress, "1;50", ""}}},
		{"\x1b]9;4;1\a\x1b]9;4;1;250\a\x1b]9;4;1;-1\a", []Event{{EventProgress, "1;0", ""}, {EventProgress, "1;100", ""}, {EventProgress, "3;0", ""}}},
		{"\x1b]9;4;1;50\a\x1b]9;4;2\a\x1b]9;4;4;x\a\x1b]9;4;3;7\a\x1b]9;4;0\a", []Event{{EventProgress, "1;50", ""}, {EventProgress, "2;50", ""}, {EventProgress, "4;50", ""}, {EventProgress, "3;0", ""}, {EventProgress, "0;0", ""}}},
		{"\x1b]9;4;5;1\a\x1b]9;4;\a\x1b]9;4;-1\a\x1b]9;4;99999999999999999999;1\a", nil},
		{"\x1b]9;4;3\a\x1bc\x1bc", []Event{{EventProgress, "3;0", ""}, {EventProgress, "0;0", ""}}},
		{"\x1b]99;i=1:d=0;hello\a", []Event{{EventNotification, "hello", "i=1:d=0"}}},
		{"\x1b]777;notify;title;body;more\a", []Event{{EventNotification, "body;more", "title"}}},
		{"\x1b]777;other\a", nil},
		{"\x1b]133;A\a\x1b]133;D;1\a", []Event{{EventPrompt, "A", ""}, {EventPrompt, "D", "1"}}},
		{"\x1b]52;c;aGk=\a", []Event{{EventClipboard, "aGk=", "c"}}},
		{"\x1b]52;c;?\a", []Event{{EventClipboard, "?", "c"}}},
		{"\x1b]4;1;#102030\a", []Event{{EventColor, "1", "rgb:10/20/30"}}},
		{"\x1b]104;1\a\x1b]104\a", []Event{{EventColor, "1", ""}, {EventColor, "all", ""}}},
		{"\x1b]10;rgb:f/0/8;#fff\a", []Event{{EventColor, "foreground", "rgb:ff/00/88"}, {EventColor, "background", "rgb:f0/f0/f0"}}},
		{"\x1b]2;cut\x18", nil},
		{"\x1b]2;cut", nil},
		{"\x1b]999;x\a\x1b]x\a\x1b]\a", nil},
	} {
		if got, _ := events(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %v, want %v", c.in, got, c.want)
		}
	}
}

func TestEventKinds(t *testing.T) {
	if got := EventClipboard.String(); got != "clipboard" {
		t.Errorf("EventClipboard is %q", got)
	}
	if got := EventKind(99).String(); got != "" {
		t.Errorf("EventKind(99) is %q", got)
	}
}

func TestEventJSON(t *testing.T) {
	got, err := json.Marshal(Event{Kind: EventPrompt, Text: "D", Detail: "1"})
	if want := `{"kind":"prompt","text":"D","detail":"1"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestDirectory(t *testing.T) {
	_, a := events("\x1b]7;file:///a\a\x1b]7;" + strings.Repeat("b", maxDirectory+1) + "\a")
	if got := a.Directory(); got != "file:///a" {
		t.Errorf("directory %q", got)
	}
}

func TestTitles(t *testing.T) {
	_, a := events("\x1b]0;a\a\x1b[22t\x1b]2;b\a\x1b[22;2t\x1b]2;c\a")
	for _, want := range []string{"b", "a", "a"} {
		a.Write([]byte("\x1b[23;2t"))
		if a.Title() != want {
			t.Errorf("title %q, want %q", a.Title(), want)
		}
	}
	a.Write([]byte("\x1b]2;" + strings.Repeat("ä", maxTitle) + "\a" + strings.Repeat("\x1b[22t", 100)))
	if len(a.Title()) > maxTitle || len(a.titleStack) != maxTitleStack {
		t.Errorf("title of %d bytes, %d pushed", len(a.Title()), len(a.titleStack))
	}
}

func TestHyperlinks(t *testing.T) {
	link := func(a *Terminal) extra { return a.extras.value(a.pen.ext) }
	for _, c := range []struct {
		in, id, uri string
	}{
		{"\x1b]8;;http://a/\a", "", "http://a/"},
		{"\x1b]8;x=1:id=n;http://a/;b\a", "n", "http://a/;b"},
		{"\x1b]8;;http://a/\a\x1b]8;;\a", "", ""},
		{"\x1b]8;;http://a/\a\x1b[0m", "", "http://a/"},
		{"\x1b]8;;http://a/\a\x1b]8;id=x;\a", "", "http://a/"},
		{"\x1b]8;;http://" + strings.Repeat("a", 2*maxLink) + "\a", "", ""},
		{"\x1b]8\a", "", ""},
	} {
		_, a := events(c.in)
		if e := link(a); e.id != c.id || e.uri != c.uri {
			t.Errorf("%.40q: link %q %q, want %q %q", c.in, e.id, e.uri, c.id, c.uri)
		}
	}
}

func TestParseColor(t *testing.T) {
	for _, c := range []struct {
		in   string
		want rgb
		ok   bool
	}{
		{"rgb:f/8/0", rgb{0xff, 0x88, 0}, true},
		{"rgb:FF/80/00", rgb{0xff, 0x80, 0}, true},
		{"rgb:fff/800/000", rgb{0xff, 0x80, 0}, true},
		{"rgb:ffff/8000/0000", rgb{0xff, 0x80, 0}, true},
		{"#f80", rgb{0xf0, 0x80, 0}, true},
		{"#ff8000", rgb{0xff, 0x80, 0}, true},
		{"#fff800000", rgb{0xff, 0x80, 0}, true},
		{"#ffff80000000", rgb{0xff, 0x80, 0}, true},
		{"red", rgb{}, false},
		{"rgb:1/2", rgb{}, false},
		{"rgb:1/22/3", rgb{}, false},
		{"rgb:11111/22222/33333", rgb{}, false},
		{"#12", rgb{}, false},
		{"#xyz", rgb{}, false},
		{"", rgb{}, false},
	} {
		if got, ok := parseColor(c.in); got != c.want || ok != c.ok {
			t.Errorf("parseColor(%q) = %v, %v, want %v, %v", c.in, got, ok, c.want, c.ok)
		}
	}
}

// What programs print for TERM=tmux-256color: screen's title, and what is
// passed through to the terminal that tmux runs in.
func TestTitlesOfTmux(t *testing.T) {
	for name, tt := range map[string]struct{ in, title, text string }{
		"screen's":          {"a\x1bkvim\x1b\\b", "vim", "ab"},
		"without an end":    {"a\x1bkvim", "", "a"},
		"given up":          {"a\x1bkvim\x18b", "", "ab"},
		"with intermediate": {"a\x1b(kb", "", "ab"},
		"passed through":    {"a\x1bPtmux;\x1b\x1b]2;vim\x07\x1b\\b", "vim", "ab"},
		"passed with ST":    {"a\x1bPtmux;\x1b\x1b]2;vim\x1b\x1b\\\x1b\\b", "vim", "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			term := New(Options{Cols: 20, Rows: 2})
			term.Write([]byte(tt.in))
			if got := term.Title(); got != tt.title {
				t.Errorf("title %q, want %q", got, tt.title)
			}
			if got := strings.TrimRight(term.Text(TextOptions{}), "\n "); got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
		})
	}
}
