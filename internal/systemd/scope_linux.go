package systemd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// What happens when a command is started in a scope, in detail:
//
//  1. systemd-run asks the manager for the scope, with itself in it, and waits
//     until that is so. Then it becomes a shell, in the same process, which
//     keeps the descriptors.
//  2. The shell reads what to do from a pipe of ours. The first line makes it
//     say that it runs.
//  3. We look whether the kernel has it in that scope.
//  4. The next line makes the shell become the command. Where it never comes,
//     because anything before went wrong, the pipe ends, and so does the shell.
//
// Nothing of the command is in systemd-run's arguments, since some versions
// expand variables there.

const (
	// scopeTimeout bounds the wait for a manager that does not answer.
	scopeTimeout = 5 * time.Second
	// maxSaid bounds what is repeated of an error of systemd-run's.
	maxSaid = 400
	inScope = "in scope"
)

// startScoped starts cmd in the scope. False without an error means that this
// process is where cmd may be; with one, that cmd must be made anew, and nothing
// of it has run.
func startScoped(ctx context.Context, scope string, cmd *exec.Cmd) (scoped bool, err error) {
	unit, err := UnitOf(os.Getpid())
	if err != nil || !unit.Service() && !unit.session() {
		return false, err
	}
	systemdRun, err := exec.LookPath("systemd-run")
	if err != nil {
		return false, err
	}
	err = startGated(ctx, scope, cmd, systemdRun, managerOf(unit))
	return err == nil, err
}

// oomPolicySince is the first version in which a scope has an OOMPolicy, and
// ends as a whole when one of its processes is killed for memory unless that
// says continue (systemd.scope(5)).
const oomPolicySince = 253

// oomPolicy is what a scope has to be told so that a process of a session that
// is killed for memory is the only one.
func oomPolicy(ctx context.Context, systemdRun string) []string {
	ctx, cancel := context.WithTimeout(ctx, scopeTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, systemdRun, "--version").Output()
	if err == nil && parseVersion(string(out)) >= oomPolicySince {
		return []string{"--property=OOMPolicy=continue"}
	}
	return nil
}

// parseVersion reads what systemd's programs say of themselves, 0 where it is
// something else: "systemd 252 (252.38-1~deb12u1)".
func parseVersion(said string) int {
	var version int
	if _, err := fmt.Sscanf(said, "systemd %d", &version); err != nil {
		return 0
	}
	return version
}

// startGated does steps 1 to 4. On an error nothing of cmd has run.
func startGated(ctx context.Context, scope string, cmd *exec.Cmd, systemdRun string, m manager) error {
	g, err := newGate(cmd)
	if err != nil {
		return err
	}
	defer g.close()
	line := g.commandLine(cmd)
	g.wrap(cmd, systemdRun, scope, m, oomPolicy(ctx, systemdRun))
	if _, err := fmt.Fprintf(g.todo, "echo '%s' >&%d\n", inScope, g.first); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.closeTheirs()
	ctx, cancel := context.WithTimeout(ctx, scopeTimeout)
	defer cancel()
	if err := g.pass(ctx, cmd.Process.Pid, scope, line); err != nil {
		cmd.Process.Kill()
		cmd.Wait() // how it ended says nothing that err does not
		return err
	}
	return nil
}

// manager is whom to ask for a scope.
type manager struct {
	flag    string
	runtime string // XDG_RUNTIME_DIR, for a user's manager
}

// managerOf returns who may give us a scope: the user's own manager, or the
// system's where root runs in a unit of its.
func managerOf(u Unit) manager {
	if os.Geteuid() == 0 && !u.User {
		return manager{flag: "--system"}
	}
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		runtime = fmt.Sprintf("/run/user/%d", os.Geteuid())
	}
	return manager{flag: "--user", runtime: runtime}
}

// sockets are where the manager listens, or its bus.
func (m manager) sockets() []string {
	if m.runtime == "" {
		return []string{"/run/systemd/private", "/run/dbus/system_bus_socket"}
	}
	return []string{filepath.Join(m.runtime, "systemd/private"), filepath.Join(m.runtime, "bus")}
}

// ScopeUsable returns nil, or why a process of this user in that unit could
// not get a scope. It changes nothing.
func ScopeUsable(u Unit) error {
	if _, err := exec.LookPath("systemd-run"); err != nil {
		return err
	}
	var failed error
	for _, path := range managerOf(u).sockets() {
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			return conn.Close()
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// gate holds a command back until it is in its scope.
type gate struct {
	said, theirSaid *os.File // what systemd-run and the shell say
	todo, theirTodo *os.File // what the shell is to do
	first           int      // descriptor of theirSaid over there; theirTodo and standard error follow
}

func newGate(cmd *exec.Cmd) (g *gate, err error) {
	g = &gate{first: 3 + len(cmd.ExtraFiles)}
	if g.first > 7 {
		return nil, fmt.Errorf("%d descriptors are more than a shell can name", g.first)
	}
	if g.said, g.theirSaid, err = os.Pipe(); err != nil {
		return nil, err
	}
	if g.theirTodo, g.todo, err = os.Pipe(); err != nil {
		g.said.Close()
		g.theirSaid.Close()
		return nil, err
	}
	return g, nil
}

func (g *gate) closeTheirs() {
	g.theirSaid.Close()
	g.theirTodo.Close()
}

func (g *gate) close() {
	g.closeTheirs()
	g.said.Close()
	g.todo.Close()
}

// commandLine is the shell's line that becomes cmd. env(1) gives it exactly its
// environment: systemd-run needs more, and some shells add to it.
func (g *gate) commandLine(cmd *exec.Cmd) string {
	words := append([]string{"env", "-i"}, cmd.Env...)
	words = append(append(words, cmd.Path), cmd.Args[1:]...)
	for i, word := range words {
		words[i] = quote(word)
	}
	// Standard error is back at what it was, and nothing of ours is open.
	return fmt.Sprintf("exec %s 2>&%d %d>&- %d<&- %d>&-\n", strings.Join(words, " "), g.first+2, g.first, g.first+1, g.first+2)
}

// wrap makes cmd run the gate. The first shell keeps standard error for the
// command and gives systemd-run the pipe to say its errors on.
func (g *gate) wrap(cmd *exec.Cmd, systemdRun, scope string, m manager, properties []string) {
	run := append([]string{
		systemdRun, m.flag, "--scope", "--quiet", "--collect", "--no-ask-password",
		"--unit=" + scope, "--slice=middleman.slice",
		// Shells ignore SIGTERM; at a shutdown nobody should wait for them.
		"--property=SendSIGHUP=yes", "--property=TimeoutStopSec=10s",
	}, properties...)
	run = append(run, "--", "/bin/sh", fmt.Sprintf("/dev/fd/%d", g.first+1))
	script := fmt.Sprintf(`exec "$@" %d>&2 2>&%d`, g.first+2, g.first)
	cmd.Path = "/bin/sh"
	cmd.Args = append([]string{"sh", "-c", script, "sh"}, run...)
	cmd.ExtraFiles = append(cmd.ExtraFiles, g.theirSaid, g.theirTodo)
	if m.runtime != "" {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "XDG_RUNTIME_DIR="+m.runtime)
	}
}

// pass waits until the process says that it runs, looks where, and lets it
// become the command.
func (g *gate) pass(ctx context.Context, pid int, scope, line string) error {
	stop := context.AfterFunc(ctx, func() {
		g.said.SetReadDeadline(time.Now())
		g.todo.SetWriteDeadline(time.Now())
	})
	defer stop()
	if err := awaitWord(ctx, g.said); err != nil {
		return err
	}
	unit, err := UnitOf(pid)
	if err != nil {
		return err
	}
	if unit.Name != scope {
		return fmt.Errorf("systemd-run left process %d in %s", pid, unit.Name)
	}
	_, err = g.todo.WriteString(line)
	return err
}

// awaitWord reads until the shell has spoken; what came before, or instead,
// is systemd-run's error.
func awaitWord(ctx context.Context, said *os.File) error {
	var before []string
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if lines.Text() == inScope {
			return nil
		}
		before = append(before, strings.TrimSpace(lines.Text()))
	}
	if ctx.Err() != nil {
		return fmt.Errorf("wait for systemd-run: %w", ctx.Err())
	}
	text := strings.Join(before, "; ")
	if len(text) > maxSaid {
		text = text[:maxSaid]
	}
	if text == "" {
		return errors.New("systemd-run ended and said nothing")
	}
	return errors.New(text)
}

// quote makes s one word of sh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
