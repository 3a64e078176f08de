package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"middleman/internal/api"
	"middleman/internal/environ"
	"middleman/workspace"
)

// sessionEnv returns the environment of a requested session, before the
// repository and the workspace add to it. A profile's program gets the
// allow-list and what the profile's patterns match. note says what is missing,
// if something is.
func (s *App) sessionEnv(ctx context.Context, in api.NewSession, patterns []string) (e environ.Environment, note string, err error) {
	if in.CallerEnv == nil {
		if e, note, err = s.loginEnv(ctx, in.CleanEnv, patterns); err == nil {
			e.Set(environ.Own, s.finders()...)
		}
	} else if e, err = callerEnv(in, patterns); err == nil {
		e.SetMissing(environ.Own, s.finders()...)
		e.SetMissing(environ.LoginShell, s.Login.Minimum()...)
	}
	if err != nil {
		return e, "", err
	}
	e.Set(environ.Named, in.Env...)
	e.SetCharacters()
	if err := environ.Check(e.Entries()); err != nil {
		return e, "", Refusef(api.CodeBadRequest, "%s", err)
	}
	return e, note, nil
}

// callerEnv returns what a session gets of its caller's environment.
func callerEnv(in api.NewSession, patterns []string) (e environ.Environment, err error) {
	given := make([]string, len(in.CallerEnv))
	for i, entry := range in.CallerEnv {
		given[i] = string(entry)
	}
	if err := environ.Check(given); err != nil {
		return e, Refusef(api.CodeBadRequest, "caller_env: %s", err)
	}
	if in.CleanEnv {
		setListed(&e, given, patterns)
	} else {
		e.Set(environ.Caller, environ.Strip(given)...)
	}
	return e, nil
}

// setListed sets what the allow-list and the patterns have of an environment.
func setListed(e *environ.Environment, given, patterns []string) {
	named, _ := environ.Rules{Forward: patterns}.Pass(given)
	e.Set(environ.Profile, named...)
	e.Set(environ.Listed, environ.Allowed(given)...)
}

// loginEnv returns the user's login environment, or what the allow-list and the
// patterns have of it. note says why it is only the minimum, if so.
func (s *App) loginEnv(ctx context.Context, clean bool, patterns []string) (e environ.Environment, note string, err error) {
	list, why := s.Login.Get(ctx)
	if err := context.Cause(ctx); err != nil {
		return e, "", err
	}
	if why != nil {
		note = "its environment may lack what a login sets: " + s.redact(why.Error())
	}
	passed, _ := s.EnvRules.Pass(list)
	if clean {
		setListed(&e, passed, patterns)
	} else {
		e.Set(environ.LoginShell, passed...)
	}
	e.SetMissing(environ.LoginShell, s.Login.Minimum()...)
	return e, note, nil
}

// finders returns the variables by which a middleman in a session finds this
// server's directories.
func (s *App) finders() []string {
	given := s.Environ()
	if home := environ.Lookup(given, "MIDDLEMAN_HOME"); home != "" {
		return []string{"MIDDLEMAN_HOME=" + home}
	}
	var all []string
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"} {
		if value := environ.Lookup(given, name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// setupEnv returns the environment of a repository's setup and teardown, before
// the repository and the workspace add to it: the allow-list of a login.
func (s *App) setupEnv(ctx context.Context) (environ.Environment, error) {
	e, note, err := s.loginEnv(ctx, true, nil)
	if note != "" {
		s.Log.Warn("environment of a setup", "problem", note)
	}
	e.Set(environ.Own, s.finders()...)
	return e, err
}

// addWorkspaceEnv adds the variables of the repository's configuration and of the
// workspace.
func addWorkspaceEnv(e *environ.Environment, repository []string, w workspace.Workspace) {
	e.Set(environ.Repository, repository...)
	e.Set(environ.Own, w.Env()...)
}

// checkEnv refuses entries that are not NAME=value, and names that callers may
// not set.
func checkEnv(extra []string) error {
	for _, kv := range extra {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || !environ.IsName(name) || strings.ContainsRune(value, 0):
			// The value may be a secret, so the error has only the name.
			return Refusef(api.CodeBadRequest, "environment variable %q: must be NAME=value", name)
		case strings.HasPrefix(name, "MIDDLEMAN_"):
			return Refusef(api.CodeBadRequest, "environment variable %s: names that begin with MIDDLEMAN_ are reserved", name)
		case name == "TERM" || name == "COLORTERM":
			return Refusef(api.CodeBadRequest, "environment variable %s: it describes the session's terminal, and middleman sets it", name)
		}
	}
	return nil
}

// describeCommand returns a command in the form for errors.
func describeCommand(name string) string { return fmt.Sprintf("command %q", name) }

// needed are the variables that the server itself needs besides those of the
// allow-list: to fetch with git and ssh as the user does, to reach the user's
// systemd, and for the Go runtime. Other variables of the shell that started it,
// tokens above all, would stay in /proc/PID/environ as long as it runs.
var needed = []string{
	"MIDDLEMAN_HOME",
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
func Environment(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(kv string) bool {
		name, _, ok := strings.Cut(kv, "=")
		return !ok || !environ.IsAllowed(name) && !slices.Contains(needed, name)
	})
}
