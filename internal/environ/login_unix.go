//go:build unix

package environ

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	defaultPath   = "/usr/local/bin:/usr/bin:/bin"
	fallbackShell = "/bin/sh"
	getentTimeout = 2 * time.Second
	maxSettings   = 64 << 10 // bytes of a file of readSettings
)

// findUser looks the user up in /etc/passwd, then with getent(1), which asks
// directories such as LDAP.
func findUser(environ []string) user {
	uid := strconv.Itoa(os.Getuid())
	data, _ := os.ReadFile("/etc/passwd") // without it, getent or environ tells
	u, found := parsePasswd(data, uid)
	if !found {
		asking, cancel := context.WithTimeout(context.Background(), getentTimeout)
		defer cancel()
		cmd := exec.CommandContext(asking, "getent", "passwd", uid)
		cmd.Env, cmd.WaitDelay = []string{"PATH=" + defaultPath}, time.Second
		data, _ = cmd.Output() // the user may be in no list
		u, _ = parsePasswd(data, uid)
	}
	u.environ = environ
	for _, shell := range []string{u.Shell, Lookup(environ, "SHELL"), fallbackShell} {
		if u.Shell = shell; IsProgram(shell) {
			break
		}
	}
	return u.completed()
}

// parsePasswd returns the user with that id in text in the form of passwd(5).
func parsePasswd(text []byte, uid string) (u user, found bool) {
	for line := range bytes.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(string(line), "\n"), ":")
		if len(fields) == 7 && fields[2] == uid && !strings.ContainsRune(string(line), 0) {
			return user{Name: fields[0], Home: fields[5], Shell: fields[6]}, true
		}
	}
	return user{}, false
}

// IsProgram reports whether path is absolute and names an executable file.
func IsProgram(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// Program returns the program that path, with any ending of PATHEXT on Windows, names.
func Program(path, _ string) (program string, ok bool) { return path, IsProgram(path) }

// loginFiles are the files that a login reads, below "/" and below the home.
var loginFiles = []string{
	"/etc/environment", "/etc/default/locale", "/etc/locale.conf",
	"/etc/passwd", "/etc/profile", "/etc/profile.d", "/etc/zsh/zshenv", "/etc/zsh/zprofile", "/etc/zshenv", "/etc/zprofile",
	".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", ".config/fish/config.fish", ".config/fish/conf.d",
}

// startupFiles describes the present versions of loginFiles. It does not see a
// change in a file that these read.
func startupFiles(u user) string {
	var all strings.Builder
	for _, name := range loginFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(u.Home, name)
		}
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&all, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return all.String()
}

// readLogin runs the user's shell as a login shell, with nothing in its
// environment but what a login sets, and returns what it exports. The shell has
// no terminal and no input. If ctx ends it is killed, with its process group.
func readLogin(ctx context.Context, u user) ([]string, error) {
	mark := rand.Text()
	say := "printf %s " + mark
	cmd := exec.CommandContext(ctx, u.Shell, "-l", "-c", say+"; /usr/bin/env -0; "+say)
	cmd.Dir = u.Home
	if info, err := os.Stat(u.Home); err != nil || !info.IsDir() {
		cmd.Dir = "/"
	}
	var e Environment
	e.Set(LoginShell, u.minimum()...)
	e.Set(LoginShell, systemSettings()...)
	cmd.Env = e.Entries()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a daemon of the profile may keep standard output open
	out := &limited{}
	cmd.Stdout = out
	err := cmd.Run()
	entries, ok := between(out.data, mark)
	switch {
	case ok: // whatever the profile did afterwards
		return entries, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil:
		err = errors.New("it did not run the command that it was given")
	}
	return nil, fmt.Errorf("ask the login shell %s -l for its environment: %w", u.Shell, err)
}

// between returns the entries between the first two marks, each of which ends
// with NUL.
func between(data []byte, mark string) ([]string, bool) {
	_, rest, _ := bytes.Cut(data, []byte(mark))
	list, _, whole := bytes.Cut(rest, []byte(mark))
	if !whole || len(list) > 0 && list[len(list)-1] != 0 {
		return nil, false
	}
	entries := strings.Split(string(list), "\x00")
	return entries[:len(entries)-1], true
}

// limited keeps the first maxLogin bytes that are written, and drops the rest.
type limited struct{ data []byte }

func (l *limited) Write(p []byte) (int, error) {
	l.data = append(l.data, p[:min(len(p), maxLogin-len(l.data))]...)
	return len(p), nil
}

// systemSettings returns the variables that PAM sets for a login on most systems:
// language and what the administrator has written.
func systemSettings() []string {
	var all []string
	for _, path := range []string{"/etc/locale.conf", "/etc/default/locale", "/etc/environment"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() <= maxSettings {
			data, _ := os.ReadFile(path) // one that cannot be read sets nothing
			all = append(all, parseSettings(data)...)
		}
	}
	return all
}

// parseSettings parses lines "NAME=value", with or without quotes and "export".
func parseSettings(text []byte) []string {
	var all []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "export ")
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || !IsName(name) || strings.ContainsRune(value, 0) {
			continue
		}
		if n := len(value); n > 1 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
			value = value[1 : n-1]
		}
		all = append(all, name+"="+value)
	}
	return all
}
