package app

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"middleman/internal/api"
)

// inherited are the variables of the server's environment that a session gets.
// It gets no others: the agents, tokens and keys of the shell that started the
// server must not reach it.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"EDITOR", "VISUAL", "PAGER", "BROWSER", "LESS", "LS_COLORS", "MANPATH", "INFOPATH",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
	"GOPATH", "GOROOT", "GOBIN", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT",
	"NIX_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_COLOR",
	"MIDDLEMAN_HOME", // a middleman in the session finds this server by it, or else by XDG_RUNTIME_DIR
	"SystemRoot", "ComSpec", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData", "TEMP", "TMP",
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// baseEnv returns the variables that a session inherits from environ.
func baseEnv(environ []string) []string {
	var out []string
	home := lookup(environ, "MIDDLEMAN_HOME") != ""
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if ok && (!home && name == "XDG_RUNTIME_DIR" || slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_")) {
			out = append(out, kv)
		}
	}
	return out
}

// checkEnv refuses entries that are not NAME=value, and names that callers may
// not set.
func checkEnv(extra []string) error {
	for _, kv := range extra {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || !envName.MatchString(name) || strings.ContainsRune(value, 0):
			// The value may be a secret, so the error has only the name.
			return Refusef(api.CodeBadRequest, "environment variable %q: must be NAME=value", name)
		case strings.HasPrefix(name, "MIDDLEMAN_"):
			return Refusef(api.CodeBadRequest, "environment variable %s: names that begin with MIDDLEMAN_ are reserved", name)
		}
	}
	return nil
}

// mergeEnv joins lists of NAME=value. The last value of a name counts.
func mergeEnv(lists ...[]string) []string {
	last := map[string]string{}
	var names []string
	for _, kv := range slices.Concat(lists...) {
		name, _, _ := strings.Cut(kv, "=")
		if _, seen := last[name]; !seen {
			names = append(names, name)
		}
		last[name] = kv
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = last[name]
	}
	return out
}

// lookup returns the value of a variable, the last one if there are several.
func lookup(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// describeCommand returns a command in the form for errors.
func describeCommand(name string) string { return fmt.Sprintf("command %q", name) }

// needed are the variables that the server itself needs besides those that
// sessions inherit: to fetch with git and ssh as the user does, to reach the
// user's systemd, and for the Go runtime. Other variables of the shell that
// started it, tokens above all, would stay in /proc/PID/environ as long as it
// runs.
var needed = []string{
	"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID",
	"SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "GNUPGHOME", "GPG_TTY", "KRB5CCNAME", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES",
	"GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"TERM", "COLORTERM", "MIDDLEMAN_FAULTS",
	"MIDDLEMAN_SESSION", "MIDDLEMAN_WORKSPACE", // the stop of a session finds a server that runs in it by these
	"GODEBUG", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GOTRACEBACK", "GOCOVERDIR",
	"SystemDrive", "windir", "HOMEDRIVE", "HOMEPATH", "USERNAME", "USERDOMAIN", "ProgramFiles", "NUMBER_OF_PROCESSORS",
}

// Environment returns the entries of environ that a server is started with, in
// their order. It does not change environ.
func Environment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, ok := strings.Cut(kv, "=")
		return !ok || !slices.Contains(inherited, name) && !slices.Contains(needed, name) && !strings.HasPrefix(name, "LC_")
	})
}
