//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// forgery changes a snapshot's manifest before it is restored.
type forgery struct {
	name, title string
	change      func(m map[string]any)
	whole       string // instead of the manifest
}

func at(m map[string]any, key string) map[string]any {
	v, _ := m[key].(map[string]any)
	if v == nil {
		v = map[string]any{}
		m[key] = v
	}
	return v
}

// withFile adds an entry; PLACE stands for a directory outside.
func withFile(file map[string]any) func(map[string]any) {
	return func(m map[string]any) {
		list, _ := m["files"].([]any)
		m["files"] = append(list, file)
	}
}

// entryAt is a directory of that name.
func entryAt(path string) map[string]any {
	return map[string]any{"path": []byte(path), "mode": 0o755 | os.ModeDir, "time": time.Now()}
}

func linkAt(path, target string) map[string]any {
	return map[string]any{"path": []byte(path), "mode": 0o777 | os.ModeSymlink, "time": time.Now(), "target": []byte(target)}
}

func fileAt(path, blob string, mode os.FileMode) map[string]any {
	return map[string]any{"path": []byte(path), "mode": mode, "time": time.Now(), "blob": blob}
}

func inBranch(key string, value any) func(map[string]any) {
	return func(m map[string]any) { at(m, "branch")[key] = value; at(m, "head")[key] = value }
}

func set(key string, value any) func(map[string]any) {
	return func(m map[string]any) { m[key] = value }
}

// gone makes the branch one that has to be made again, so that its
// configuration is used.
func goneWith(config ...any) func(map[string]any) {
	return func(m map[string]any) { at(m, "branch")["config"], at(m, "head")["config"] = config, config }
}

func pair(key, value string) map[string]any {
	return map[string]any{"Key": []byte(key), "Value": []byte(value)}
}

const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

var forgeries = []forgery{
	{name: "config-short", title: "a setting with a key of one letter", change: goneWith(pair("a", ""))},
	{name: "config-empty", title: "a setting without a key", change: goneWith(pair("", ""))},
	{name: "config-other", title: "a setting of another section, core.fsmonitor", change: goneWith(pair("core.fsmonitor", "CANARY"))},
	{name: "config-line", title: "a setting with a line break in its key", change: goneWith(pair("branch.x.y\n[core]\n\tfsmonitor = CANARY\n", "x"))},
	{name: "config-value", title: "a setting with a line break in its value", change: goneWith(pair("branch.x.remote", "x\n[core]\n\tfsmonitor = CANARY\n"))},
	{name: "config-option", title: "a setting whose key is an option", change: goneWith(pair("--global", "x"), pair("--file=/tmp/x", "y"))},
	{name: "file-dot", title: "an entry called .", change: withFile(entryAt("."))},
	{name: "file-dot-dot", title: "an entry called ..", change: withFile(entryAt(".."))},
	{name: "file-empty", title: "an entry without a name", change: withFile(entryAt(""))},
	{name: "file-outside", title: "a file at ../../planted", change: withFile(fileAt("../../planted", emptyBlob, 0o644))},
	{name: "file-absolute", title: "a file at an absolute path", change: withFile(fileAt("PLACE/planted", emptyBlob, 0o644))},
	{name: "file-through-link", title: "a file through a link to outside", change: func(m map[string]any) {
		withFile(linkAt("door", "PLACE"))(m)
		withFile(fileAt("door/planted", emptyBlob, 0o644))(m)
	}},
	{name: "file-setuid", title: "a file with the set-uid bit as plain mode", change: withFile(fileAt("suid", emptyBlob, 0o4755|os.ModeSetuid))},
	{name: "file-device", title: "a device", change: withFile(map[string]any{"path": []byte("dev"), "mode": os.ModeDevice | 0o666, "time": time.Now()})},
	{name: "file-no-blob", title: "a file whose content does not exist", change: withFile(fileAt("x", strings.Repeat("1", 40), 0o644))},
	{name: "file-blob-option", title: "a file whose content is an option", change: withFile(fileAt("x", "--batch-all-objects", 0o644))},
	{name: "file-blob-lines", title: "a file whose content is two requests", change: withFile(fileAt("x", emptyBlob+"\n"+emptyBlob, 0o644))},
	{name: "file-in-git", title: "a file below .git", change: withFile(fileAt(".git/hooks/post-checkout", emptyBlob, 0o755))},
	{name: "file-nul", title: "a name with a NUL", change: withFile(entryAt("a\x00b"))},
	{name: "file-twice", title: "the same file twice, then as a directory", change: func(m map[string]any) {
		withFile(fileAt("twice", emptyBlob, 0o644))(m)
		withFile(entryAt("twice"))(m)
		withFile(fileAt("twice/x", emptyBlob, 0o644))(m)
	}},
	{name: "state-outside", title: "a file of git's directory at ../../config", change: set("state", []any{fileAt("../../config", emptyBlob, 0o644)})},
	{name: "state-hooks", title: "a link in git's directory", change: set("state", []any{linkAt("commondir", "PLACE")})},
	{name: "root", title: "a root elsewhere", change: set("root", "/etc")},
	{name: "entry", title: "an entry of ../../planted", change: set("entry", "../../planted")},
	{name: "id", title: "the id of another workspace", change: set("id", "../../planted")},
	{name: "version", title: "a version from the future", change: set("version", 99)},
	{name: "branch-option", title: "a branch that is an option", change: inBranch("name", "--upload-pack=CANARY")},
	{name: "branch-outside", title: "a branch that leads out of refs", change: inBranch("name", "../../../planted")},
	{name: "branch-lock", title: "a branch whose name git forbids", change: inBranch("name", "a..b~^:?*[.lock")},
	{name: "commit-option", title: "a commit that is an option", change: inBranch("commit", "--help")},
	{name: "commit-none", title: "a commit that does not exist", change: inBranch("commit", strings.Repeat("1", 40))},
	{name: "reflog", title: "a reflog that is a path", change: inBranch("reflog", "../../etc/passwd")},
	{name: "unkept", title: "notes with escapes", change: set("unkept", []string{"\x1b]0;evil\x07", "\u009bevil"})},
	{name: "null", title: "null", whole: "null"}, {name: "array", title: "an array", whole: "[]"}, {name: "no-json", title: "no JSON", whole: "{"},
	{name: "deep", title: "100,000 nested arrays", whole: strings.Repeat("[", 100000)},
	{name: "large", title: "a manifest of 64 MiB", whole: `{"version":1,"name":"` + strings.Repeat("x", 64<<20) + `"}`},
	{name: "types", title: "fields of other types", whole: `{"version":"1","id":[],"branch":3,"files":{"a":1}}`},
}

func snapshotProbes() []probe {
	probes := []probe{{id: "control", title: "an honest manifest that was written anew is restored", control: true,
		gain: "nothing: it shows that forged ones are read", run: func(w *world) error {
			if o := forgeAndRestore(w, forgery{change: func(map[string]any) {}}).restored; o.code != 0 {
				return fmt.Errorf("restore: %s", o)
			}
			return nil
		}}}
	for _, f := range forgeries {
		probes = append(probes, probe{id: f.name, title: "a forged snapshot: " + f.title, gain: "files outside written, programs run, or a server that ends",
			run: func(w *world) error { return forged(w, f) }})
	}
	return append(probes, probe{id: "start", title: "a server starts again after all of them", gain: "a server that never starts again", run: startsAgain})
}

// attempt is a restore of a forged snapshot.
type attempt struct {
	*repository
	place    string // outside
	restored output
}

// forgeAndRestore deletes a workspace, forges its snapshot and restores it, on
// a server that forgeries before it have not ended.
func forgeAndRestore(w *world, f forgery) attempt {
	r := w.newRepository()
	if w.restoring == nil || w.restoring.local("GET", "/api/v1/health", "").status != 200 {
		w.restoring = w.fresh(serverOptions{})
	}
	r.server = w.restoring
	if o := r.begin(); o.code != 0 {
		must(fmt.Errorf("new: %s", o))
	}
	write(r.tree+"/new.txt", "new\n")
	id := filepath.Base(r.entry())
	r.ok("rm", r.name, "--discard-work")
	a := attempt{repository: r, place: w.place()}
	r.forge(id, a.place, f)
	a.restored = r.run("restore", r.name)
	return a
}

func forged(w *world, f forgery) error {
	a := forgeAndRestore(w, f)
	o := a.restored
	if err := a.canary.sang("middleman restore"); err != nil {
		return err
	}
	if strings.Contains(o.all(), "\x1b]0;") || strings.Contains(o.all(), "\u009b") {
		return fmt.Errorf("an escape is printed: %s", o)
	}
	if health := a.local("GET", "/api/v1/health", ""); health.status != 200 {
		return fmt.Errorf("the server is gone after the restore: %s\n%s", health, o)
	}
	if o.late || strings.Contains(o.all(), "panic") {
		return fmt.Errorf("restore: %s", o)
	}
	if entries := must1(os.ReadDir(a.place)); len(entries) > 0 {
		return fmt.Errorf("%s was written outside: %s", entries[0].Name(), o)
	}
	if found := must1(filepath.Glob(filepath.Join(a.home, "data", "*planted*"))); len(found) > 0 {
		return fmt.Errorf("%v was written outside: %s", found, o)
	}
	if strings.Contains(string(must1(os.ReadFile(a.dir+"/.git/config"))), a.canary.program) {
		return fmt.Errorf("the repository's configuration names the planted program: %s", o)
	}
	if raw, err := os.ReadFile("/etc/.git"); err == nil {
		return fmt.Errorf("/etc/.git was written: %s", raw)
	}
	return nil
}

// startsAgain starts a server in each home where forgeries were restored.
func startsAgain(w *world) error {
	if w.restoring == nil {
		return &skip{"no forgery was restored in this run"}
	}
	s := w.restoring
	s.stop()
	again, err := w.newServer(serverOptions{home: s.home})
	if err != nil {
		return fmt.Errorf("the server does not start again: %w", err)
	}
	defer again.stop()
	var errs []error
	for range 10 { // what was half done is taken up in the background
		time.Sleep(100 * time.Millisecond)
		if a := again.local("GET", "/api/v1/workspaces", ""); a.status != 200 {
			errs = append(errs, fmt.Errorf("the server is gone after its start: %s", a))
		}
	}
	return errors.Join(errs...)
}

// forge replaces the manifest in a snapshot's commit, and has the branch gone,
// so that all of it is used.
func (r *repository) forge(id, place string, f forgery) {
	ref := "refs/middleman/trash/" + id
	text := f.whole
	if text == "" {
		var m map[string]any
		unmarshal(r.git("cat-file", "blob", ref+":manifest.json"), &m)
		f.change(m)
		text = string(must1(json.Marshal(replaced(m, "CANARY", r.canary.program, "PLACE", place))))
	}
	blob := r.gitInput(text, "hash-object", "-w", "--stdin")
	var tree strings.Builder
	for line := range strings.Lines(r.git("ls-tree", ref) + "\n") {
		if strings.HasSuffix(line, "\tmanifest.json\n") {
			line = "100644 blob " + blob + "\tmanifest.json\n"
		}
		tree.WriteString(line)
	}
	args := []string{"commit-tree", r.gitInput(tree.String(), "mktree", "--missing"), "-m", "forged"}
	for parent := range strings.FieldsSeq(r.git("log", "-1", "--format=%P", ref)) {
		args = append(args, "-p", parent)
	}
	r.git("update-ref", ref, r.git(args...))
	for branch := range strings.FieldsSeq(r.git("for-each-ref", "--format=%(refname)", "refs/heads/middleman/")) {
		r.git("update-ref", "-d", branch)
	}
}

// replaced puts values into all strings and bytes of a manifest.
func replaced(v any, pairs ...string) any {
	put := strings.NewReplacer(pairs...)
	switch v := v.(type) {
	case string:
		return put.Replace(v)
	case []byte:
		return []byte(put.Replace(string(v)))
	case []any:
		for i := range v {
			v[i] = replaced(v[i], pairs...)
		}
	case map[string]any:
		for key := range v {
			v[key] = replaced(v[key], pairs...)
		}
	}
	return v
}

func (r *repository) gitInput(input string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(input)
	return strings.TrimSpace(string(must1(cmd.Output())))
}
