package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"middleman/internal/plaintext"
)

// transportKeys match the settings that name a program which git runs to reach
// a remote, and those that mark a partial clone. In a partial clone git
// contacts the remote whenever an object is missing. git runs
// core.alternateRefsCommand in a fetch into a repository with alternates. git
// runs an alias remote-NAME if git-remote-NAME is not installed.
const transportKeys = `^(core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.(.*\.)?helper|alias\.remote-.*` +
	`|remote\..*\.(uploadpack|receivepack|vcs|promisor|partialclonefilter)|extensions\.partialclone)$`

// setting is one entry of git's configuration.
type setting struct{ key, value string }

// Transport is how git reaches remotes without the programs that the
// repository's own configuration names. The zero value turns none of them off.
type Transport struct {
	off      []string // the keys of the settings that are turned off
	settings []setting
	env      []string
	// packs are remotes for which the repository sets uploadpack, receives those
	// for which it sets receivepack. Settings cannot turn them off: git uses the
	// first value that it reads, and ours come last.
	packs, receives []string
	agreed          bool
	Partial         bool
}

// TransportOf returns how commands at p may reach remotes. agreed says that the
// user allows the repository's programs to run.
func TransportOf(ctx context.Context, p Dirs, agreed bool) (Transport, error) {
	t := Transport{agreed: agreed}
	own, users, err := transportSettings(ctx, p)
	if err != nil {
		return t, err
	}
	for _, s := range slices.Concat(own, users) {
		t.Partial = t.Partial || marksPartial(s.key)
	}
	if agreed {
		return t, nil
	}
	for _, s := range own {
		t.without(s, users)
	}
	slices.Sort(t.off)
	t.off = slices.Compact(t.off)
	return t, nil
}

// transportSettings returns the matching settings of the repository's own
// configuration, with its includes, and those of the user's and the system's.
func transportSettings(ctx context.Context, p Dirs) (own, users []setting, err error) {
	scope := ""
	list := p.Look("config", "--null", "--show-scope", "--get-regexp", transportKeys)
	list.Each = func(record string) {
		if scope == "" {
			scope = record
			return
		}
		key, value, _ := strings.Cut(record, "\n")
		switch scope {
		case "system", "global":
			users = append(users, setting{key, value})
		default:
			own = append(own, setting{key, value})
		}
		scope = ""
	}
	if _, err := list.Run(ctx); err != nil && ExitCode(err) != 1 { // status 1: there is no such setting
		return nil, nil, err
	}
	return own, users, nil
}

func marksPartial(key string) bool {
	return key == "extensions.partialclone" || strings.HasSuffix(key, ".promisor") || strings.HasSuffix(key, ".partialclonefilter")
}

// without turns s off, and restores the user's value of the same setting.
func (t *Transport) without(s setting, users []setting) {
	var theirs []string
	for _, user := range users {
		if user.key == s.key {
			theirs = append(theirs, user.value)
		}
	}
	remote, isPack := strings.CutSuffix(s.key, ".uploadpack")
	receiver, isReceive := strings.CutSuffix(s.key, ".receivepack")
	switch {
	case marksPartial(s.key):
		return
	case strings.HasPrefix(s.key, "credential."):
		if s.value == "" {
			return // an empty value clears the list and names no program
		}
		t.settings = append(t.settings, setting{"credential.helper", ""})
		for _, user := range users {
			if strings.HasPrefix(user.key, "credential.") {
				t.settings = append(t.settings, user)
			}
		}
	case (isPack || isReceive) && len(theirs) > 0:
		return // git uses the first value, which is the user's
	case isReceive:
		t.receives = append(t.receives, strings.TrimPrefix(receiver, "remote."))
	case isPack:
		t.packs = append(t.packs, strings.TrimPrefix(remote, "remote."))
	case s.key == "core.gitproxy":
		if slices.ContainsFunc(theirs, func(value string) bool { return !strings.Contains(value, " for ") }) {
			return // git uses the first match for a host; this one matches every host
		}
		t.env = append(t.env, "GIT_PROXY_COMMAND=")
	case len(theirs) > 0:
		t.settings = append(t.settings, setting{s.key, theirs[len(theirs)-1]})
	default:
		t.settings = append(t.settings, standIn(s))
	}
	t.off = append(t.off, plaintext.Quoted(s.key))
}

// standIn returns the setting that replaces s if the user has no value for it.
func standIn(s setting) setting {
	switch {
	case strings.HasSuffix(s.key, ".vcs"):
		return setting{"protocol." + s.value + ".allow", "never"}
	case s.key == "core.sshcommand":
		if ssh := os.Getenv("GIT_SSH"); ssh != "" {
			return setting{s.key, "'" + strings.ReplaceAll(ssh, "'", `'\''`) + "'"}
		}
		return setting{s.key, "ssh"}
	case s.key == "core.alternaterefscommand":
		return setting{s.key, ":"}
	}
	return setting{s.key, ""} // no askPass; git refuses an empty alias
}

// ofPartial is the error for a partial clone that names programs. It wraps
// errors.ErrUnsupported.
func (t Transport) ofPartial() error {
	return fmt.Errorf("this is a partial clone, and git would run programs that its configuration names to fetch what is missing (%s): %w", t.Note(), errors.ErrUnsupported)
}

// FetchOver returns c, a fetch from remote, changed to use the transport. It
// fails in a partial clone if the repository sets uploadpack, because the
// fetches that git starts itself would run that program.
func (t Transport) FetchOver(c Command, remote string) (Command, error) {
	if len(t.packs) > 0 && t.Partial {
		return c, t.ofPartial()
	}
	if slices.Contains(t.packs, remote) {
		c.Args = slices.Insert(slices.Clone(c.Args), 1, "--upload-pack=git-upload-pack")
	}
	c.settings = t.settings
	c.Env = append(c.Env, t.env...)
	return c, nil
}

// ownReceiver is the program that receives a push in a directory of this machine,
// without the hooks and programs that the repository there names.
const ownReceiver = "git -c core.hooksPath=" + os.DevNull + " -c core.fsmonitor=false -c core.alternateRefsCommand=: -c receive.autogc=false" +
	" -c receive.denyCurrentBranch=refuse receive-pack"

// PushOver returns c, a push to remote, changed to use the transport. local says
// that the remote is a directory of this machine: git would run its hooks. It fails
// like FetchOver.
func (t Transport) PushOver(c Command, remote string, local bool) (Command, error) {
	if len(t.packs) > 0 && t.Partial {
		return c, t.ofPartial()
	}
	switch {
	case local && !t.agreed:
		c.Args = slices.Insert(slices.Clone(c.Args), 1, "--receive-pack="+ownReceiver)
	case slices.Contains(t.receives, remote):
		c.Args = slices.Insert(slices.Clone(c.Args), 1, "--receive-pack=git-receive-pack")
	}
	c.settings = t.settings
	c.Env = append(c.Env, t.env...)
	return c, nil
}

// Over returns c, which fetches missing objects on demand, changed to use the
// transport. If the repository sets uploadpack, c fetches nothing.
func (t Transport) Over(c Command) Command {
	c.settings = t.settings
	c.Env = append(c.Env, t.env...)
	if len(t.packs) > 0 {
		c.Env = append(c.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	}
	return c
}

// Note says which settings were turned off, or returns "".
func (t Transport) Note() string {
	if len(t.off) == 0 {
		return ""
	}
	return fmt.Sprintf("programs that the repository's configuration names to reach a remote did not run (%s): --filters allows them", strings.Join(t.off, ", "))
}

// Explain adds Note to err, the error of a command that may have needed a
// remote.
func (t Transport) Explain(err error) error {
	if note := t.Note(); err != nil && note != "" {
		return fmt.Errorf("%w (%s)", err, note)
	}
	return err
}
