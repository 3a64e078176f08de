//go:build unix

package private_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/private"
	"middleman/internal/testenv"
)

func TestCheckSocket(t *testing.T) {
	dir := testenv.ShortDir(t)
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, link, loop := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "loop")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{link: socket, loop: loop} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ path, want string }{
		{socket, ""}, {link, ""},
		{"", "not an absolute path"}, {"s", "not an absolute path"}, {file, "is no socket"}, {dir, "is no socket"},
		{filepath.Join(dir, "missing"), "no such file"}, {loop, "symbolic links"},
	} {
		err := private.CheckSocket(tt.path)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: %v, want %q", tt.path, err, tt.want)
		}
	}
}

func TestCheckSocketOfAnother(t *testing.T) {
	testenv.NeedRoot(t, "give a socket to another user")
	socket := filepath.Join(testenv.ShortDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chown(socket, 61234, -1); err != nil {
		t.Fatal(err)
	}
	if err := private.CheckSocket(socket); err == nil || !strings.Contains(err.Error(), "belongs to user 61234") {
		t.Error(err)
	}
}

func TestReplaceLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "ssh-agent")
	for _, target := range []string{"/first", "/second"} {
		if err := private.ReplaceLink(target, link); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(link); got != target {
			t.Errorf("%q, %v, want %q", got, err, target)
		}
	}
	if entries, err := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%v, %v: more than the link", entries, err)
	}
	if found := private.Survey(link); len(found) > 0 {
		t.Errorf("doctor complains: %v", found)
	}
}
