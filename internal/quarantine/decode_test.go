package quarantine

import (
	"encoding/json"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"middleman/internal/git"
)

func TestKeepSetting(t *testing.T) {
	for _, x := range []struct{ key, value, want string }{
		{"user.name", "A", "A"},
		{"core.autocrlf", "input", "input"},
		{"extensions.objectformat", "sha256", "sha256"},
		{"branch.a.b.merge", "refs/heads/x", "refs/heads/x"},
		{"remote.origin.url", "https://host/r.git", "https://host/r.git"},
		{"remote.origin.url", "https://user:token@host/r.git", "https://host/r.git"},
		{"remote.origin.url", "https://token@host:8443/r.git", "https://host:8443/r.git"},
		{"remote.origin.url", "ssh://git@host/r.git", "ssh://git@host/r.git"},
		{"remote.origin.url", "ssh://git:secret@host/r.git", "ssh://git@host/r.git"},
		{"remote.origin.pushurl", "git@host:r.git", "git@host:r.git"},
		{"url.https://host/.insteadof", "gh:", "gh:"},
		{"filter.lfs.clean", "git-lfs clean -- %f", "git-lfs clean -- %f"},
		{"url.https://user:token@host/.insteadof", "gh:", ""},
		{"core.hookspath", "/x", ""},
		{"core.fsmonitor", "x", ""},
		{"core.sshcommand", "x", ""},
		{"core.x.editor", "x", ""},
		{"remote.origin.uploadpack", "x", ""},
		{"remote.origin.vcs", "x", ""},
		{"credential.helper", "x", ""},
		{"credential.https://host.helper", "x", ""},
		{"http.extraheader", "Authorization: x", ""},
		{"http.https://host/.extraheader", "Authorization: x", ""},
		{"include.path", "/x", ""},
		{"includeif.gitdir:/x.path", "/x", ""},
		{"alias.x", "!x", ""},
		{"diff.external", "x", ""},
		{"diff.x.textconv", "x", ""},
		{"merge.x.driver", "x", ""},
		{"submodule.x.update", "!x", ""},
		{"gpg.program", "x", ""},
		{"sequence.editor", "x", ""},
		{"nosection", "x", ""},
	} {
		got, ok := keepSetting(x.key, x.value)
		if ok != (x.want != "") || ok && got != x.want {
			t.Errorf("%s=%s: %q, %v, want %q", x.key, x.value, got, ok, x.want)
		}
	}
}

func TestRecordRefusals(t *testing.T) {
	good := record{Version: recordVersion, Workspace: "w", Entry: "worktrees/w", Branch: "refs/heads/b", Refs: map[string]string{"refs/heads/b": strings.Repeat("a", 40)}}
	for name, spoil := range map[string]func(r *record){
		"":        func(*record) {},
		"version": func(r *record) { r.Version++ },
		"leaves":  func(r *record) { r.Entry = "../x" },
		"branch":  func(r *record) { r.Branch = "refs/tags/x" },
		"object":  func(r *record) { r.Moving = "HEAD" },
		"ref":     func(r *record) { r.Refs = map[string]string{"refs/heads/b": "--all"} },
	} {
		r := good
		spoil(&r)
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back record
		if err := decodeRecord(raw, &back); (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"workspace":"w","entry":".","branch":"refs/heads/b","refs":{},"index":""}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r, again record
		if decodeRecord(raw, &r) != nil {
			return
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := decodeRecord(text, &again); err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%q: %+v, again %+v: %v", raw, r, again, err)
		}
	})
}

func FuzzPointer(f *testing.F) {
	for _, text := range []string{"ref: refs/heads/main\n", strings.Repeat("a", 40) + "\n", "ref: ../../x", "ref:", "\x00"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ref, object := decodePointer(raw)
		if ref != "" && (object != "" || !plainRef(ref)) || object != "" && !git.IsObjectID(object) {
			t.Errorf("%q: %q, %q", raw, ref, object)
		}
		if text := (position{branch: ref, commit: object}).text(); ref+object != "" {
			if r, o := decodePointer([]byte(text)); r != ref || o != object {
				t.Errorf("%q: again %q, %q", text, r, o)
			}
		}
	})
}

func FuzzRefLine(f *testing.F) {
	f.Add(strings.Repeat("a", 40) + " refs/heads/main ")
	f.Add(strings.Repeat("a", 64) + " refs/remotes/origin/HEAD refs/remotes/origin/main")
	f.Add("--output=x refs/heads/x ")
	f.Fuzz(func(t *testing.T, line string) {
		r := refs{objects: map[string]string{}, symbolic: map[string]string{}}
		if r.take(line) != nil {
			return
		}
		for ref, object := range r.objects {
			if object+" "+ref+" " != line {
				t.Errorf("%q is %q at %q", line, ref, object)
			}
		}
		for ref, to := range r.symbolic {
			if !strings.HasSuffix(line, " "+ref+" "+to) {
				t.Errorf("%q is %q to %q", line, ref, to)
			}
		}
	})
}

// A pin's name is one part of a valid ref, and no two texts have the same.
func FuzzPinName(f *testing.F) {
	for _, text := range []string{"main", "feature/x", "a..b", ".lock", "a.lock", "a.lock.lock", "@{", "x.", strings.Repeat("é", 200)} {
		f.Add(text, text+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == "" || b == "" {
			return
		}
		one, other := pinName(a), pinName(b)
		if !plainRef("refs/"+one) || strings.Contains(one, "/") || len(one) > maxPinName {
			t.Errorf("%q is %q", a, one)
		}
		if a != b && one == other {
			t.Errorf("%q and %q are both %q", a, b, one)
		}
	})
}

// What we take for the name of a ref git takes too, and refuses what we refuse.
func TestPlainRef(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, ref := range []string{"refs/heads/a", "refs/heads/a/b", "refs/heads/-a", "refs/heads/@", "refs/heads/a.b", "refs/heads/é", "refs/heads/a{b",
		"refs/heads/.a", "refs/heads/a.lock", "refs/heads/a.lock/b", "refs/heads/a..b", "refs/heads/a@{b", "refs/heads/a b", "refs/heads/a~b",
		"refs/heads/a^b", "refs/heads/a:b", "refs/heads/a?b", "refs/heads/a*b", "refs/heads/a[b", `refs/heads/a\b`, "refs/heads/a\x7f", "refs/heads/a\nb",
		"refs/heads//a", "refs/heads/a/", "refs/heads/a."} {
		if want := exec.Command("git", "check-ref-format", ref).Run() == nil; plainRef(ref) != want {
			t.Errorf("%q: %v, git says %v", ref, !want, want)
		}
	}
}
