package app

import (
	"slices"
	"strings"
)

// needed are the variables that the server itself has a use for, beside those
// that sessions inherit: to fetch with git and ssh as the user does, to reach
// the user's systemd, and what the Go runtime takes. All else of the shell that
// happened to start it, tokens above all, would be in /proc/PID/environ for as
// long as it runs.
var needed = []string{
	"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID",
	"SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "GNUPGHOME", "GPG_TTY", "KRB5CCNAME", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES",
	"GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"TERM", "COLORTERM", "MIDDLEMAN_FAULTS",
	"MIDDLEMAN_SESSION", "MIDDLEMAN_WORKSPACE", // by these a stop finds a server that runs in a session
	"GODEBUG", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GOTRACEBACK", "GOCOVERDIR",
	"SystemDrive", "windir", "HOMEDRIVE", "HOMEPATH", "USERNAME", "USERDOMAIN", "ProgramFiles", "NUMBER_OF_PROCESSORS",
}

// Environment is what a server is run with, of what the environment of its
// starter holds. It keeps the order.
func Environment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, ok := strings.Cut(kv, "=")
		return !ok || !slices.Contains(inherited, name) && !slices.Contains(needed, name) && !strings.HasPrefix(name, "LC_")
	})
}
