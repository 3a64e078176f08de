package git

import (
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
)

const (
	lookTime   = 2 * time.Minute  // for a git command that only looks
	ChangeTime = 30 * time.Minute // for one that writes; a checkout may be large
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

// Dirs are the directories of a repository, and maybe of a checkout of it. A
// command that is given them searches for none.
type Dirs struct {
	GitDir    string // the checkout's own
	CommonDir string // the repository's; the same but in a linked worktree
	WorkTree  string // the top of the checkout; "" for a command that needs none
	Index     string // a file to use instead of the checkout's own index; or ""
}

func (p Dirs) env() []string {
	env := []string{"GIT_DIR=" + p.GitDir, "GIT_COMMON_DIR=" + p.CommonDir}
	if p.WorkTree != "" {
		env = append(env, "GIT_WORK_TREE="+p.WorkTree)
	}
	if p.Index != "" {
		env = append(env, "GIT_INDEX_FILE="+p.Index)
	}
	return env
}

// Command is one run of git. It is a value: who has one may change a copy.
type Command struct {
	Dir    string
	Args   []string
	Env    []string          // added to the user's environment, of which userEnv keeps what is safe
	Config map[string]string // added to the settings that every command has, see pinned
	Stdin  io.Reader         // nil is empty

	// Each is called with each record of the output, from another goroutine,
	// before Run returns. A record ends with a NUL, or with Lines at a line feed.
	Each  func(record string)
	Lines bool
	// Again is called before git is run again after it failed halfway: records
	// that Each has had will come once more. Nil: then it is not run again.
	Again func()
	// Output takes the output as it is, where Each is nil. Where both are nil Run
	// returns the output, which may have 1 MiB.
	Output io.Writer
	Errors io.Writer // takes a copy of standard error; may be nil

	Change   bool          // it may write: it has ChangeTime instead of two minutes
	Limit    time.Duration // instead of either; 0 is none of its own
	Patience time.Duration // how long Output may take once git has ended; 0 is 5 s
	Holds    *os.File      // stays open in git and in all that git starts, see HoldEntry

	settings []setting // after Config, in their order
	boxed    bool      // confined where that can be, see box
	writable string    // the one directory that a boxed command may write to
	shown    []string  // what a boxed command must see, wherever it lies
	thrifty  bool      // with bounded memory, see withinMemory
}

// Look returns a command that only reads p. It reaches no remote, and sees
// history as it is stored, without replacements and grafts.
func (p Dirs) Look(args ...string) Command {
	dir := p.WorkTree
	if dir == "" {
		dir = p.GitDir
	}
	// No protocol is called "none": a partial clone must not fetch what it lacks.
	// Replacements and grafts could hide commits of a workspace.
	env := append(p.env(), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE="+os.DevNull)
	return Command{Dir: dir, Env: env, Args: args}
}

// Alter returns a command that writes to p.
func (p Dirs) Alter(args ...string) Command {
	return Command{Dir: p.GitDir, Env: p.env(), Args: args, Change: true}
}

// Line is Run without the line feed at the end of the output.
func (c Command) Line(ctx context.Context) (string, error) {
	out, err := c.Run(ctx)
	return strings.TrimSuffix(out, "\n"), err
}

// Run runs git to its end and returns its output, if neither Each nor Output
// takes that. An *Error says why git failed; ErrHeldUp that something in the
// repository kept it waiting. A panic in Each or Errors is an error, too.
//
// Git is run again, up to ten times, where it met another git that was making
// or removing a worktree or a branch: it lists all of them first, and gives up
// at one that is incomplete or gone.
func (c Command) Run(ctx context.Context) (string, error) {
	taken := false
	if each := c.Each; each != nil {
		c.Each = func(record string) { taken = true; each(record) }
	}
	for try := 1; ; try++ {
		out, err := c.Once(ctx)
		if try == maxTries || !metChange(err) || taken && c.Again == nil {
			return out, err
		}
		if taken {
			c.Again()
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
	failed, ok := errors.AsType[*Error](err)
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

// Once is Run without running git again. Git has a process group of its own;
// where ctx ends first, or the time is up, the whole group is stopped by
// SIGTERM, on which git removes its lock files.
func (c Command) Once(ctx context.Context) (string, error) {
	limit := lookTime
	if c.Change {
		limit = ChangeTime
	}
	if c.Limit > 0 {
		limit = c.Limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	argv := c.argv()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = slices.Concat(userEnv(), c.Env, configEnv(c.Config, c.settings))
	ownGroup(cmd)
	cmd.WaitDelay = max(stopTime, c.Patience)
	collected := &collector{}
	records := &splitter{each: c.Each}
	if c.Lines {
		records.end = '\n'
	}
	cmd.Stdout = collected
	if c.Each != nil {
		cmd.Stdout = records
	}
	if c.Output != nil {
		cmd.Stdout = c.Output
	}
	cmd.Stdin = c.Stdin
	stderr := &tail{also: c.Errors}
	cmd.Stderr = stderr
	if c.Holds != nil {
		cmd.ExtraFiles = []*os.File{c.Holds}
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
		return "", fmt.Errorf("git %s: %w", c.Args[0], err)
	}
	if err != nil {
		return "", &Error{Args: c.Args, Dir: c.Dir, Code: codeOf(cmd, err), Stderr: stderr.reason(), Err: err}
	}
	return collected.String(), nil
}

// argv is the command line: git with its pinned settings, within the bounds of
// memory and the box that c asks for.
func (c Command) argv() []string {
	argv := []string{"git", "--no-pager"}
	for _, setting := range pinned {
		argv = append(argv, "-c", setting)
	}
	argv = append(argv, c.Args...)
	if c.thrifty {
		argv = withinMemory(argv)
	}
	if c.boxed {
		argv = box(argv, c.writable, c.shown)
	}
	return argv
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
func configEnv(config map[string]string, settings []setting) []string {
	all := make([]setting, 0, len(config)+len(settings))
	for key, value := range config {
		all = append(all, setting{key, value})
	}
	all = append(all, settings...)
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(all))}
	for n, s := range all {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s.value))
	}
	return env
}
