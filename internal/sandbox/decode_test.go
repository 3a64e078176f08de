package sandbox

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// sample is a policy with every field set.
func sample() Policy {
	return Policy{
		Schema: schema, Level: Workspace, Method: Bubblewrap, Session: "s1", Workspace: "w1", Dir: "/w",
		Writable: []string{"/w"}, Hidden: []string{"/h/.ssh"}, Show: []string{"/h/.ssh/known_hosts"},
		Binds: []Bind{{From: "/q/git", To: "/r/.git", Write: true}}, ReadOnly: []string{"/w/.git"},
		Temp: "/t", TempPaths: []string{"/x/tmp"}, Network: Network{Allow: []string{"example.org:443"}, Log: "/p/denials"},
		Limits: Limits{Memory: 1 << 30, Processes: 100, Files: 1 << 20},
	}
}

func encode(t testing.TB, p Policy) []byte {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestDecode(t *testing.T) {
	want := sample()
	got, err := Decode(bytes.NewReader(encode(t, want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v: %v", got, want, err)
	}
	if got.Digest() != want.Digest() {
		t.Error("the digest has changed")
	}
	for _, c := range []struct{ name, in, says string }{
		{"nothing", "", "EOF"},
		{"an unknown field", `{"schema":1,"allow_all":true}`, "unknown field"},
		{"something behind", string(encode(t, want)) + "{}", "follows"},
		{"too much", strings.Repeat(" ", maxPolicy+1), "more than"},
		{"no object", `[]`, "cannot unmarshal"},
	} {
		if _, err := Decode(strings.NewReader(c.in)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := sample().Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(p *Policy)
		says   string
	}{
		{"relative", func(p *Policy) { p.Writable = []string{"w"} }, "not absolute"},
		{"not clean", func(p *Policy) { p.Hidden = []string{"/a/../b"} }, "not clean"},
		{"a NUL", func(p *Policy) { p.Show = []string{"/a\x00b"} }, "control character"},
		{"what separates paths", func(p *Policy) { p.Show = []string{"/a\x01b"} }, "control character"},
		{"too long", func(p *Policy) { p.Dir = "/" + strings.Repeat("a", maxPath) }, "more than"},
		{"no directory", func(p *Policy) { p.Dir = "" }, "empty"},
		{"no directory for temporary files", func(p *Policy) { p.Temp = "" }, "empty"},
		{"too many paths", func(p *Policy) { p.Writable = make([]string, maxPaths+1) }, "are the most"},
		{"a writable root", func(p *Policy) { p.Writable = []string{"/"} }, "root"},
		{"a hidden root", func(p *Policy) { p.Hidden = []string{"/"} }, "root"},
		{"writable settings of the kernel", func(p *Policy) { p.Writable = []string{"/proc/sys"} }, "/proc"},
		{"a bind over /sys", func(p *Policy) { p.Binds[0].To = "/sys/kernel" }, "/sys"},
		{"a bind from where the program writes", func(p *Policy) { p.Binds[0].From = "/w/git" }, "link"},
		{"a bind from below another", func(p *Policy) { p.Binds = append(p.Binds, Bind{From: "/q/git/x", To: "/y"}) }, "link"},
		{"no level", func(p *Policy) { p.Level = "" }, "level"},
		{"an unknown level", func(p *Policy) { p.Level = "hard" }, "level"},
		{"an unknown method", func(p *Policy) { p.Method = "chroot" }, "unknown"},
		{"strict with a network", func(p *Policy) { p.Level, p.Network = Strict, Network{} }, "strict"},
		{"hosts of no network", func(p *Policy) { p.Network.Off = true }, "off"},
		{"hosts without a log", func(p *Policy) { p.Network.Log = "" }, "no file for what it denies"},
		{"a limit below 0", func(p *Policy) { p.Limits.Memory = -1 }, "limit"},
		{"a long id", func(p *Policy) { p.Session = strings.Repeat("a", maxWord+1) }, "id"},
	} {
		p := sample()
		c.change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

// What Landlock and Seatbelt cannot enforce is an error, never left out.
func TestCheckMethod(t *testing.T) {
	least := func(m Method) Policy {
		return Policy{Schema: schema, Level: Workspace, Method: m, Dir: "/w", Temp: "/t", Writable: []string{"/w"}}
	}
	for _, c := range []struct {
		name     string
		change   func(p *Policy)
		landlock string
		seatbelt string
	}{
		{"the least", func(*Policy) {}, "", ""},
		{"hidden beside", func(p *Policy) { p.Hidden = []string{"/h"} }, "", ""},
		{"hidden in a writable directory", func(p *Policy) { p.Hidden = []string{"/w/.env"} }, "landlock cannot hide /w/.env", ""},
		{"read-only", func(p *Policy) { p.ReadOnly = []string{"/w/.git"} }, "landlock cannot protect /w/.git", ""},
		{"strict", func(p *Policy) { p.Level, p.Network.Off = Strict, true }, "landlock cannot enforce the level strict", ""},
		{"no network", func(p *Policy) { p.Network.Off = true }, "landlock cannot cut the network", ""},
		{"some hosts", func(p *Policy) { p.Network = Network{Allow: []string{"h"}, Log: "/p"} }, "landlock cannot cut the network", "seatbelt cannot open the network"},
		{"binds", func(p *Policy) { p.Binds = []Bind{{From: "/a", To: "/b"}} }, "landlock cannot show", "seatbelt cannot show"},
		{"private directories", func(p *Policy) { p.TempPaths = []string{"/a"} }, "landlock cannot make", "seatbelt cannot make"},
		{"processes", func(p *Policy) { p.Limits.Processes = 5 }, "landlock cannot limit", "seatbelt cannot limit"},
	} {
		for m, says := range map[Method]string{Landlock: c.landlock, Seatbelt: c.seatbelt, Bubblewrap: ""} {
			p := least(m)
			c.change(&p)
			err := p.Check()
			if says == "" && err != nil || says != "" && (err == nil || !strings.HasPrefix(err.Error(), says)) {
				t.Errorf("%s, %s: %v, want %q", c.name, m, err, says)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, sample()))
	f.Add([]byte(`{"schema":1,"level":"strict","method":"landlock","dir":"/","temp":"/t"}`))
	f.Add([]byte(`{"schema":1,"writable":["/../x"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Decode(bytes.NewReader(raw))
		if err != nil {
			return
		}
		again, err := Decode(bytes.NewReader(encode(t, p)))
		if err != nil || again.Digest() != p.Digest() {
			t.Fatalf("%+v came back as %+v: %v", p, again, err)
		}
	})
}
