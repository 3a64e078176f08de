package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const plain = `{
  "schema": 1, "id": "team", "revision": 3, "workspace": "w1", "created": "2026-11-24T01:02:03Z",
  "provenance": {"author": "Ann", "tool": "kit 2", "source": "https://git.example.com/team/kit", "commit": "0123456789abcdef0123456789abcdef01234567"},
  "profiles": {
    "agent": {"command": ["claude", "--fast"], "prompt": ["{prompt}"], "identify": ["--session-id={conversation}"], "resume": ["claude", "--resume", "{conversation}"],
      "like": "claude", "submit": "Enter", "sandbox": "strict", "grace": "5s", "stop": ["C-c", "C-d"], "approvals": true, "env": ["EDITOR"], "spawn": ["check"],
      "uses": ["secret:model-key", "mount-grant:go-cache", "capability-grant:login"]},
    "check": {"command": ["make", "check"]}
  },
  "declarations": [
    {"ref": "vault:model-key", "env": "MODEL_KEY", "optional": true},
    {"ref": "mount:go-cache", "write": true},
    {"ref": "cap:login"}
  ]
}`

func decode(t *testing.T, text string) Bundle {
	t.Helper()
	b, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCanonicalFormIsReadAgainAsTheSame(t *testing.T) {
	b := decode(t, plain)
	form := b.Canonical()
	want := `{"created":"2026-11-24T01:02:03Z","declarations":[{"env":"MODEL_KEY","optional":true,"ref":"secret-ref:model-key"},` +
		`{"ref":"mount-grant:go-cache","write":true},{"ref":"capability-grant:login"}],"id":"team",`
	if !strings.HasPrefix(string(form), want) {
		t.Errorf("%s", form)
	}
	again := decode(t, string(form))
	if !bytes.Equal(again.Canonical(), form) || again.Sum() != b.Sum() || !ValidDigest(b.Sum()) {
		t.Errorf("%s", again.Canonical())
	}
	for _, stored := range []string{`"stored":"elsewhere at noon"`, `"digest":"` + b.Sum() + `"`} {
		if got := decode(t, "{"+stored+","+plain[1:]); got.Sum() != b.Sum() {
			t.Errorf("%s counts", stored)
		}
	}
}

// Each field counts: another value of it is another digest.
func TestEachFieldCounts(t *testing.T) {
	sums := map[string]string{decode(t, plain).Sum(): "the bundle itself"}
	for _, change := range []struct{ from, to string }{
		{`"id": "team"`, `"id": "teal"`}, {`"revision": 3`, `"revision": 4`}, {`"workspace": "w1"`, `"workspace": "w2"`}, {`01:02:03Z`, `01:02:04Z`},
		{`"Ann"`, `"Anna"`}, {`"kit 2"`, `"kit 3"`}, {`team/kit"`, `team/kat"`}, {`"0123`, `"1123`},
		{`"agent": {`, `"agenda": {`}, {`"--fast"`, `"--slow"`}, {`["{prompt}"]`, `["-p", "{prompt}"]`}, {`--session-id=`, `--id=`}, {`"--resume"`, `"--again"`},
		{`"like": "claude"`, `"like": "codex"`}, {`"submit": "Enter"`, `"submit": "C-m"`}, {`"strict"`, `"workspace"`}, {`"5s"`, `"6s"`}, {`"C-d"`, `"C-c"`},
		{`"approvals": true, `, ``}, {`"EDITOR"`, `"PAGER"`}, {`"spawn": ["check"]`, `"spawn": ["agent"]`}, {`, "capability-grant:login"]`, `]`},
		{`"env": "MODEL_KEY"`, `"env": "OTHER_KEY"`}, {`, "optional": true`, ``}, {`, "write": true`, ``}, {`vault:model-key`, `vault:model-kex`},
		{`["make", "check"]`, `["make", "chuck"]`}, {`{"ref": "cap:login"}`, `{"ref": "cap:login"}, {"ref": "git:commit"}`},
		{`["claude", "--fast"]`, `["claude", "--fast", "--fast"]`},
	} {
		text := strings.Replace(plain, change.from, change.to, 1)
		if text == plain {
			t.Fatalf("%s is not there", change.from)
		}
		if strings.Contains(change.from, "model-key") {
			text = strings.Replace(text, "secret:model-key", "secret:model-kex", 1)
		}
		sum := decode(t, text).Sum()
		if other, known := sums[sum]; known {
			t.Errorf("%s to %s has the digest of %s", change.from, change.to, other)
		}
		sums[sum] = change.from
	}
}

func TestMaliciousContentIsRefusedWithItsField(t *testing.T) {
	const arg, source, ref, use = "profiles.check.command[1]", "provenance.author", "declarations[0].ref", "profiles.agent.uses[0]"
	var cases []struct{ name, text, field string }
	add := func(name, field, from, to string) {
		text := strings.Replace(plain, from, to, 1)
		if text == plain {
			t.Fatalf("%s: %s is not there", name, from)
		}
		cases = append(cases, struct{ name, text, field string }{name, text, field})
	}
	quoted := func(text string) string {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	// In an argument, in the provenance and as a reference alike.
	for _, text := range []string{
		".cache/x", "pods/a/sock", ".yoi/sessions/a.jsonl", "password=hunter2", "hunter2-secret-value", "../x", "%2e%2e", "..", "a/../b", `..\x`,
		"/etc/passwd", "~/.ssh/id_ed25519", "--config=/etc/passwd", "-I/usr/include:/opt", `C:\Users\a`, "c:/temp/x", `\\server\share`, "file:///etc/passwd", "$HOME/x", "${XDG_RUNTIME_DIR}",
		"sessions/s1/journal", "run/owner.sock", "a/b.socket", "cache/go-build", "--dir=.git/hooks", "x/.env", "tmp/x",
		"token: abcdef", "API_KEY=1", "secret=x", "Authorization: Basic x", "Bearer abc", "sk-ant-0123456789abcdef", "ghp_0123456789abcdefghij", "github_pat_11AAAA", "AKIAABCDEFGHIJKLMNOP",
		"-----BEGIN OPENSSH PRIVATE KEY-----", "eyJhbGciOi.eyJzdWIi", "https://user:pass@example.com", "0123456789abcdef0123456789abcdef", "xoxb-1-2",
		"a\x00b", "a\nb", "a\u202eb", "\u200b", "a\x1b[31m", "%2E%2E%2Fetc",
	} {
		add("argument "+text, arg, `["make", "check"]`, `["make", `+quoted(text)+`]`)
		add("provenance "+text, source, `"Ann"`, quoted(text))
		add("reference "+text, ref, `"vault:model-key"`, quoted(text))
		add("secret "+text, ref, `"vault:model-key"`, quoted("secret-ref:"+text))
		add("use "+text, use, `"secret:model-key"`, quoted("mount:"+text))
	}
	long := strings.Repeat("x", 10<<20)
	var profiles strings.Builder
	for i := range int(1e6) {
		fmt.Fprintf(&profiles, `"a%d":{"command":["b"]},`, i)
	}
	million := profiles.String()
	for _, c := range []struct{ name, field, from, to string }{
		{"a field of 10 MB", source, `"Ann"`, `"` + long + `"`},
		{"a name of 10 MB", "document", `"schema"`, `"` + long + `"`},
		{"a million profiles", "profiles", `"check": {"command": ["make", "check"]}`, strings.TrimSuffix(million, ",")},
		{"a million arguments", "profiles.check.command", `["make", "check"]`, `["make"` + strings.Repeat(`,"a"`, 1e6) + `]`},
		{"a megabyte of space", "schema", `"schema": 1`, `"schema":` + strings.Repeat(" ", 2<<20) + `1`},
		{"deep nesting", "stored[0][0][0][0][0]", `"schema"`, `"stored": ` + strings.Repeat("[", 1e5) + strings.Repeat("]", 1e5) + `, "schema"`},
		{"id with a path", "id", `"team"`, `"../team"`}, {"id with a slash", "id", `"team"`, `"a/b"`}, {"id of dots", "id", `"team"`, `".."`},
		{"id with dots inside", "id", `"team"`, `"a..b"`}, {"encoded id", "id", `"team"`, `"%2e%2e"`}, {"empty id", "id", `"team"`, `""`}, {"id in capitals", "id", `"team"`, `"Team"`},
		{"id with a query", "id", `"team"`, `"a?b"`}, {"id with a hash", "id", `"team"`, `"a#b"`}, {"id with an escape", "id", `"team"`, `"a\u002fb"`},
		{"revision 0", "revision", `"revision": 3`, `"revision": 0`}, {"negative revision", "revision", `"revision": 3`, `"revision": -1`},
		{"fraction", "revision", `"revision": 3`, `"revision": 3.0`}, {"exponent", "revision", `"revision": 3`, `"revision": 3e0`}, {"huge revision", "revision", `"revision": 3`, `"revision": 99999999999999999999`},
		{"leading zero", "revision", `"revision": 3`, `"revision": 03`}, {"revision as text", "revision", `"revision": 3`, `"revision": "3"`},
		{"unknown field", "secrets", `"id"`, `"secrets": {}, "id"`}, {"unknown field of a profile", "profiles.check.writable", `["make", "check"]`, `["make"], "writable": ["/"]`},
		{"directories of a profile", "profiles.check.directories", `["make", "check"]`, `["make"], "directories": ["~/.aws"]`}, {"network of a profile", "profiles.check.network", `["make", "check"]`, `["make"], "network": ["*"]`},
		{"unknown field of a declaration", "declarations[0].value", `"optional": true`, `"value": "hunter2"`}, {"unknown provenance", "provenance.path", `"author"`, `"path": "x", "author"`},
		{"a field in capitals", "ID", `"id"`, `"ID"`}, {"a field twice", "id", `"id": "team"`, `"id": "team", "id": "team"`}, {"a field twice by an escape", "id", `"id": "team"`, `"id": "team", "\u0069d": "x"`},
		{"a profile twice", "profiles.check", `"check": {`, `"check": {"command": ["x"]}, "check": {`}, {"null", "workspace", `"w1"`, `null`}, {"list for an object", "profiles.check", `{"command": ["make", "check"]}`, `["make"]`},
		{"schema 2", "schema", `"schema": 1`, `"schema": 2`}, {"digest in capitals", "digest", `"id"`, `"digest": "` + strings.Repeat("AB", 32) + `", "id"`},
		{"short digest", "digest", `"id"`, `"digest": "abcd", "id"`}, {"other digest", "digest", `"id"`, `"digest": "` + strings.Repeat("ab", 32) + `", "id"`},
		{"workspace with a path", "workspace", `"w1"`, `"../w1"`}, {"local time", "created", `03Z`, `03+02:00`}, {"no time", "created", `2026-11-24T01:02:03Z`, `yesterday`},
		{"source over http", "provenance.source", `https://git`, `http://git`}, {"source with a user", "provenance.source", `https://git`, `https://a:b@git`}, {"source with a query", "provenance.source", `team/kit"`, `team/kit?token"`},
		{"commit that is none", "provenance.commit", `"0123`, `"x123`},
		{"absolute program", "profiles.check.command[0]", `["make", "check"]`, `["/bin/sh"]`}, {"relative program", "profiles.check.command[0]", `["make", "check"]`, `["bin/sh"]`}, {"no program", "profiles.check.command", `["make", "check"]`, `[]`},
		{"program of spaces", "profiles.check.command[0]", `["make", "check"]`, `["a b"]`}, {"program of the workspace", "profiles.agent.resume[0]", `["claude", "--resume"`, `["./claude", "--resume"`},
		{"profile shell", "profiles", `"check": {`, `"shell": {`}, {"profile with a path", "profiles", `"check": {`, `"a/b": {`}, {"level none of a profile that is none", "profiles.agent.sandbox", `"strict"`, `"off"`},
		{"variable of the loader", "profiles.agent.env[0]", `"EDITOR"`, `"LD_PRELOAD"`}, {"all variables", "profiles.agent.env[0]", `"EDITOR"`, `"*"`}, {"PATH of a secret", "declarations[0].env", `"MODEL_KEY"`, `"PATH"`},
		{"our own variable", "declarations[0].env", `"MODEL_KEY"`, `"MIDDLEMAN_TOKEN"`}, {"secret without a variable", "declarations[0].env", `"env": "MODEL_KEY", `, ``}, {"variable of a mount", "declarations[1].env", `"write": true`, `"env": "A"`},
		{"writable secret", "declarations[0].write", `"optional": true`, `"write": true`}, {"declared twice", "declarations[2].ref", `"cap:login"`, `"volume:go-cache"`}, {"use of nothing", "profiles.agent.uses[1]", `"mount-grant:go-cache"`, `"mount-grant:other"`},
		{"unknown kind", ref, `"vault:model-key"`, `"socket:docker"`}, {"kind in capitals", ref, `"vault:model-key"`, `"Secret:model-key"`}, {"unknown capability", "declarations[2].ref", `"cap:login"`, `"cap:root"`}, {"unknown shell policy", "declarations[2].ref", `"cap:login"`, `"shell:any"`},
		{"unknown git policy", "declarations[2].ref", `"cap:login"`, `"git:force-push"`}, {"network of everything", "declarations[2].ref", `"cap:login"`, `"net:*"`}, {"network of a domain", "declarations[2].ref", `"cap:login"`, `"net:*.com"`}, {"network of metadata", "declarations[2].ref", `"cap:login"`, `"net:169.254.169.254"`},
		{"half of a character", source, `"Ann"`, `"\ud800"`}, {"bytes", source, `"Ann"`, "\"\xff\xfe\""}, {"behind the end", "document", `{"ref": "cap:login"}
  ]
}`, `{"ref": "cap:login"}
  ]
} {}`}, {"cut off", "declarations[2]", `{"ref": "cap:login"}
  ]
}`, `{"ref": "cap:login"`},
		{"spawn of a path", "profiles.agent.spawn[0]", `"spawn": ["check"]`, `"spawn": ["../x"]`}, {"approvals of what has none", "profiles.check.approvals", `["make", "check"]`, `["make"], "approvals": true`},
	} {
		add(c.name, c.field, c.from, c.to)
	}
	if len(cases) < 60 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.name[:min(len(c.name), 60)], func(t *testing.T) {
			b, err := Decode([]byte(c.text))
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("%v, %+v", err, b)
			}
			if e.Field != c.field || len(e.Error()) > 600 || strings.ContainsAny(e.Error(), "\n\x1b\x00") {
				t.Errorf("field %q, want %q: %v", e.Field, c.field, err)
			}
		})
	}
	t.Logf("%d contents", len(cases))
}

// A text may look like what is refused, and be none of it.
func TestUsualContentIsAllowed(t *testing.T) {
	for _, text := range []string{
		"check", "--max-tokens=5", "-c", "go test", "src", "--model=opus-4.5", "https://example.com/a/b", "3/4", "a.b", "--secret-ref", "x=1:2", "tokens", "0.5", "e.g. this", "äöü 漢字",
	} {
		if why := hostile(text); why != "" {
			t.Errorf("%q %s", text, why)
		}
	}
}

func TestFlippedBitIsRefused(t *testing.T) {
	b := decode(t, plain)
	signed := `{"digest":"` + b.Sum() + `",` + string(b.Canonical()[1:])
	decode(t, signed)
	step := 7 // with this, each bit of a byte is flipped somewhere
	if os.Getenv("MIDDLEMAN_LONG") == "1" {
		step = 1
	}
	for i := 0; i < len(signed)*8; i += step {
		raw := []byte(signed)
		raw[i/8] ^= 1 << (i % 8)
		if got, err := Decode(raw); err == nil {
			t.Fatalf("bit %d of byte %d (%q): %s", i%8, i/8, signed[max(0, i/8-20):i/8+1], got.Canonical())
		}
	}
}

func TestDiff(t *testing.T) {
	old := decode(t, plain)
	text := strings.Replace(strings.Replace(plain, `"--fast"`, `"--slow"`, 1), `"revision": 3`, `"revision": 4`, 1)
	now := decode(t, strings.Replace(text, `{"ref": "cap:login"}`, `{"ref": "cap:login"}, {"ref": "git:commit"}`, 1))
	want := []Change{
		{"declarations.git-policy:commit", "", `{"ref":"git-policy:commit"}`},
		{"profiles.agent.command[1]", `"--fast"`, `"--slow"`}, {"revision", "3", "4"},
	}
	if got := Diff(old, now); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := Diff(old, old); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestAsks(t *testing.T) {
	b := decode(t, plain)
	p, err := b.Profile("agent")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range b.Asks(p) {
		got = append(got, d.Ref.String())
	}
	want := []string{"secret-ref:model-key", "mount-grant:go-cache", "capability-grant:login", "capability-grant:env.EDITOR", "capability-grant:approvals", "capability-grant:spawn"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := b.Profile("none"); !errors.Is(err, ErrProfile) {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte(`{"schema":1,"id":"a","revision":1,"created":"2026-01-01T00:00:00Z","profiles":{"p":{"command":["x"]}}}`))
	f.Add([]byte(`{"schema":1,"id":"\ud83d\ude00"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := Decode(raw)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatal(err)
			}
			return
		}
		again, err := Decode(b.Canonical())
		if err != nil || again.Sum() != b.Sum() || !bytes.Equal(again.Canonical(), b.Canonical()) {
			t.Fatalf("%v\n%s\n%s", err, b.Canonical(), again.Canonical())
		}
		if !json.Valid(b.Canonical()) {
			t.Fatalf("%s", b.Canonical())
		}
	})
}
