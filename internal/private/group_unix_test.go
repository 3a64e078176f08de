//go:build unix

package private

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestFindOwnGroup(t *testing.T) {
	const users = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:Ann:/home/ann:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n"
	tests := []struct {
		name, users, groups string
		uid, want           int
	}{
		{"own", users, "root:x:0:\nann:x:1000:\nbob:x:1001:\n", 1000, 1000},
		{"lists its user", users, "ann:x:1000:ann\n", 1000, 1000},
		{"lists another", users, "ann:x:1000:bob\n", 1000, noGroup},
		{"lists both", users, "ann:x:1000:ann,bob\n", 1000, noGroup},
		{"of another name", users, "users:x:1000:\n", 1000, noGroup},
		{"two names, one with a member", users, "ann:x:1000:\nstaff:x:1000:bob\n", 1000, noGroup},
		{"another's primary group too", users + "eve:x:1002:1000::/:/bin/sh\n", "ann:x:1000:\n", 1000, noGroup},
		{"no such user", users, "ann:x:1000:\n", 1005, noGroup},
		{"no such group", users, "bob:x:1001:\n", 1000, noGroup},
		{"damaged", "ann:x\n:::\nann:x:1000:1000\n", "ann:x\nann:x:1000:\n", 1000, 1000},
		{"no number", "ann:x:1000:zero:\n", "ann:x:zero:\n", 1000, noGroup},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := findOwnGroup([]byte(tt.users), []byte(tt.groups), tt.uid); got != tt.want {
				t.Errorf("group %d, want %d", got, tt.want)
			}
		})
	}
}

// A home that was made with a umask of 002 is no stranger's where its group is
// the user's own. What is ours alone stays so.
func TestOwnGroupMayWriteAbove(t *testing.T) {
	group := ownGroup()
	if group == noGroup {
		t.Skip("this user has no group of their own")
	}
	home := filepath.Join(t.TempDir(), "home")
	data := filepath.Join(home, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{home, data} {
		if err := os.Chown(dir, -1, group); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		dir  string
		mode os.FileMode
		ok   bool
	}{
		{home, 0o775, true},
		{home, 0o777, false},
		{home, 0o700, true},
		{data, 0o770, false},
	}
	for _, step := range steps {
		if err := os.Chmod(step.dir, step.mode); err != nil {
			t.Fatal(err)
		}
		if err := Dir(data); (err == nil) != step.ok {
			t.Errorf("%s %o: %v", filepath.Base(step.dir), step.mode, err)
		}
	}
	settings := filepath.Join(home, "settings")
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chown(settings, -1, group), os.Chmod(settings, 0o775)); err != nil {
		t.Fatal(err)
	}
	if err := Trusted(settings); err != nil {
		t.Errorf("settings: %v", err)
	}
	if _, err := OpenExecutable(settings); err == nil {
		t.Error("a program that a group can write is run")
	}
}
