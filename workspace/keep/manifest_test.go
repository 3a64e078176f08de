package keep

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const someObject = "1234567890123456789012345678901234567890"

func sampleManifest() snapshot {
	dir, regular := fs.ModeDir|0o755, fs.FileMode(0o644)
	remote := setting{[]byte("branch.middleman/w1.remote"), []byte("origin")}
	return snapshot{Version: snapshotVersion, ID: "w1", Name: "w1", Root: filepath.Join(string(filepath.Separator), "base", "w1"),
		Made: time.Unix(1, 0).UTC(), Entry: "w1",
		Branch: branch{Name: "middleman/w1", Commit: someObject, Config: []setting{remote}, Reflog: someObject},
		Files: []file{{Path: []byte("."), Mode: dir}, {Path: []byte("a"), Mode: dir}, {Path: []byte("a/\xff\n"), Mode: regular, Blob: someObject},
			{Path: []byte("l"), Mode: fs.ModeSymlink | 0o777, Target: []byte("../..")}},
		State: []file{{Path: []byte("HEAD"), Mode: regular, Blob: someObject}}}
}

func TestManifestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(s *snapshot)
	}{
		{"an entry that is the directory of entries", func(s *snapshot) { s.Entry = "." }},
		{"an entry that is the repository", func(s *snapshot) { s.Entry = ".." }},
		{"an entry below another", func(s *snapshot) { s.Entry = "a/b" }},
		{"an entry with a line break", func(s *snapshot) { s.Entry = "a\nb" }},
		{"files of no entry", func(s *snapshot) { s.Entry = "" }},
		{"a relative root", func(s *snapshot) { s.Root = "base" }},
		{"a branch that leads out", func(s *snapshot) { s.Branch = branch{Name: "../../x"} }},
		{"a branch that is locked", func(s *snapshot) { s.Branch = branch{Name: "a.lock"} }},
		{"a branch that is an option", func(s *snapshot) { s.Branch = branch{Name: "--help", Commit: someObject} }},
		{"a head that is an option", func(s *snapshot) { s.Head = branch{Name: "-x", Commit: someObject} }},
		{"a branch that is read as another ref", func(s *snapshot) { s.Branch = branch{Name: "refs/heads/main"} }},
		{"a head that is HEAD", func(s *snapshot) { s.Head.Name = "HEAD" }},
		{"a branch with a part that no file can have", func(s *snapshot) { s.Branch = branch{Name: "a/" + strings.Repeat("b", 201)} }},
		{"a head with a line break", func(s *snapshot) { s.Head.Name = "a\nb" }},
		{"a commit that is an option", func(s *snapshot) { s.Branch.Commit = "--upload-pack=x" }},
		{"a reflog that is two lines", func(s *snapshot) { s.Branch.Reflog = someObject[:39] + "\n" }},
		{"a setting without a section", func(s *snapshot) { s.Branch.Config[0].Key = []byte("a") }},
		{"a setting of something else", func(s *snapshot) { s.Branch.Config[0].Key = []byte("core.fsmonitor") }},
		{"settings of no branch", func(s *snapshot) { s.Branch.Name = "" }},
		{"a file without a name", func(s *snapshot) { s.Files[2].Path = nil }},
		{"a file above", func(s *snapshot) { s.Files[2].Path = []byte("a/../../x") }},
		{"a directory above, and a file in it", func(s *snapshot) { s.Files[1].Path, s.Files[2].Path = []byte(".."), []byte("../x") }},
		{"an absolute file", func(s *snapshot) { s.Files[2].Path = []byte("/etc/x") }},
		{"a file with a NUL", func(s *snapshot) { s.Files[2].Path = []byte("a/x\x00") }},
		{"a file twice", func(s *snapshot) { s.Files = append(s.Files, s.Files[2]) }},
		{"a file behind a link", func(s *snapshot) { s.Files[2].Path = []byte("l/x"); s.Files[1], s.Files[3] = s.Files[3], s.Files[1] }},
		{"a file before its directory", func(s *snapshot) { s.Files[1], s.Files[2] = s.Files[2], s.Files[1] }},
		{"the top as a file", func(s *snapshot) { s.Files[0].Mode, s.Files[0].Blob = 0o644, someObject }},
		{"a device", func(s *snapshot) { s.Files[2].Mode |= fs.ModeDevice }},
		{"a pipe", func(s *snapshot) { s.Files[2].Mode |= fs.ModeNamedPipe }},
		{"a file without content", func(s *snapshot) { s.Files[2].Blob = "" }},
		{"content that is no object", func(s *snapshot) { s.Files[2].Blob = "HEAD:secret" }},
		{"a directory with content", func(s *snapshot) { s.Files[1].Blob = someObject }},
		{"a link without a target", func(s *snapshot) { s.Files[3].Target = nil }},
		{"a file with a target", func(s *snapshot) { s.Files[2].Target = []byte("x") }},
		{"bits beyond the mode", func(s *snapshot) { s.Files[2].Bits = fs.ModeSetuid }},
		{"git's file above", func(s *snapshot) { s.State[0].Path = []byte("../config") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := sampleManifest()
			tc.change(&s)
			data, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decodeManifest(data, "w1"); !errors.Is(err, ErrBadSnapshot) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSettingsThatComeBack(t *testing.T) {
	for _, tc := range []struct {
		key, value string
		back, told bool
	}{
		{"remote", "origin", true, false},
		{"remote", "ext::sh -c evil", false, true},
		{"pushremote", "--receive-pack=evil", false, true},
		{"merge", "refs/heads/main", true, false},
		{"merge", "refs/heads/../x", false, true},
		{"rebase", "merges", true, false},
		{"description", "two\nlines", true, false},
		{"mergeoptions", "--no-ff --log", true, false},
		{"mergeoptions", "--strategy=evil", false, true},
		{"gh-merge-base", "main", true, false},
		{"odd", "\x1b[2J", false, true},
		{"1x", "", false, true},
		{"", "", false, true},
		{"other.remote", "origin", false, false},
	} {
		b := branch{Name: "b", Config: []setting{{[]byte("branch.b." + tc.key), []byte(tc.value)}}}
		list, notes := b.own()
		if len(list) == 1 != tc.back || len(notes) == 1 != tc.told {
			t.Errorf("%s = %q: %d come back, %q", tc.key, tc.value, len(list), notes)
		}
	}
}

func FuzzManifest(f *testing.F) {
	data, err := json.Marshal(sampleManifest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":1,"id":"w1","branch":{"config":[{"Key":"YQ=="}]}}`))
	f.Add([]byte(`{"version":1,"id":"w1","entry":".."}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeManifest(data, "w1")
		if err != nil {
			return
		}
		for _, b := range []branch{s.Branch, s.Head} {
			list, _ := b.own()
			for _, s := range list {
				if !bytes.HasPrefix(s.Key, []byte("branch."+b.Name+".")) {
					t.Errorf("setting %q of branch %q", s.Key, b.Name)
				}
			}
		}
		for _, f := range append(s.Files, s.State...) {
			if !filepath.IsLocal(f.name()) {
				t.Errorf("file %q leads out", f.Path)
			}
		}
		once, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeManifest(once, "w1")
		if err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%v: %s\n%s", err, once, twice)
		}
	})
}
