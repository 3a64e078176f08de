//go:build unix

package private_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/internal/testenv"
)

func TestSurvey(t *testing.T) {
	root := testenv.ShortDir(t)
	at := func(name string) string { return filepath.Join(root, name) }
	must(t, os.MkdirAll(at("sessions/s1/journal"), 0o700))
	must(t, os.MkdirAll(at("workspaces/w1"), 0o700))
	must(t, os.WriteFile(at("sessions/s1/exit.json"), nil, 0o600))
	must(t, unix.Mkfifo(at("sessions/s1/start.fifo"), 0o600))
	l, err := net.Listen("unix", at("tmux.sock"))
	must(t, err)
	defer l.Close()
	must(t, os.Chmod(at("tmux.sock"), 0o700))
	theirs := private.Part{Root: root, Pattern: "workspaces", Opaque: true}
	if found := private.Survey(root, theirs); len(found) > 0 {
		t.Fatalf("all is in order: %v", found)
	}
	if found := private.Survey(at("missing")); len(found) > 0 {
		t.Errorf("nothing is there: %v", found)
	}

	must(t, os.Chmod(at("workspaces/w1"), 0o755)) // the user's
	want := []string{
		root + " is open to others (mode 0750); run: chmod go-rwx " + root,
		at("sessions") + " is open to others (mode 0755)",
		at("sessions/s1/exit.json") + " is open to others (mode 0640)",
		at("sessions/s1/owner.json") + " is a FIFO and should be a file",
		at("sessions/s1/tmux.json") + " is a symbolic link and should be a file",
		at("middleman.db") + " is a directory and should be a file",
		at("middleman.sock") + " is a symbolic link and should be a socket",
		at("tmux.sock") + " is open to others (mode 0770)",
		at("link") + " is a symbolic link and should be a file or a directory",
	}
	must(t, os.Chmod(root, 0o750))
	must(t, os.Chmod(at("sessions"), 0o755))
	must(t, os.Chmod(at("sessions/s1/exit.json"), 0o640))
	must(t, unix.Mkfifo(at("sessions/s1/owner.json"), 0o600))
	must(t, os.Symlink("exit.json", at("sessions/s1/tmux.json")))
	must(t, os.Mkdir(at("middleman.db"), 0o700))
	must(t, os.Symlink("tmux.sock", at("middleman.sock")))
	must(t, os.Chmod(at("tmux.sock"), 0o770))
	must(t, os.Symlink("workspaces", at("link")))
	if os.Geteuid() == 0 {
		must(t, os.WriteFile(at("foreign.json"), nil, 0o600))
		must(t, os.Chown(at("foreign.json"), stranger, -1))
		want = append(want, at("foreign.json")+" belongs to user 61234, and you are user 0")
	}
	compare(t, private.Survey(root, theirs), want)
}

// compare compares problems with how their sentences begin.
func compare(t *testing.T, found []private.Problem, want []string) {
	t.Helper()
	var said strings.Builder
	for _, p := range found {
		said.WriteString(p.String() + "\n")
	}
	for _, line := range want {
		if !strings.Contains(said.String(), line) {
			t.Errorf("%q is missing", line)
		}
	}
	if len(found) != len(want) {
		t.Errorf("found %d things, want %d:\n%s", len(found), len(want), said.String())
	}
}

// Where programs of the user write too, the mode that their umask gives is in order, and
// what another user could have written is not. The directory itself is state.
func TestSurveyOfParts(t *testing.T) {
	root := filepath.Join(testenv.ShortDir(t), "a[b") // no pattern
	at := func(name string) string { return filepath.Join(root, name) }
	parts := []private.Part{{Root: root, Pattern: "boxes/*/git"}, {Root: root, Pattern: "boxes/*/git/objects", Opaque: true}, {Root: at("boxes"), Pattern: "*/tmp", Opaque: true}, {Root: at("trees"), Pattern: "*", Opaque: true}}
	must(t, os.MkdirAll(at("boxes/1"), 0o700))
	must(t, os.Mkdir(at("boxes/1/git"), 0o700))
	must(t, os.Mkdir(at("boxes/1/tmp"), 0o700))
	must(t, os.Mkdir(at("boxes/1/git/refs"), 0o755))
	must(t, os.Mkdir(at("boxes/1/git/objects"), 0o755))
	must(t, os.WriteFile(at("boxes/1/git/refs/main"), nil, 0o644))
	must(t, os.WriteFile(at("boxes/1/git.json"), nil, 0o600))
	must(t, os.WriteFile(at("boxes/1/git/x.json"), nil, 0o644))
	must(t, os.Symlink("x.json", at("boxes/1/git/link")))
	must(t, unix.Mkfifo(at("boxes/1/git/pipe"), 0o600))
	loose := func(names ...string) {
		for _, name := range names {
			must(t, os.Chmod(at(name), 0o777))
		}
	}
	must(t, os.WriteFile(at("boxes/1/tmp/x"), nil, 0o600))
	must(t, os.WriteFile(at("boxes/1/git/objects/x"), nil, 0o600))
	loose("boxes/1/tmp/x", "boxes/1/git/objects/x")
	compare(t, private.Survey(root, parts...), nil)

	loose("boxes/1", "boxes/1/git", "boxes/1/tmp", "boxes/1/git.json", "boxes/1/git/refs", "boxes/1/git/refs/main", "boxes/1/git/objects", "boxes/1/git/pipe")
	open, writable := " is open to others (mode 0777); run: chmod go-rwx ", " is writable by others (mode 0777); run: chmod go-w "
	want := []string{at("boxes/1") + open, at("boxes/1/git") + open, at("boxes/1/tmp") + open, at("boxes/1/git.json") + open,
		at("boxes/1/git/refs") + writable, at("boxes/1/git/refs/main") + writable, at("boxes/1/git/objects") + writable, at("boxes/1/git/pipe") + writable}
	if os.Geteuid() == 0 {
		must(t, os.Chown(at("boxes/1/git/x.json"), stranger, -1))
		must(t, os.Lchown(at("boxes/1/git/link"), stranger, -1))
		want = append(want, at("boxes/1/git/x.json")+" belongs to user 61234", at("boxes/1/git/link")+" belongs to user 61234")
	}
	for i, line := range want { // the path is quoted for a shell
		want[i] = line[:strings.LastIndex(line, " ")]
	}
	compare(t, private.Survey(root, parts...), want)
}

func TestCanMake(t *testing.T) {
	_, dir := tree(t)
	must(t, private.CanMake(dir))
	must(t, private.CanMake(filepath.Join(dir, "x", "y")))
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	must(t, os.Chmod(dir, 0o500))
	if err := private.CanMake(filepath.Join(dir, "x", "y")); err == nil || !strings.Contains(err.Error(), "write in "+dir) {
		t.Errorf("CanMake: %v", err)
	}
}
