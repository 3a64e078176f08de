package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"middleman/internal/ownpath"
)

const (
	lookTime   = 2 * time.Minute  // for a command that only reads
	ChangeTime = 30 * time.Minute // for a command that writes; a checkout may be large
	stopTime   = 5 * time.Second  // from SIGTERM to SIGKILL
	maxOutput  = 1 << 20          // bytes, if the output is collected
	maxRecord  = 64 << 10         // bytes of one record

	maxTries = 10
	tryPause = 10 * time.Millisecond // pause after the first try; longer after each further one
)

// pinned is the configuration of every git command. It keeps git from running
// anything that a repository names. The smudge filters of the user's own
// configuration can still run: .gitattributes, which belongs to the repository,
// can only choose one of them.
var pinned = []string{
	"core.hooksPath=" + os.DevNull,
	"core.fsmonitor=false",
	"core.untrackedCache=false",
	"core.ignoreStat=false", // else git would skip files that changed
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

// kept are the GIT_ variables that we pass on to git. The others could point
// git at another repository.
var kept = []string{
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH",
	"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_SSH", "GIT_SSH_COMMAND",
}

// Dirs are the directories of a repository, and of one checkout of it if
// WorkTree is set. A command with Dirs searches for no repository.
type Dirs struct {
	GitDir    string // the git directory of the checkout
	CommonDir string // the repository's; differs from GitDir in a linked worktree only
	WorkTree  string // the top of the checkout; "" for a command that needs none
	Index     string // a file to use instead of the checkout's index; or ""
	Objects   string // a directory for new objects, see Staging; or ""
}

// env names the directories with slashes: git on Windows compares them with its own
// spelling, and takes a git directory in another one for a checkout.
func (p Dirs) env() []string {
	env := []string{"GIT_DIR=" + filepath.ToSlash(p.GitDir), "GIT_COMMON_DIR=" + filepath.ToSlash(p.CommonDir)}
	if p.WorkTree != "" {
		env = append(env, "GIT_WORK_TREE="+filepath.ToSlash(p.WorkTree))
	}
	if p.Index != "" {
		env = append(env, "GIT_INDEX_FILE="+filepath.ToSlash(p.Index))
	}
	if p.Objects != "" {
		env = append(env, "GIT_OBJECT_DIRECTORY="+filepath.ToSlash(p.Objects),
			"GIT_ALTERNATE_OBJECT_DIRECTORIES="+quotedName(filepath.ToSlash(p.objects()))) // a list: a path may have a colon
	}
	return env
}

// Command is one run of git. It is a value: copy it and change the copy.
type Command struct {
	Dir    string
	Args   []string
	Env    []string          // added to the safe part of the user's environment, see userEnv
	Config map[string]string // added to the pinned settings
	Stdin  io.Reader         // nil means empty

	// Each is called for each record of the output, in another goroutine,
	// before Run returns. A record ends with a NUL, or if Lines is set with a
	// line feed.
	Each  func(record string)
	Lines bool
	// Again is called before Run starts git again after it failed halfway. Each
	// then gets its records once more. If Again is nil and Each had a record,
	// Run does not retry.
	Again func()
	// Output takes the raw output if Each is nil. If both are nil Run returns
	// the output, at most 1 MiB.
	Output io.Writer
	Errors io.Writer // takes a copy of standard error; may be nil

	Change   bool          // it may write: its limit is ChangeTime instead of two minutes
	Limit    time.Duration // replaces either limit if it is not 0
	Patience time.Duration // how long Output may take after git has exited; at least 5 s
	Holds    *os.File      // open in git and in all that git starts, see HoldEntry

	// Within is the beginning of a command line that runs a program confined; git's
	// own follows. git then gets Env, PATH and nothing else of our environment, and
	// neither the user's nor the system's settings.
	Within []string
	// Reads are the git directories that a command with Within reads, at their paths out
	// here. If git is held up, the file is searched there. The first is one that no link
	// leads out of, see CheckFiles.
	Reads []string
	// Thrifty limits git's memory, see withinMemory: for input that may be hostile.
	Thrifty bool

	settings []setting // applied after Config, in this order
	boxed    bool      // run in a sandbox if there is one, see box
	writable string    // the only directory that a sandboxed command can write to
	shown    []string  // directories that a sandboxed command must be able to read
	hidden   []string  // directories that a sandboxed command must not reach
}

// Look returns a command that only reads p. It contacts no remote, and sees
// history as it is stored, without replacements and grafts.
func (p Dirs) Look(args ...string) Command {
	dir := p.WorkTree
	if dir == "" {
		dir = p.GitDir
	}
	// No protocol is called "none", so a partial clone cannot fetch missing
	// objects. Replacements and grafts could hide commits of a workspace.
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

// Run runs git until it exits and returns its output, unless Each or Output
// takes it. An *Error says why git failed. An error that wraps ErrHeldUp says
// that a file of the repository kept git waiting. A panic in Each or Errors
// becomes an error.
//
// Run tries up to ten times if git failed because another git was making or
// removing a worktree or a branch: git lists all of them first, and fails at
// one that is incomplete or gone. See Again for the exception.
func (c Command) Run(ctx context.Context) (string, error) {
	taken := false
	if each := c.Each; each != nil {
		c.Each = func(record string) { taken = true; each(record) }
	}
	for try := 1; ; try++ {
		out, err := c.Once(ctx)
		if try == maxTries || !metChange(err) || taken && c.Again == nil || !c.rewound() {
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

// rewound makes git get Stdin from its beginning once more, and reports whether that
// can be done.
func (c Command) rewound() bool {
	if c.Stdin == nil {
		return true
	}
	input, ok := c.Stdin.(io.Seeker)
	if !ok {
		return false
	}
	_, err := input.Seek(0, io.SeekStart)
	return err == nil
}

// metChange reports whether git failed at a worktree entry or a ref that
// another process may be making or removing.
func metChange(err error) bool {
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	unread := strings.HasPrefix(failed.Stderr, "failed to read ") || strings.HasPrefix(failed.Stderr, "Invalid path ")
	if unread && strings.Contains(failed.Stderr, "/worktrees/") {
		return true
	}
	// A missing object that the caller named by its hash will not appear later.
	name, bad := strings.CutPrefix(failed.Stderr, "bad object ")
	return bad && strings.Trim(name, "0123456789abcdef") != ""
}

// Once is Run without retries. git runs in a process group of its own. When ctx
// ends or the time limit passes, Once sends SIGTERM to the whole group, on
// which git removes its lock files. It kills what only reads within a sandbox.
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
	cmd.Env = slices.Concat(c.outerEnv(), c.Env, configEnv(c.Config, c.settings))
	ownGroup(cmd)
	if c.Within != nil && !c.Change { // what makes a sandbox ignores SIGTERM
		killedAtOnce(cmd)
	}
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
	stderr := &tail{also: c.Errors}
	cmd.Stdin, cmd.Stderr = c.Stdin, stderr
	if c.Holds != nil {
		cmd.ExtraFiles = []*os.File{c.Holds}
	}
	stop := c.watched(ctx, end)
	err := ownpath.Explain(cmd.Run())
	stop()
	if stderr.failed != nil {
		err = stderr.failed // git's exit status is only a consequence of this
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
	switch {
	case err != nil:
		return "", &Error{Args: c.Args, Dir: c.Dir, Code: codeOf(cmd, err), Stderr: stderr.reason(), Err: err}
	case stderr.unlisted != "" && !c.Change:
		return "", &Error{Args: c.Args, Dir: c.Dir, Stderr: stderr.unlisted, Err: errUnlisted}
	}
	return collected.String(), nil
}

// argv returns the command line: git with its pinned settings, in the memory
// limit and the sandbox that c asks for.
func (c Command) argv() []string {
	argv := []string{"git", "--no-pager"}
	for _, setting := range slices.Concat(pinned, systemPinned) {
		argv = append(argv, "-c", setting)
	}
	argv = append(argv, c.Args...)
	if c.Thrifty {
		argv = withinMemory(argv)
	}
	if c.boxed {
		argv = box(argv, c.writable, c.shown, c.hidden)
	}
	return append(slices.Clone(c.Within), argv...)
}

// outerEnv is the environment of git but for what is c's own.
func (c Command) outerEnv() []string {
	if c.Within == nil {
		return userEnv()
	}
	return append(fixedEnv(), "PATH="+os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
}

// codeOf returns the exit status, or -1 if err is no *exec.ExitError.
func codeOf(cmd *exec.Cmd, err error) int {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return cmd.ProcessState.ExitCode()
	}
	return -1
}

// userEnv returns our environment without variables that would redirect git. It
// sets LC_ALL=C so that we can parse git's messages, and allows no prompts.
func userEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		name = variable(name)
		if name != "LANGUAGE" && name != "LC_ALL" && (!strings.HasPrefix(name, "GIT_") || slices.Contains(kept, name)) {
			env = append(env, pair)
		}
	}
	return append(env, fixedEnv()...)
}

func fixedEnv() []string {
	return []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_EDITOR=:"}
}

// configEnv returns environment variables that set git's configuration. A key
// may contain "=" there, but not in an argument of -c.
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
