// Package environ decides which environment variables a session gets: what a
// caller's shell has, less what is about the caller's terminal and login; an
// allow-list of that; or what the user has after a login. It also tells where
// each value came from. It never logs or stores a value.
package environ

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Where the value of a variable came from.
const (
	Caller     = "caller"     // the shell that started the session
	LoginShell = "login"      // what the user has after a login
	Listed     = "allow-list" // one of the two above, of which only Allowed passed
	Repository = "repository" // an agreed .middleman.toml
	Profile    = "profile"    // named by the session's profile
	Secret     = "secret-ref" // a secret of this host, which the bundle of the session refers to
	Named      = "--env"      // named for this session, on the command line or in the API
	Own        = "middleman"
	Caches     = "private caches" // of a sandbox; middleman's own too
)

const (
	// MaxBytes and MaxVariables bound an environment that is forwarded. The
	// system takes at least four times as many bytes.
	MaxBytes     = 512 << 10
	MaxVariables = 4096
)

// own matches the variables that only middleman sets.
const own = "MIDDLEMAN_*"

// callersOwn are patterns of the variables that no session gets from a caller:
// they are true of the caller's terminal, login or process alone. The table in
// docs/environment.md says why of each group, and a test compares the two.
var callersOwn = []string{
	// the terminal
	"TERM", "COLORTERM", "TERMCAP", "TERMINFO", "TERM_PROGRAM*", "TERM_SESSION_ID", "TERM_FEATURES", "COLORFGBG", "COLUMNS", "LINES", "WINDOWID",
	"VTE_VERSION", "WT_SESSION", "WT_PROFILE_ID", "KITTY_*", "ALACRITTY_*", "ITERM_*", "LC_TERMINAL*", "WEZTERM_*", "GHOSTTY_*", "KONSOLE_*", "GNOME_TERMINAL_*",
	"INSIDE_EMACS", "NVIM", "VIM_TERMINAL",
	// a multiplexer
	"TMUX", "TMUX_*", "STY", "WINDOW", "ZELLIJ*", "ABDUCO_*", "SHPOOL_*", "ZMX_*",
	// the login
	"SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT", "SSH_ORIGINAL_COMMAND", "XDG_SESSION*", "XDG_SEAT*", "XDG_VTNR", "GPG_TTY",
	// the shell
	"SHLVL", "_", "PWD", "OLDPWD",
	// a git command that runs the caller
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_PREFIX", "GIT_NAMESPACE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_QUARANTINE_PATH", "GIT_CONFIG_PARAMETERS", "GIT_REFLOG_ACTION", "GIT_INTERNAL_*",
	// a service
	"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_*", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MAINPID",
	"MANAGERPID", "CREDENTIALS_DIRECTORY", "MEMORY_PRESSURE_*",
	own,
}

// listed are the patterns of the allow-list: what programs need to find their
// files and to speak the user's language, and nothing that is a credential.
var listed = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
	"EDITOR", "VISUAL", "PAGER", "BROWSER", "LESS", "LS_COLORS", "MANPATH", "INFOPATH",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
	"GOPATH", "GOROOT", "GOBIN", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT",
	"NIX_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_COLOR",
	"SystemRoot", "ComSpec", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData", "TEMP", "TMP",
	"windir", "OS", "PUBLIC", "USERNAME", "HOMEDRIVE", "HOMEPATH", "ProgramFiles*", "ProgramW6432", "CommonProgram*", "PSModulePath",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_*",
}

// Rules are the user's settings: patterns of names, in the form of path.Match.
type Rules struct {
	Forward []string // what passes
	Deny    []string // less these
}

// Pass returns the variables of environ that a session may have: those that
// Forward matches and Deny does not, less what is the caller's own. skipped
// counts the entries that have no name. A name that occurs twice has its last
// value.
func (r Rules) Pass(environ []string) (passed []string, skipped int) {
	at := map[string]int{}
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			skipped++
			continue
		}
		if !matches(r.Forward, name) || matches(r.Deny, name) || matches(callersOwn, name) {
			continue
		}
		if i, twice := at[fold(name)]; twice {
			passed[i] = entry
			continue
		}
		at[fold(name)] = len(passed)
		passed = append(passed, entry)
	}
	return passed, skipped
}

// Strip is Pass without settings.
func Strip(environ []string) []string {
	passed, _ := Rules{Forward: []string{"*"}}.Pass(environ)
	return passed
}

// Allowed returns the variables of environ that are on the allow-list.
func Allowed(environ []string) []string {
	passed, _ := Rules{Forward: listed}.Pass(environ)
	return passed
}

// IsAllowed reports whether a variable of that name is on the allow-list.
func IsAllowed(name string) bool { return matches(listed, name) && !matches(callersOwn, name) }

// matches reports whether a pattern matches name. Patterns that are no patterns,
// which the settings refuse, match nothing.
func matches(patterns []string, name string) bool {
	name = strings.ReplaceAll(fold(name), "/", "_") // "*" does not match a slash
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		is, err := path.Match(fold(pattern), name)
		return is && err == nil
	})
}

// Check returns an error, which has no value in it, if a session cannot have
// these variables: an entry without a name or with NUL, too many, or too large.
func Check(environ []string) error {
	size := 0
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
			return errors.New("an entry of the environment has no name")
		case strings.ContainsRune(entry, 0):
			return fmt.Errorf("environment variable %q contains NUL", strings.TrimRight(name, "\x00"))
		}
		size += len(entry) + 1
	}
	if len(environ) > MaxVariables || size > MaxBytes {
		return fmt.Errorf("the environment has %d variables and %d bytes, at most %d and %d are forwarded: leave some out with env.deny in config.toml, or use --clean-env",
			len(environ), size, MaxVariables, MaxBytes)
	}
	return nil
}

// Lookup returns the value of a variable, the last one if there are several.
func Lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if as, value, ok := strings.Cut(entry, "="); ok && fold(as) == fold(name) {
			return value
		}
	}
	return ""
}

// Find looks a program up in the absolute directories of an environment's PATH.
func Find(name string, environ []string) (program string, ok bool) {
	endings := Lookup(environ, "PATHEXT")
	for _, dir := range filepath.SplitList(Lookup(environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if program, ok = Program(filepath.Join(dir, name), endings); ok {
			return program, true
		}
	}
	return "", false
}

// Environment is an environment that is put together. The zero value is empty.
type Environment struct {
	entries []string
	sources map[string]string
}

// Set adds entries, "NAME=value" each, from one source. They replace what has
// the same name.
func (e *Environment) Set(source string, entries ...string) {
	if e.sources == nil {
		e.sources = map[string]string{}
	}
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		e.Remove(name)
		e.entries, e.sources[name] = append(e.entries, entry), source
	}
}

// SetMissing is Set for the entries whose names e does not have.
func (e *Environment) SetMissing(source string, entries ...string) {
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		if _, there := e.spelling(name); !there {
			e.Set(source, entry)
		}
	}
}

// SetCharacters says that the terminal is one of UTF-8, as every session's is, where no
// variable says which characters the program is to use (locale(7)): it would take ASCII.
func (e *Environment) SetCharacters() {
	said := cmp.Or(e.Lookup("LC_ALL"), e.Lookup("LC_CTYPE"), e.Lookup("LANG"))
	if locale := utf8Locale(); said == "" && locale != "" {
		e.Set(Own, "LC_CTYPE="+locale)
	}
}

// Remove takes a variable away.
func (e *Environment) Remove(name string) {
	as, there := e.spelling(name)
	if !there {
		return
	}
	delete(e.sources, as)
	e.entries = slices.DeleteFunc(e.entries, func(entry string) bool { return strings.HasPrefix(entry, as+"=") })
}

// Source returns where the value of a variable came from, or "" if e does not have it.
func (e Environment) Source(name string) string {
	as, _ := e.spelling(name)
	return e.sources[as]
}

// spelling returns the name of a variable as e has it, if it does: on Windows names that
// differ in case are one.
func (e Environment) spelling(name string) (as string, there bool) {
	if _, there = e.sources[name]; there || !foldsNames {
		return name, there
	}
	for as = range e.sources {
		if fold(as) == fold(name) {
			return as, true
		}
	}
	return name, false
}

// Clone returns a copy.
func (e Environment) Clone() Environment {
	c := Environment{entries: slices.Clone(e.entries)}
	if e.sources != nil {
		c.sources = make(map[string]string, len(e.sources))
		for name, source := range e.sources {
			c.sources[name] = source
		}
	}
	return c
}

// Entries returns the variables. The caller must not change them.
func (e Environment) Entries() []string { return e.entries }

// Sources returns where the value of each name came from. The caller must not
// change it.
func (e Environment) Sources() map[string]string { return e.sources }

// Lookup returns the value of a variable, or "".
func (e Environment) Lookup(name string) string { return Lookup(e.entries, name) }
