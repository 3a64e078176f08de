package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/testenv"
)

// seedName is the variable with the seed of TestAnyInput; without it that is 1.
const seedName = "MIDDLEMAN_INPUT_SEED"

// inputs is a home with a server, in which the real command line is given input
// of all kinds.
type inputs struct {
	t       *testing.T
	home    string
	work    string // directories and repositories
	binary  string
	session string // an id
	id      string // a workspace's
}

// newInputs makes a home with a workspace of each kind.
func newInputs(t *testing.T) *inputs {
	in := &inputs{t: t, home: testenv.ShortDir(t), work: t.TempDir()}
	var err error
	if in.binary, err = exec.LookPath("middleman"); err != nil { // TestMain has put this very binary there
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(in.work, "closed"), 0o700)
		if log, err := os.ReadFile(filepath.Join(in.home, "data", "server.log")); err == nil && t.Failed() {
			t.Logf("the end of server.log:\n%s", log[max(0, len(log)-16<<10):])
		}
		if pid := serverPID(in.home); pid != 0 {
			_ = endProcess(pid) // it may have ended
		}
		// There may be many sessions: they are not asked to end.
		_ = waitFor("end of all", patience, func() bool {
			killAll(processesOf(in.home))
			return len(processesOf(in.home)) == 0
		})
	})
	in.shell(`
		mkdir user plain away closed && touch file closed/file && mkfifo fifo && ln -s nowhere dangling && ln -s loop loop
		for r in repo moving broken; do
			git init -qb main $r && echo a >$r/a.txt && git -C $r add . && git -C $r commit -qm first
		done
		git -C repo worktree add -q -b mine/feature ../imported
		printf 'setup = ["exit 3"]\n' >broken/.middleman.toml
		git -C broken add . && git -C broken commit -qm setup
		chmod 000 closed`)
	setup := sha256.Sum256([]byte("setup = [\"exit 3\"]\n"))
	for _, step := range []struct {
		dir  string
		code int
		args []string
	}{
		{"repo", 0, []string{"new", "w", "-d", "--backend", "pty-owner", "--", "sh", "-c", "stty raw -echo; exec cat"}},
		{"repo", 0, []string{"new", "gone", "-d", "--no-session"}},
		{"repo", 0, []string{"rm", "gone"}},
		{"repo", 0, []string{"new", "plain", "-d", "--no-session", "--mode", "directory"}},
		{"repo", 0, []string{"import", "../imported"}},
		{"moving", 0, []string{"new", "moved", "-d", "--no-session"}},
		{"broken", 0, []string{"trust", "--yes", hex.EncodeToString(setup[:])}},
		{"broken", 1, []string{"new", "failed", "-d"}},
	} {
		if r := in.run(step.dir, time.Minute, step.args); r.code != step.code {
			t.Fatalf("middleman %q: %+v", step.args, r)
		}
	}
	in.shell("mv moving moved")
	in.remember()
	return in
}

// remember looks up the ids of what is there.
func (in *inputs) remember() {
	r := in.run("repo", time.Minute, []string{"show", "w", "--json"})
	var shown api.Shown
	if err := json.Unmarshal([]byte(r.out), &shown); err != nil || len(shown.Sessions) == 0 {
		in.t.Fatalf("show w: %v, %+v", err, r)
	}
	in.id, in.session = shown.Workspace.ID, shown.Sessions[0].ID
}

// environ is the environment of a command.
func (in *inputs) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(in.work, "user"), "SHELL=/bin/sh", "TERM=xterm-256color", "LC_ALL=C.UTF-8",
		"MIDDLEMAN_HOME=" + in.home, "LC_MIDDLEMAN_TEST=" + in.home, "TMPDIR=" + in.home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=n@example.org", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=n@example.org",
	}
}

func (in *inputs) shell(script string) {
	in.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = in.work, in.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		in.t.Fatalf("%v\n%s", err, out)
	}
}

// result is what a command printed, and how it ended.
type result struct {
	code      int
	out, errs string
	hangs     bool // it went on after an interrupt
}

// run runs a command in a directory of in.work, or in one that is removed if dir
// is "removed", and interrupts it after limit.
func (in *inputs) run(dir string, limit time.Duration, args []string) result {
	in.t.Helper()
	cmd := exec.Command(in.binary, args...)
	cmd.Dir = filepath.Join(in.work, dir)
	if dir == "removed" {
		cmd = exec.Command("sh", append([]string{"-c", `mkdir removed; cd removed; rmdir ../removed; exec "$0" "$@"`, in.binary}, args...)...)
		cmd.Dir = in.work
	}
	cmd.Env = in.environ()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 20 * time.Second // a server in the background may have the pipe
	if err := cmd.Start(); err != nil {
		in.t.Fatalf("middleman %.200q: %v", args, err)
	}
	var interrupted, hangs bool
	stop := time.AfterFunc(limit, func() {
		interrupted = true
		_ = cmd.Process.Signal(os.Interrupt)
	})
	kill := time.AfterFunc(limit+patience, func() {
		hangs = true
		_ = cmd.Process.Kill()
	})
	err := cmd.Wait()
	stopped, killed := stop.Stop(), kill.Stop()
	r := result{code: cmd.ProcessState.ExitCode(), out: out.String(), errs: errs.String()}
	r.hangs = !killed && hangs
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && !stopped && interrupted && status.Signaled() && status.Signal() == unix.SIGINT {
		r.code = 130 // as a shell reports it
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) && r.code == 0 {
		in.t.Fatalf("middleman %.200q: %v", args, err)
	}
	return r
}

// rawErrors is the text of errors that were not turned into words for a user, and
// of faults.
var rawErrors = []string{
	"internal error", "panic", "goroutine ", "runtime error", "nil pointer", "<nil>", "%!",
	"invalid character", "end of JSON", "json:", "sql:", "SQL logic", "constraint failed", "strconv.", "invalid syntax",
	"context deadline exceeded", "context canceled", "/api/v1", "unexpected EOF",
}

// maxErrors is how many bytes an error may have, however long the input is.
const maxErrors = 16 << 10

// complaint says what is wrong with how a command answered, or "".
func (r result) complaint(command string) string {
	if r.hangs {
		return "it does not end when it is interrupted"
	}
	own := slices.Contains([]string{"attach", "run", "wait", "new", "spawn"}, command) // ends as the program does
	if !slices.Contains([]int{0, 1, 2, 124, 130, 254, 255}, r.code) && (!own || r.code < 0) {
		return fmt.Sprintf("exit code %d", r.code)
	}
	for _, raw := range rawErrors {
		if strings.Contains(r.errs, raw) {
			return fmt.Sprintf("it says %q", raw)
		}
	}
	errs := "\n" + r.errs
	says := strings.Contains(errs, "\nmiddleman: ") || strings.Contains(errs, "\n{\"problem\":{") && strings.Contains(errs, `"detail":"`)
	if (r.code == 1 || r.code == 2) && !own && !says {
		return "it does not say why it failed"
	}
	if len(r.errs) > maxErrors {
		return fmt.Sprintf("%d bytes on standard error", len(r.errs))
	}
	if !utf8.ValidString(r.errs) {
		return "standard error is not UTF-8"
	}
	if i := strings.IndexFunc(r.errs, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }); i >= 0 {
		return fmt.Sprintf("a control character at byte %d of standard error", i)
	}
	return ""
}

func (in *inputs) check(dir string, limit time.Duration, args []string, what string) result {
	in.t.Helper()
	r := in.run(dir, limit, args)
	if wrong := r.complaint(args[0]); wrong != "" {
		in.t.Errorf("%sin %s: middleman %.300q: %s\nexit code %d\n%.1000s", what, dir, args, wrong, r.code, r.errs)
	}
	return r
}

// Ordinary mistakes have an error that says what was wrong.
func TestMistakes(t *testing.T) {
	in := newInputs(t)
	long := strings.Repeat("x", 100_000)
	for _, tt := range []struct {
		args string // at blanks; LONG, SESSION and EMPTY are replaced
		code int
		want string
	}{
		{"import /nonexistent", 1, "/nonexistent: there is no such directory"},
		{"import ../file", 1, "/file: not a directory"},
		{"import ../file/x", 1, "/file/x: look at the directory: not a directory"},
		{"import ../loop", 1, "too many levels of symbolic links"},
		{"import ../dangling", 1, "there is no such directory"},
		{"import ../fifo", 1, "not a directory"},
		{"import /LONG", 1, "file name too long"},
		{"import ../plain", 1, "not a git repository"},
		{"diff moved", 1, "middleman repair moved in its new place"},
		{"diff moved --stat", 1, "middleman repair moved in its new place"},
		{"diff moved --commits", 1, "middleman repair moved in its new place"},
		{"diff moved --conflicts", 1, "middleman repair moved in its new place"},
		{"diff plain", 1, "not a git repository"},
		{"diff failed", 1, "workspace failed is failed"},
		{"diff -C ../plain", 2, "-C"},
		{"diff w --max x", 2, `--max is "x": it must be a whole number`},
		{"diff w --stat=x", 2, `--stat is "x": it must be true or false`},
		{"diff w --against LONG", 1, "against"},
		{"new x -d -C /nonexistent", 1, "there is no such directory"},
		{"new x -d -C ../file/x", 1, "not a directory"},
		{"new x -d --base LONG", 1, "base"},
		{"new LONG -d", 1, "name"},
		{"trust -C /nonexistent", 1, "there is no such directory"},
		{"trust -C ../file", 1, "not a directory"},
		{"trust moved", 1, "nothing to agree to"},
		{"repair moved --repository /nonexistent", 1, "there is no such directory"},
		{"repair moved --repository ../plain", 1, "not a git repository"},
		{"restore nothing", 1, "nothing"},
		{"show SESSION/x", 1, `there is no workspace "SESSION"`},
		{"capture s0123456789abcdef", 1, "s0123456789abcdef"},
		{"export w -o /nonexistent/x", 1, "/nonexistent/x"},
		{"export w -o ..", 1, ".."},
		{"export w -o ../file/x", 1, "/x"},
		{"search [ --regex", 2, "["},
		{"wait w --regex [", 2, "["},
		{"token create t --session nothing --scope session", 1, "nothing"},
		{"token revoke nothing", 1, "nothing"},
		{"token revoke ..", 1, `there is no token ".."`},
		{"token rotate EMPTY", 1, `there is no token ""`},
		{"login revoke .", 1, `there is no login "."`},
		{"login revoke EMPTY", 1, `there is no login ""`},
		{"logs w --from 99999999999999999999", 2, "--from"},
		{"send nothing x", 1, "nothing"},
	} {
		replace := strings.NewReplacer("LONG", long, "SESSION", in.session, "EMPTY", "")
		args := strings.Fields(tt.args)
		for i := range args {
			args[i] = replace.Replace(args[i])
		}
		r := in.check("repo", 2*patience, args, "")
		r.errs = progressLine().ReplaceAllString(r.errs, "") // shown where it takes long
		if r.code != tt.code || !strings.Contains(r.errs, replace.Replace(tt.want)) || strings.Count(r.errs, "\n") != 1 {
			t.Errorf("middleman %s: exit code %d, want %d and one line with %q:\n%.1000s", tt.args, r.code, tt.code, tt.want, r.errs)
		}
	}
	if r := in.check("removed", 2*patience, []string{"diff"}, ""); r.code == 0 {
		t.Errorf("in a directory that is gone: %+v", r)
	}
}

// spared are the commands that TestAnyInput leaves out: they change what is
// outside of the home.
var spared = []string{"service"}

// No input ends in an internal error, a panic, a raw error or a control character:
// commands and flags are those of the command tree, their values hostile.
func TestAnyInput(t *testing.T) {
	limit, seed := 20*time.Second, uint64(1)
	switch {
	case os.Getenv("MIDDLEMAN_LONG") == "1":
		limit = 5 * time.Minute
	case testing.Short():
		limit = 5 * time.Second
	}
	if text := os.Getenv(seedName); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedName, err)
		}
	}
	in := newInputs(t)
	var tree []leaf
	for _, group := range commands(cli.New(os.Stdin, os.Stdout, os.Stderr), nil) {
		tree = append(tree, leaves(nil, group.Commands)...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	n, codes := uint64(0), map[int]int{}
	for ; ctx.Err() == nil; n++ {
		if n%50 == 0 {
			in.again()
		}
		g := &guess{rand.New(rand.NewPCG(seed, n)), in}
		dir, args := g.command(tree[g.IntN(len(tree))])
		limit := 5 * time.Second
		if mayWait(args) {
			limit = 300 * time.Millisecond
		}
		codes[in.check(dir, limit, args, fmt.Sprintf("input %d of seed %d, ", n, seed)).code]++
	}
	if r := in.run("repo", time.Minute, []string{"ls"}); r.code != 0 {
		t.Errorf("after all that: ls: %+v", r)
	}
	log, err := os.ReadFile(filepath.Join(in.home, "data", "server.log"))
	if err != nil || bytes.Contains(log, []byte("panic")) {
		t.Errorf("the server's log has a panic, or %v", err)
	}
	t.Logf("%d inputs of seed %d; how often which exit code: %v", n, seed, codes)
}

// again makes the workspace w again if an input has removed it.
func (in *inputs) again() {
	if r := in.run("repo", time.Minute, []string{"send", "w/sh", "x"}); r.code == 0 {
		return
	}
	for _, args := range [][]string{
		{"rm", "w", "--discard-work", "--stop-sessions", "--skip-teardown"},
		{"new", "w", "-d", "--backend", "pty-owner", "--", "sh", "-c", "stty raw -echo; exec cat"},
	} {
		in.run("repo", time.Minute, args)
	}
	in.remember()
}

// mayWait reports whether a command may wait for something by design.
func mayWait(args []string) bool {
	return slices.Contains([]string{"wait", "watch", "serve", "attach"}, args[0]) ||
		slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--follow") || arg == "-f" })
}

// leaf is a command that does something, with the names that lead to it.
type leaf struct {
	path  []string
	flags []*pflag.Flag
}

func leaves(path []string, all []*cobra.Command) (list []leaf) {
	for _, cmd := range all {
		if slices.Contains(spared, cmd.Name()) {
			continue
		}
		l := leaf{path: append(slices.Clone(path), cmd.Name())}
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) { l.flags = append(l.flags, f) })
		list = append(append(list, l), leaves(l.path, cmd.Commands())...)
	}
	return list
}

// guess makes up one input.
type guess struct {
	*rand.Rand
	in *inputs
}

// command returns a command line for l, and the directory to run it in.
func (g *guess) command(l leaf) (dir string, args []string) {
	args = slices.Clone(l.path)
	for range g.IntN(3) {
		args = append(args, g.value())
	}
	for range g.IntN(4) {
		if len(l.flags) > 0 {
			args = append(args, g.flag(l.flags[g.IntN(len(l.flags))])...)
		}
	}
	if g.IntN(4) == 0 {
		args = append(args, "--json")
	}
	if g.IntN(4) == 0 {
		args = append(args, "--")
		for range g.IntN(3) {
			args = append(args, g.value())
		}
	}
	return g.of("repo", "repo", "plain", "away", "moved", "imported", "removed"), args
}

func (g *guess) flag(f *pflag.Flag) []string {
	name := "--" + f.Name
	if f.Shorthand != "" && g.IntN(2) == 0 {
		name = "-" + f.Shorthand
	}
	switch value := g.value(); {
	case f.Value.Type() == "bool" && g.IntN(8) > 0:
		return []string{name}
	case g.IntN(2) == 0 || f.Value.Type() == "bool":
		return []string{name + "=" + value}
	default:
		return []string{name, value}
	}
}

func (g *guess) of(list ...string) string { return list[g.IntN(len(list))] }

// value returns one that a user could mean, or a hostile one.
func (g *guess) value() string {
	at := func(name string) string { return filepath.Join(g.in.work, name) }
	switch g.IntN(3) {
	case 0:
		return g.of("w", "w", "w", "w/sh", "gone", "plain", "moved", "failed", "mine-feature", "nothing", g.in.session, g.in.id,
			"s0123456789abcdef", "w0123456789abcdef", "w@nowhere", "box:w", "w/", "/w", "w/sh/x", "-")
	case 1:
		return g.of("", ".", "..", "/", "../repo", "../..", at("file"), at("file")+"/x", at("closed"), at("closed/file"), at("fifo"), at("dangling"),
			at("loop"), at("plain"), at("moved"), at("nothing/at/all"), "/nonexistent", "~", "/"+strings.Repeat("x/", 3000), "/"+strings.Repeat("x", 300))
	}
	return g.of("", " ", "--", "-x", "0", "1", "-1", "007", "99999999999999999999", "1e9", "NaN", "0x10", "5m", "-5m", "0s", "1ns", "9999999h", "30d", "14:05",
		"2026-13-40T99:99:99Z", "2199-01-01T00:00:00Z", "text", "ansi", "json", "base", "upstream", "head", "worktree", "shared", "directory", "in-place",
		"tmux", "pty-owner", "auto", "none", "strict", "full", "read", "session", "main", "HEAD", "HEAD~999", "refs/heads/main", "pr:99", "pr:x", "mr:1", "a..b",
		"@{u}", "^", "*", "[", "(", "(?P<", `\`, "%s%n%d", "${HOME}", "$(id)", "127.0.0.1:0", "[::1]:99999", ":", "true", "false", "a=b", "é", "\u202e", "a\tb",
		"line\nbreak", "\x1b[31mred\x07", "\x7f", "\u009b1m", "\xff\xfe", "\xc3", "\x1b]0;title\x1b\\", strings.Repeat("y", 300), strings.Repeat("z", 100_000))
}
