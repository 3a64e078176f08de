package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
	"middleman/terminal"
)

// trap is a home in which somebody has planted what the command line reads,
// runs and connects to.
type trap struct {
	home, ran  string
	owned, tmx string // ids of sessions
	received   chan string
}

// setTrap plants a server and owners, on a PTY and on tmux, who note what they
// are told, and settings that name a program, which notes that it ran.
func setTrap(t *testing.T) *trap {
	t.Helper()
	p := &trap{home: testenv.ShortDir(t), owned: terminal.NewID("s"), tmx: terminal.NewID("s"), received: make(chan string, 1000)}
	p.ran = filepath.Join(testenv.ShortDir(t), "ran")
	evil := filepath.Join(filepath.Dir(p.ran), "tmux")
	ownedDir, tmuxDir := filepath.Join(p.home, "data/sessions", p.owned), filepath.Join(p.home, "data/sessions", p.tmx)
	for _, dir := range []string{ownedDir, tmuxDir, filepath.Join(p.home, "run"), filepath.Join(p.home, "config")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Format(time.RFC3339)
	owner := func(dir string) string {
		return fmt.Sprintf(`{"format":1,"min_protocol":1,"max_protocol":9,"owner_pid":1,"socket":%q,"token":"t","created":%q,"argv":["/bin/sh"],"dir":"/"}`,
			filepath.Join(dir, "owner.sock"), now)
	}
	for path, text := range map[string]string{
		evil:                                    "#!/bin/sh\necho \"$@\" >>" + p.ran + "\n",
		filepath.Join(p.home, "run/serve.json"): fmt.Sprintf(`{"address":"127.0.0.1:1","socket":%q,"pid":1}`, filepath.Join(p.home, "run/middleman.sock")),
		filepath.Join(p.home, "config/tmux.conf"): "run-shell " + evil + "\n",
		filepath.Join(ownedDir, "start.lock"):     "",
		filepath.Join(ownedDir, "owner.lock"):     "",
		filepath.Join(ownedDir, "owner.json"):     owner(ownedDir),
		filepath.Join(tmuxDir, "start.lock"):      "",
		filepath.Join(tmuxDir, "owner.lock"):      "",
		filepath.Join(tmuxDir, "host.lock"):       "",
		filepath.Join(tmuxDir, "host"):            "tmux",
		filepath.Join(tmuxDir, "owner.json"):      owner(tmuxDir),
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(ownedDir, "owner.lock"), filepath.Join(tmuxDir, "owner.lock"), filepath.Join(tmuxDir, "host.lock")} {
		held, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { held.Close() })
		if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(ownedDir, "owner.sock"), filepath.Join(tmuxDir, "owner.sock"), filepath.Join(p.home, "run/middleman.sock"), filepath.Join(p.home, "run/tmux.sock")} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go p.listen(l)
	}
	return p
}

// listen notes each connection, and what comes over it at first, until l is
// closed.
func (p *trap) listen(l net.Listener) {
	note := func(said string) {
		select {
		case p.received <- said:
		default: // there is enough to fail for
		}
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		note("a connection to " + l.Addr().String())
		go func() {
			defer conn.Close()
			said := make([]byte, 4096)
			n, _ := conn.Read(said)
			note(string(said[:n]))
		}()
	}
}

// sprung returns what the trap has caught.
func (p *trap) sprung() string {
	if text, err := os.ReadFile(p.ran); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("its program was run: %s, %v", text, err)
	}
	select {
	case said := <-p.received:
		return said
	default:
		return ""
	}
}

// give makes everything in the trap another user's.
func (p *trap) give(path string) error {
	return filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, testenv.Stranger, testenv.Stranger))
	})
}

// plantGit plants settings of git that run the trap's program, and gives all of it
// to another user.
func (p *trap) plantGit() error {
	text := "[core]\n\tsshCommand = " + filepath.Join(filepath.Dir(p.ran), "tmux") + "\n"
	dir := filepath.Join(p.home, "git")
	return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "config"), []byte(text), 0o600),
		os.WriteFile(filepath.Join(p.home, ".gitconfig"), []byte(text), 0o600), p.give(p.home))
}

// includeGit plants settings of git that include those of plantGit, with other spelling.
func (p *trap) includeGit() error {
	theirs := filepath.Join(p.home, "theirs")
	text := "[user] name = x\n[InClude]\n\tPath=\"theirs/git/../git/con\\\nfig\" ; shared\n"
	if err := os.Mkdir(theirs, 0o700); err != nil {
		return err
	}
	planted := *p
	planted.home = theirs
	return errors.Join(planted.plantGit(), os.WriteFile(filepath.Join(p.home, ".gitconfig"), []byte(text), 0o600))
}

// runIn runs the real command line and returns what it printed, and how it
// ended.
func runIn(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "middleman")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(link, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color"}, env...)
	cmd.Dir = "/"
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// With directories that another user has, or could have written, every command
// refuses with one line that says where and what to do, and nothing that is
// planted there is read, run or told anything.
func TestStrangersTakeNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		root  bool // is needed
		spoil func(p *trap) error
		env   func(p *trap, own string) []string
		want  []string // of the error
	}{
		{name: "another's home", root: true, spoil: func(p *trap) error { return p.give(p.home) },
			want: []string{" belongs to user 61234, and you are user 0", "unset MIDDLEMAN_HOME", "su -"}},
		{name: "another's runtime directory", root: true,
			spoil: func(p *trap) error {
				return errors.Join(os.Rename(filepath.Join(p.home, "run"), filepath.Join(p.home, "middleman")), p.give(p.home))
			},
			env:  func(p *trap, own string) []string { return []string{"HOME=" + own, "XDG_RUNTIME_DIR=" + p.home} },
			want: []string{" belongs to user 61234, and you are user 0", "unset XDG_RUNTIME_DIR", "su -"}},
		{name: "sudo without -H", root: true,
			spoil: func(p *trap) error {
				share := filepath.Join(p.home, ".local/share")
				return errors.Join(os.MkdirAll(share, 0o700), os.Rename(filepath.Join(p.home, "data"), filepath.Join(share, "middleman")), p.give(p.home))
			},
			env:  func(p *trap, _ string) []string { return []string{"HOME=" + p.home} },
			want: []string{" belongs to user 61234, and you are user 0", "HOME points there"}},
		{name: "a home that anybody can write", spoil: func(p *trap) error { return os.Chmod(p.home, 0o777) },
			want: []string{" is writable by others (mode 0777)", "run: chmod go-w "}},
		{name: "data of a group", spoil: func(p *trap) error { return os.Chmod(filepath.Join(p.home, "data"), 0o720) },
			want: []string{"/data is writable by others (mode 0720)", "run: chmod go-w "}},
		{name: "a runtime directory that anybody can write", spoil: func(p *trap) error { return os.Chmod(filepath.Join(p.home, "run"), 0o702) },
			want: []string{"/run is writable by others (mode 0702)", "run: chmod go-w "}},
		{name: "a link", spoil: func(p *trap) error {
			return errors.Join(os.Rename(filepath.Join(p.home, "data"), filepath.Join(p.home, "x")), os.Symlink("x", filepath.Join(p.home, "data")))
		}, want: []string{"/data is a symbolic link"}},
		{name: "settings that anybody can write", spoil: func(p *trap) error { return os.Chmod(filepath.Join(p.home, "config"), 0o777) },
			want: []string{"/config is writable by others (mode 0777)"}},
		{name: "another's home for git", root: true, spoil: (*trap).plantGit,
			env:  func(p *trap, own string) []string { return []string{"MIDDLEMAN_HOME=" + own, "HOME=" + p.home} },
			want: []string{" belongs to user 61234, and you are user 0", "HOME points there"}},
		{name: "another's settings of git", root: true, spoil: (*trap).plantGit,
			env: func(p *trap, own string) []string {
				return []string{"MIDDLEMAN_HOME=" + own, "HOME=" + own, "XDG_CONFIG_HOME=" + p.home}
			},
			want: []string{" belongs to user 61234, and you are user 0", "unset XDG_CONFIG_HOME"}},
		{name: "another's file of git", root: true, spoil: (*trap).plantGit,
			env: func(p *trap, own string) []string {
				return []string{"MIDDLEMAN_HOME=" + own, "HOME=" + own, "GIT_CONFIG_GLOBAL=" + filepath.Join(p.home, ".gitconfig")}
			},
			want: []string{" belongs to user 61234, and you are user 0", "unset GIT_CONFIG_GLOBAL"}},
		{name: "another's file that git's settings include", root: true, spoil: (*trap).includeGit,
			env:  func(p *trap, own string) []string { return []string{"MIDDLEMAN_HOME=" + own, "HOME=" + p.home} },
			want: []string{" belongs to user 61234, and you are user 0", "/.gitconfig includes it"}},
		{name: "a file of git that anybody can write", spoil: func(p *trap) error {
			path := filepath.Join(p.home, ".gitconfig")
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666))
		}, env: func(p *trap, own string) []string { return []string{"MIDDLEMAN_HOME=" + own, "HOME=" + p.home} },
			want: []string{"/.gitconfig is writable by others (mode 0666)", "run: chmod go-w "}},
		{name: "a home that is where git runs", spoil: func(*trap) error { return nil },
			env:  func(_ *trap, own string) []string { return []string{"MIDDLEMAN_HOME=" + own, "HOME=."} },
			want: []string{`HOME is "."`, "must be an absolute path"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root {
				testenv.NeedRoot(t, "give files to another user")
			}
			p := setTrap(t)
			env := []string{"MIDDLEMAN_HOME=" + p.home}
			if tt.env != nil {
				env = tt.env(p, testenv.ShortDir(t))
			}
			if err := tt.spoil(p); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"ls"}, {"ls", "--sessions", "--all"}, {"show", p.owned}, {"capture", p.tmx}, {"capture", p.owned}, {"send", p.tmx, "secret"},
				{"send", p.owned, "secret"}, {"attach", p.owned}, {"watch", p.tmx}, {"logs", p.owned}, {"wait", p.owned, "--exit"},
				{"stop", p.tmx}, {"search", "x"}, {"export", p.owned}, {"new", "-d", "x", "--", "true"}, {"run", "x", "-d", "--", "true"},
				{"rm", "x"}, {"restore", "x"}, {"retry", "x"}, {"prune"}, {"upgrade"}, {"serve", "--listen", "127.0.0.1:0"}, {"open"},
				{"doctor"}, {"trust"},
			} {
				stdout, stderr, code := runIn(t, env, args...)
				if code != 1 {
					t.Errorf("%v: exit code %d\n%s%s", args, code, stdout, stderr)
				}
				if args[0] == "doctor" {
					stderr = stdout
				} else if stdout != "" || strings.Count(stderr, "\n") != 1 {
					t.Errorf("%v printed %q and %q", args, stdout, stderr)
				}
				for _, want := range tt.want {
					if !strings.Contains(stderr, want) {
						t.Errorf("%v: %q, want %q", args, stderr, want)
					}
				}
			}
			if stdout, stderr, code := runIn(t, env, "version"); code != 0 {
				t.Errorf("version: exit code %d\n%s%s", code, stdout, stderr)
			}
			if caught := p.sprung(); caught != "" {
				t.Errorf("the trap has caught %s", caught)
			}
		})
	}
}

// The trap works: from a home that is in order, what it holds is asked and run.
func TestTrapCatches(t *testing.T) {
	p := setTrap(t)
	for _, l := range []string{"run/middleman.sock", "run/serve.json"} {
		if err := os.Remove(filepath.Join(p.home, l)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{p.owned, p.tmx} {
		runIn(t, []string{"MIDDLEMAN_HOME=" + p.home}, "capture", id)
		want, caught := "a connection to "+filepath.Join(p.home, "data/sessions", id, "owner.sock"), []string{}
		for said := p.sprung(); said != ""; said = p.sprung() {
			caught = append(caught, said)
		}
		if !slices.Contains(caught, want) {
			t.Errorf("a capture of %s: caught %q, want %q", id, caught, want)
		}
	}
	if ok, err := condition("tmux"); err != nil || !ok {
		t.Skip("tmux is not installed: apt-get install tmux", err)
	}
	o := ordinary(t) // with the same program and settings, and nothing that listens
	for name, from := range map[string]string{
		"tmux":             filepath.Join(filepath.Dir(p.ran), "tmux"),
		"config/tmux.conf": filepath.Join(p.home, "config/tmux.conf"),
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		cmd := o.shell(`umask 077; mkdir -p "${0%/*}"; cat >"$0"; chmod u+x "$0"`, filepath.Join(o.home, name))
		cmd.Stdin = strings.NewReader(strings.ReplaceAll(string(text), filepath.Dir(p.ran), o.home))
		o.must(cmd)
	}
	o.must(o.command("serve", "--background", "--listen", "127.0.0.1:0"))
	o.must(o.command("new", "-d", "--mode", "directory", "--backend", "tmux", "x", "--", "sleep", "1000"))
	ran := filepath.Join(o.home, filepath.Base(p.ran))
	if err := waitFor("the program that the settings name", patience, func() bool { return isFile(ran) }); err != nil {
		t.Error(err)
	}
}
