package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"middleman/internal/contain"
	"middleman/internal/plaintext"
)

const (
	lookTime   = 2 * time.Minute  // for a git command that only looks
	changeTime = 30 * time.Minute // for one that writes; a checkout may be large
	stopTime   = 5 * time.Second  // from SIGTERM to SIGKILL
	maxOutput  = 1 << 20          // of a command whose output is collected
	maxRecord  = 64 << 10         // of one record

	maxTries = 10
	tryPause = 10 * time.Millisecond // after the first try; longer after each
)

// pinned is the configuration that every git command runs with, so that
// nothing of a repository runs with it. What stays possible are the smudge
// filters that the user's own configuration defines; .gitattributes, which is
// the repository's, can only name one.
var pinned = []string{
	"core.hooksPath=" + os.DevNull,
	"core.fsmonitor=false",
	"core.untrackedCache=false",
	"core.ignoreStat=false", // or changed files would not be looked at
	"core.pager=cat",
	"core.filesRefLockTimeout=5000", // ms; another git may hold a ref, and the default 100 is short on a busy machine
	"core.packedRefsTimeout=5000",
	"submodule.recurse=false",
	"safe.bareRepository=explicit",
	"protocol.ext.allow=never",
	"log.showSignature=false", // it runs gpg.program
	"gc.auto=0",
	"maintenance.auto=false",
	"advice.detachedHead=false",
	"advice.graftFileDeprecated=false",
}

// kept are the GIT_ variables that reach git; the others would aim it
// elsewhere than at what we name.
var kept = []string{
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH",
	"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_SSH", "GIT_SSH_COMMAND",
}

// gitDirs is a repository, and maybe a checkout of it, that a git command is
// aimed at without any discovery.
type gitDirs struct {
	gitDir    string // the checkout's own
	commonDir string // the repository's; the same but in a linked worktree
	workTree  string // "" for a command that needs none
	index     string // "" is the checkout's own
}

func (p gitDirs) env() []string {
	env := []string{"GIT_DIR=" + p.gitDir, "GIT_COMMON_DIR=" + p.commonDir}
	if p.workTree != "" {
		env = append(env, "GIT_WORK_TREE="+p.workTree)
	}
	if p.index != "" {
		env = append(env, "GIT_INDEX_FILE="+p.index)
	}
	return env
}

// command is one run of git.
type command struct {
	dir      string
	env      []string          // beside the user's, see place
	config   map[string]string // beside pinned
	settings []configured      // after config, in their order
	args     []string
	change   bool                // it may write, and take long
	each     func(record string) // takes the records of the output, NUL-ended; nil collects it
	again    func()              // has each begin anew, where git is run again; nil where it cannot
	lines    bool                // records are lines instead
	stdin    io.Reader           // nil is empty
	limit    time.Duration       // instead of lookTime
	patience time.Duration       // for who takes the output, once git has ended
	boxed    bool                // in a box, where there is one, see box
	writable string              // the one directory that a boxed one may write to
	shown    []string            // what a boxed one must see, wherever it lies
	thrifty  bool                // with bounded memory, see withinMemory
	output   io.Writer           // takes the output as it is, instead of each
	errors   io.Writer           // takes what it says on standard error, too
	holds    *os.File            // is open in git and all that it starts, see holdEntry
}

// look is a command at p that only reads.
func (p gitDirs) look(args ...string) command {
	dir := p.workTree
	if dir == "" {
		dir = p.gitDir
	}
	// No protocol is called "none": a partial clone must not fetch what it lacks.
	// Replacements and grafts would show another history than the one that is
	// stored: commits of a workspace could be hidden behind them.
	env := append(p.env(), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE="+os.DevNull)
	return command{dir: dir, env: env, args: args}
}

// alter is a command at p that writes.
func (p gitDirs) alter(args ...string) command {
	return command{dir: p.gitDir, env: p.env(), args: args, change: true}
}

// GitError is a git command that failed.
type GitError struct {
	Args   []string
	Dir    string
	Code   int    // exit status, or -1
	Stderr string // the line that says why
	Err    error
}

// errSilent is of a git that ends well and has not answered: it is no git, or
// one that somebody has put another in the place of.
var errSilent = errors.New("git answered nothing; is the git that is found first in PATH one?")

// silent is the error of c where what every answer has was not in it.
func (c command) silent() error {
	return &GitError{Args: c.args, Dir: c.dir, Code: -1, Err: errSilent}
}

// odd is the error of c where its answer is not one.
func (c command) odd(answer string) error {
	if answer == "" {
		return c.silent()
	}
	const most = 200
	if len(answer) > most {
		answer = answer[:most]
	}
	return &GitError{Args: c.args, Dir: c.dir, Code: -1, Err: fmt.Errorf("git answered %q, which is no answer to that", answer)}
}

// Error is one line.
func (e *GitError) Error() string {
	why := e.Stderr
	if why == "" || e.Code < 0 {
		why = strings.TrimSpace(why + " " + e.Err.Error())
	}
	return fmt.Sprintf("git %s in %s: %s", strings.Join(e.Args, " "), e.Dir, why)
}

// Unwrap gives the cause: an *exec.ExitError or a context's error.
func (e *GitError) Unwrap() error { return e.Err }

// exitCode is git's exit status where err is a GitError, else -1.
func exitCode(err error) int {
	if failed, ok := errors.AsType[*GitError](err); ok {
		return failed.Code
	}
	return -1
}

// line runs c and returns its output without the last newline.
func (c command) line(ctx context.Context) (string, error) {
	out, err := c.run(ctx)
	return strings.TrimSuffix(out, "\n"), err
}

// run runs c to its end, again where git met another git that was just making
// or removing a worktree or a branch: it lists all of them before it does
// anything with one, and gives up at one that is not whole, or gone.
func (c command) run(ctx context.Context) (string, error) {
	taken := false
	if each := c.each; each != nil {
		c.each = func(record string) { taken = true; each(record) }
	}
	for try := 1; ; try++ {
		out, err := c.once(ctx)
		if try == maxTries || !metChange(err) || taken && c.again == nil {
			return out, err
		}
		if taken {
			c.again()
			taken = false
		}
		select {
		case <-time.After(time.Duration(try) * tryPause):
		case <-ctx.Done():
			return out, err
		}
	}
}

// metChange reports whether git gave up on the entry of a worktree, or on a ref,
// that somebody else may be making or removing at the moment.
func metChange(err error) bool {
	failed, ok := errors.AsType[*GitError](err)
	if !ok {
		return false
	}
	unread := strings.HasPrefix(failed.Stderr, "failed to read ") || strings.HasPrefix(failed.Stderr, "Invalid path ")
	if unread && strings.Contains(failed.Stderr, "/worktrees/") {
		return true
	}
	// What was named by its hash is not going to be there.
	name, bad := strings.CutPrefix(failed.Stderr, "bad object ")
	return bad && strings.Trim(name, "0123456789abcdef") != ""
}

// once runs c in a process group of its own. Where ctx ends first, or the time
// is up, the whole group is stopped: git removes its lock files on SIGTERM.
func (c command) once(ctx context.Context) (string, error) {
	limit := lookTime
	if c.change {
		limit = changeTime
	}
	if c.limit > 0 {
		limit = c.limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	args := []string{"--no-pager"}
	for _, setting := range pinned {
		args = append(args, "-c", setting)
	}
	argv := append([]string{"git"}, append(args, c.args...)...)
	if c.thrifty {
		argv = withinMemory(argv)
	}
	if c.boxed {
		argv = box(argv, c.writable, c.shown)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = slices.Concat(userEnv(), c.env, configEnv(c.config, c.settings))
	ownGroup(cmd)
	cmd.WaitDelay = max(stopTime, c.patience)
	collected := &collector{}
	records := &splitter{each: c.each}
	if c.lines {
		records.end = '\n'
	}
	cmd.Stdout = collected
	if c.each != nil {
		cmd.Stdout = records
	}
	if c.output != nil {
		cmd.Stdout = c.output
	}
	cmd.Stdin = c.stdin
	stderr := &tail{also: c.errors}
	cmd.Stderr = stderr
	if c.holds != nil {
		cmd.ExtraFiles = []*os.File{c.holds}
	}
	stop := c.watched(ctx, end)
	err := cmd.Run()
	stop()
	if stderr.failed != nil {
		err = stderr.failed // git's own end is of no interest then
	}
	if ctx.Err() != nil {
		killGroup(cmd)
		err = context.Cause(ctx)
	}
	if err == nil && len(records.rest) > 0 {
		err = errors.New("output ends within a record")
	}
	if errors.Is(err, ErrHeldUp) {
		return "", fmt.Errorf("git %s: %w", c.args[0], err)
	}
	if err != nil {
		return "", &GitError{Args: c.args, Dir: c.dir, Code: codeOf(cmd, err), Stderr: stderr.reason(), Err: err}
	}
	return collected.String(), nil
}

// codeOf is the exit status, or -1 where err is not about one.
func codeOf(cmd *exec.Cmd, err error) int {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return cmd.ProcessState.ExitCode()
	}
	return -1
}

// userEnv is our environment without what would redirect git, and with
// messages that can be read by a program.
func userEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if name != "LANGUAGE" && name != "LC_ALL" && (!strings.HasPrefix(name, "GIT_") || slices.Contains(kept, name)) {
			env = append(env, pair)
		}
	}
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_EDITOR=:")
}

// configEnv is settings for git. A key can hold anything there, "=" too,
// which it cannot after -c.
func configEnv(config map[string]string, settings []configured) []string {
	all := make([]configured, 0, len(config)+len(settings))
	for key, value := range config {
		all = append(all, configured{key, value})
	}
	all = append(all, settings...)
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(all))}
	for n, s := range all {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s.value))
	}
	return env
}

// collector keeps the output of a command that prints little.
type collector struct{ bytes.Buffer }

func (c *collector) Write(p []byte) (int, error) {
	if c.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("more than %d bytes of output", maxOutput)
	}
	return c.Buffer.Write(p)
}

// splitter hands on the records that end ends.
type splitter struct {
	each func(record string)
	end  byte
	rest []byte
}

func (s *splitter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		head, tail, ended := bytes.Cut(rest, []byte{s.end})
		if len(s.rest)+len(head) > maxRecord {
			return 0, fmt.Errorf("a record of more than %d bytes", maxRecord)
		}
		s.rest = append(s.rest, head...)
		if ended {
			// This is a goroutine of os/exec's: a panic here would be nobody's.
			if err := contain.Call(func() error { s.each(string(s.rest)); return nil }); err != nil {
				return 0, err
			}
			s.rest = s.rest[:0]
		}
		rest = tail
	}
	return len(p), nil
}

// tail keeps the end of what git says on standard error.
type tail struct {
	kept   []byte
	also   io.Writer // nil, or takes all of it
	failed error     // of also
}

func (t *tail) Write(p []byte) (int, error) {
	if t.also != nil {
		// This is a goroutine of os/exec's: a panic here would be nobody's.
		if t.failed = contain.Call(func() error { _, err := t.also.Write(p); return err }); t.failed != nil {
			return 0, t.failed
		}
	}
	const most = 8 << 10
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// reason is the last line that git marked as one, else the last line.
func (t *tail) reason() string {
	var last, marked string
	for line := range strings.Lines(string(t.kept)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		last = line
		for _, mark := range []string{"fatal: ", "error: "} {
			if why, ok := strings.CutPrefix(line, mark); ok {
				marked = why
			}
		}
	}
	if marked == "" {
		marked = last
	}
	return plaintext.Quoted(marked)
}
