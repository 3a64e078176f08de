//go:build unix

package grants

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/bundle"
)

func TestSecret(t *testing.T) {
	const value = "a value that no error has"
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("good", value+"\n", 0o600)
	put("lines", "a\nb\n\n", 0o400)
	put("shared", value, 0o640)
	put("written", value, 0o602)
	put("empty", "\n", 0o600)
	put("nul", value+"\x00", 0o600)
	put("large", strings.Repeat("x", maxSecret+1), 0o600)
	if err := os.Symlink(filepath.Join(dir, "good"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	command := []string{"/bin/sh", "-c", `case $1 in told) echo told it;; many) yes;; *) echo "` + value + `" >&2; echo half; exit 3;; esac`, "sh", "{name}"}
	for _, tt := range []struct {
		name    string
		command []string
		want    string
		problem string
	}{
		{"good", nil, value, ""}, {"lines", nil, "a\nb\n", ""}, {"good", command, value, ""}, {"told", command, "told it", ""},
		{"shared", nil, "", "0600"}, {"shared", command, "", "0600"}, {"written", nil, "", "nobody else can write"}, {"link", nil, "", "cannot be used"}, {"empty", nil, "", "empty"}, {"nul", nil, "", "NUL"},
		{"large", nil, "", "larger than"}, {"none", nil, "", "no file secrets/none"}, {"none", command, "", "failed: exit status 3"}, {"many", command, "", "failed"}, {"none", []string{"/nonexistent", "{name}"}, "", "failed"},
	} {
		got, err := Resolver{Dir: dir, Command: tt.command}.secret(t.Context(), tt.name)
		if got != tt.want || (err != nil) != (tt.problem != "") {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), tt.problem) || !errors.Is(err, bundle.ErrSecret) || strings.Contains(err.Error(), value) || strings.Contains(err.Error(), dir)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// What is optional and not there is refused, and the others are given.
func TestOptionalSecret(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("value"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		command  []string
		optional bool
		reason   string // "" for an error
	}{
		{"without a command", nil, true, "this host has no file secrets/gone beside config.toml, and no secrets.command in policy.toml"},
		{"command that has none", []string{"/bin/false"}, true, "secrets.command of policy.toml failed: exit status 1"},
		{"command that is not there", []string{"/nonexistent"}, true, ""},
		{"needed", nil, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := Given{Secrets: map[string]string{"A": "there", "B": "gone"}, Grants: []bundle.Grant{
				{Asked: "secret-ref:there", Optional: true, Result: bundle.Granted}, {Asked: "secret-ref:gone", Optional: tt.optional, Result: bundle.Granted},
			}}
			entries, err := Resolver{Dir: dir, Command: tt.command}.Variables(t.Context(), &g)
			if tt.reason == "" {
				if !errors.Is(err, bundle.ErrSecret) {
					t.Errorf("%q, %v", entries, err)
				}
				return
			}
			gone := g.Grants[1]
			if err != nil || len(entries) != 1 || entries[0] != "A=value" || gone.Result != bundle.Refused || gone.Reason != tt.reason || len(g.Secrets) != 1 {
				t.Errorf("%q, %v, %+v", entries, err, gone)
			}
			if g.Note() != "it does not have what this host refuses: secret-ref:gone" {
				t.Error(g.Note())
			}
		})
	}
}

func TestPolicyThatOthersWriteIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.toml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "writable by others") {
		t.Error(err)
	}
}
