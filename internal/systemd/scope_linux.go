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

// How a command is started in a scope, in detail:
//
//  1. systemd-run asks the manager for the scope, with itself in it, and waits
//     until it is made. Then it becomes a shell, in the same process, which
//     keeps the descriptors.
//  2. The shell reads commands from a pipe of ours. The first line makes it
//     print that it runs.
//  3. We check in /proc that it runs in that scope.
//  4. The next line makes the shell exec the command. If that line never comes
//     because an earlier step failed, the pipe ends, and the shell exits.
//
// systemd-run's arguments hold nothing of the command, since some versions
// expand variables there.

const (
	// scopeTimeout is how long we wait for a manager that does not answer.
	scopeTimeout = 5 * time.Second
	// maxSaid limits how many bytes of systemd-run's errors we quote.
	maxSaid = 400
	inScope = "in scope"
)

// startScoped starts cmd in the scope. False without an error means that cmd
// needs no scope. False with an error means that nothing of cmd has run, and
// that the caller must make a new cmd.
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

// oomPolicySince is the first version of systemd in which a scope has an
// OOMPolicy. From then on the whole scope ends when the kernel kills one of its
// processes for lack of memory, unless the policy is continue
// (systemd.scope(5)).
const oomPolicySince = 253

// oomPolicy returns the property that keeps the other processes of a session
// alive when the kernel kills one of them for lack of memory.
func oomPolicy(ctx context.Context, systemdRun string) []string {
	ctx, cancel := context.WithTimeout(ctx, scopeTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, systemdRun, "--version").Output()
	if err == nil && parseVersion(string(out)) >= oomPolicySince {
		return []string{"--property=OOMPolicy=continue"}
	}
	return nil
}

// parseVersion reads the output of systemd-run --version, such as "systemd 252
// (252.38-1~deb12u1)". It returns 0 if that is something else.
func parseVersion(said string) int {
	var version int
	if _, err := fmt.Sscanf(said, "systemd %d", &version); err != nil {
		return 0
	}
	return version
}

// startGated does steps 1 to 4. After an error nothing of cmd has run.
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
		cmd.Wait() // its status adds nothing to err
		return err
	}
	return nil
}

// manager is the systemd manager that we ask for a scope.
type manager struct {
	flag    string
	runtime string // XDG_RUNTIME_DIR, for a user's manager
}

// managerOf returns the manager to ask: the user's own, or the system's if root
// runs in one of its units.
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

// sockets returns where the manager and its bus listen.
func (m manager) sockets() []string {
	if m.runtime == "" {
		return []string{"/run/systemd/private", "/run/dbus/system_bus_socket"}
	}
	return []string{filepath.Join(m.runtime, "systemd/private"), filepath.Join(m.runtime, "bus")}
}

// ScopeUsable returns nil, or why a process of this user in that unit could not
// get a scope. It changes nothing. It waits up to a second for each socket.
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

// gate holds a command back until it runs in its scope.
type gate struct {
	said, theirSaid *os.File // output of systemd-run and the shell
	todo, theirTodo *os.File // commands for the shell
	first           int      // the child's descriptor of theirSaid; theirTodo and standard error follow
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

// commandLine returns the shell line that execs cmd. env(1) sets exactly cmd's
// environment: systemd-run needs more variables, and some shells add their own.
func (g *gate) commandLine(cmd *exec.Cmd) string {
	words := append([]string{"env", "-i"}, cmd.Env...)
	words = append(append(words, cmd.Path), cmd.Args[1:]...)
	for i, word := range words {
		words[i] = quote(word)
	}
	// This restores standard error and closes the gate's descriptors.
	return fmt.Sprintf("exec %s 2>&%d %d>&- %d<&- %d>&-\n", strings.Join(words, " "), g.first+2, g.first, g.first+1, g.first+2)
}

// wrap makes cmd run the gate. The outer shell saves standard error for the
// command, and makes systemd-run write its errors to the pipe.
func (g *gate) wrap(cmd *exec.Cmd, systemdRun, scope string, m manager, properties []string) {
	run := append([]string{
		systemdRun, m.flag, "--scope", "--quiet", "--collect", "--no-ask-password",
		"--unit=" + scope, "--slice=middleman.slice",
		// Shells ignore SIGTERM, and a shutdown should not wait for them.
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

// pass waits until the shell says that it runs, checks its scope, and lets it
// exec the command.
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

// awaitWord reads until the shell reports that it runs. Anything else that it
// reads is systemd-run's error.
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
		return errors.New("systemd-run ended without a message")
	}
	return errors.New(text)
}

// quote quotes s as one word for sh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
