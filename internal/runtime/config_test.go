package runtime

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestConfigCheck(t *testing.T) {
	pin := strings.Repeat("0a", 32)
	for _, tt := range []struct {
		name string
		in   Config
		want string // a part of the error, "" for none
	}{
		{"ssh", Config{Name: "box", Address: "ssh://box"}, ""},
		{"ssh with all", Config{Name: "b2", Address: "ssh://me@box.example:2222", Command: "/opt/my programs/middleman"}, ""},
		{"ssh to an address", Config{Name: "box", Address: "ssh://[::1]:22"}, ""},
		{"https", Config{Name: "box", Address: "https://box:8091", TokenFile: "/t"}, ""},
		{"https with a pin", Config{Name: "box", Address: "https://127.0.0.1", TokenFile: "/t", Pin: pin}, ""},
		{"no name", Config{Address: "ssh://box"}, "cannot name a runtime"},
		{"a name of one letter, as drives have", Config{Name: "c", Address: "ssh://box"}, "cannot name a runtime"},
		{"a name with a slash", Config{Name: "a/b", Address: "ssh://box"}, "cannot name a runtime"},
		{"a host that is an option", Config{Name: "box", Address: "ssh://-oProxyCommand=id"}, "is not a host"},
		{"a user that is an option", Config{Name: "box", Address: "ssh://-l@box"}, "is not a user's name"},
		{"a password", Config{Name: "box", Address: "ssh://me:secret@box"}, "no password"},
		{"a path", Config{Name: "box", Address: "ssh://box/etc"}, "nothing after it"},
		{"a query", Config{Name: "box", Address: "https://box?x=1", TokenFile: "/t"}, "nothing after it"},
		{"another scheme", Config{Name: "box", Address: "http://box", TokenFile: "/t"}, "must begin with ssh:// or https://"},
		{"a port of 0", Config{Name: "box", Address: "ssh://box:0"}, "is not a port"},
		{"an empty port", Config{Name: "box", Address: "ssh://box:"}, "is not a port"},
		{"https without a token", Config{Name: "box", Address: "https://box"}, "needs a file with the token"},
		{"a relative token file", Config{Name: "box", Address: "https://box", TokenFile: "t"}, "needs a file with the token"},
		{"https with a user", Config{Name: "box", Address: "https://me@box", TokenFile: "/t"}, "has no user"},
		{"a short pin", Config{Name: "box", Address: "https://box", TokenFile: "/t", Pin: "0a"}, "is not a SHA-256"},
		{"a pin in capitals", Config{Name: "box", Address: "https://box", TokenFile: "/t", Pin: strings.ToUpper(pin)}, "is not a SHA-256"},
		{"ssh with a pin", Config{Name: "box", Address: "ssh://box", Pin: pin}, "go with an https address"},
		{"a command of two lines", Config{Name: "box", Address: "ssh://box", Command: "a\nb"}, "line break"},
	} {
		err := tt.in.Check()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestSplit(t *testing.T) {
	for in, want := range map[string][2]string{
		"box:fix": {"box", "fix"}, "box:": {"box", ""}, "box:fix@a:b/c": {"box", "fix@a:b/c"},
		"fix": {"", "fix"}, `c:\work`: {"", `c:\work`}, "fix@a:b": {"", "fix@a:b"}, "./box:fix": {"", "./box:fix"}, ":x": {"", ":x"},
	} {
		if runtime, target := Split(in); runtime != want[0] || target != want[1] {
			t.Errorf("%q is %q and %q, want %q", in, runtime, target, want)
		}
	}
}

// The greetings of older and newer programs, made by hand: no other release exists.
func TestGreeting(t *testing.T) {
	noise := strings.Repeat("Welcome to the machine\n", 100)
	for _, tt := range []struct {
		name, in string
		want     Reason // "" for none
	}{
		{"ours", string(newGreeting("1.0")), ""},
		{"after what a shell prints", noise + string(newGreeting("1.0")), ""},
		{"newer, speaks ours too", `{"middleman":"connect","version":"9","schema":7,"oldest":1,"features":["yamux","later"],"new":{}}` + "\n", ""},
		{"newer, has forgotten ours", `{"middleman":"connect","version":"9","schema":7,"oldest":2,"features":["yamux"]}` + "\n", Newer},
		{"a range of nothing", `{"middleman":"connect","version":"9","schema":1,"oldest":2,"features":["yamux"]}` + "\n", Older},
		{"older", `{"middleman":"connect","version":"0","schema":0,"oldest":0,"features":["yamux"]}` + "\n", Older},
		{"without what is needed", `{"middleman":"connect","version":"1","schema":1,"oldest":1,"features":[]}` + "\n", Older},
		{"no JSON", `{"middleman":"connect"` + "\n", BadProtocol},
		{"of the wrong types", `{"middleman":"connect","schema":"one"}` + "\n", BadProtocol},
		{"another program's", `{"middleman":"x","schema":1,"oldest":1,"features":["yamux"]}` + "\n", BadProtocol},
		{"too long", `{"middleman":"connect","version":"` + strings.Repeat("x", maxGreeting) + `"}` + "\n", BadProtocol},
		{"endless, without a line", strings.Repeat("x", 3*maxNoise), BadProtocol},
		{"endless lines", strings.Repeat("x\n", maxNoise), BadProtocol},
		{"nothing", "", NoAnswer},
		{"half", `{"middleman":"connect",`, BadProtocol},
	} {
		err := readGreeting(bufio.NewReaderSize(strings.NewReader(tt.in), maxNoise))
		e, _ := errors.AsType[*Error](err)
		if tt.want == "" && err != nil || tt.want != "" && (e == nil || e.Reason != tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// FuzzGreeting: whatever comes, it ends, and what is accepted is a greeting.
func FuzzGreeting(f *testing.F) {
	f.Add(newGreeting("1.0"))
	f.Add([]byte("noise\n{\"middleman\":"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if readGreeting(bufio.NewReaderSize(bytes.NewReader(in), maxNoise)) == nil && !bytes.Contains(in, greetingStart) {
			t.Fatalf("%q is accepted", in)
		}
	})
}
