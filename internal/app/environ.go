package app

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"middleman/internal/api"
)

// inherited are the variables of the server's environment that a session
// gets. Whatever is not named here stays out: agents, tokens and keys of the
// shell that happened to start the server are none of a session's business.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"EDITOR", "VISUAL", "PAGER", "BROWSER", "LESS", "LS_COLORS", "MANPATH", "INFOPATH",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
	"GOPATH", "GOROOT", "GOBIN", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT",
	"NIX_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_COLOR",
	"MIDDLEMAN_HOME", // by this, or else by XDG_RUNTIME_DIR, a session's own middleman finds this server
	"SystemRoot", "ComSpec", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData", "TEMP", "TMP",
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// baseEnv is what a session inherits.
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

// checkEnv refuses what a caller may not set.
func checkEnv(extra []string) error {
	for _, kv := range extra {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || !envName.MatchString(name) || strings.ContainsRune(value, 0):
			// The value may be a secret: only the name is repeated.
			return Refusef(api.CodeBadRequest, "environment variable %q: must be NAME=value", name)
		case strings.HasPrefix(name, "MIDDLEMAN_"):
			return Refusef(api.CodeBadRequest, "environment variable %s: these are middleman's own", name)
		}
	}
	return nil
}

// mergeEnv joins lists of NAME=value; of one name the last counts.
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

// lookup returns a variable of an environment.
func lookup(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// describeCommand is a command as an error shows it.
func describeCommand(name string) string { return fmt.Sprintf("command %q", name) }
