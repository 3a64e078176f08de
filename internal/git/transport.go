package git

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"middleman/internal/plaintext"
)

// transportKeys are the settings that name a program by which git reaches a
// remote, and those that make a repository a partial clone, which git reaches
// its remote for whenever it misses a file. core.alternateRefsCommand runs in a
// fetch into a repository that borrows objects; an alias stands in for a
// git-remote-NAME that is not installed. receivepack is for a push, and nothing
// here pushes.
const transportKeys = `^(core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.(.*\.)?helper|alias\.remote-.*` +
	`|remote\..*\.(uploadpack|vcs|promisor|partialclonefilter)|extensions\.partialclone)$`

// setting is a setting of git's configuration.
type setting struct{ key, value string }

// Transport is how git reaches remotes without the programs that the
// repository's own configuration names for that. The zero value is with them.
type Transport struct {
	off      []string // the settings that are not used
	settings []setting
	env      []string
	// packs are remotes with an uploadpack of the repository's: git takes the
	// first that it reads, and what we set comes last.
	packs   []string
	Partial bool
}

// TransportOf finds out how commands at p may reach remotes; agreed says that the
// repository's programs may run.
func TransportOf(ctx context.Context, p Dirs, agreed bool) (Transport, error) {
	t := Transport{}
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

// transportSettings are those that the repository's own configuration has, with
// what it includes, and those of the user's.
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
	if _, err := list.Run(ctx); err != nil && ExitCode(err) != 1 { // 1: there is none
		return nil, nil, err
	}
	return own, users, nil
}

func marksPartial(key string) bool {
	return key == "extensions.partialclone" || strings.HasSuffix(key, ".promisor") || strings.HasSuffix(key, ".partialclonefilter")
}

// without turns s off, and what users has instead on.
func (t *Transport) without(s setting, users []setting) {
	var theirs []string
	for _, user := range users {
		if user.key == s.key {
			theirs = append(theirs, user.value)
		}
	}
	remote, isPack := strings.CutSuffix(s.key, ".uploadpack")
	switch {
	case marksPartial(s.key):
		return
	case strings.HasPrefix(s.key, "credential."):
		if s.value == "" {
			return // it empties the list, and names none
		}
		t.settings = append(t.settings, setting{"credential.helper", ""})
		for _, user := range users {
			if strings.HasPrefix(user.key, "credential.") {
				t.settings = append(t.settings, user)
			}
		}
	case isPack:
		if len(theirs) > 0 {
			return // git takes the first
		}
		t.packs = append(t.packs, strings.TrimPrefix(remote, "remote."))
	case s.key == "core.gitproxy":
		if slices.ContainsFunc(theirs, func(value string) bool { return !strings.Contains(value, " for ") }) {
			return // git takes the first for a host, and that is for all
		}
		t.env = append(t.env, "GIT_PROXY_COMMAND=")
	case len(theirs) > 0:
		t.settings = append(t.settings, setting{s.key, theirs[len(theirs)-1]})
	default:
		t.settings = append(t.settings, standIn(s))
	}
	t.off = append(t.off, plaintext.Quoted(s.key))
}

// standIn is what stands in for s where the user has nothing else.
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

// FetchOver returns c, a fetch from remote, so that it goes that way. In a partial clone the
// fetches that git starts itself would run the uploadpack.
func (t Transport) FetchOver(c Command, remote string) (Command, error) {
	if len(t.packs) > 0 && t.Partial {
		return c, fmt.Errorf("this is a partial clone: %s", t.Note())
	}
	if slices.Contains(t.packs, remote) {
		c.Args = slices.Insert(slices.Clone(c.Args), 1, "--upload-pack=git-upload-pack")
	}
	c.settings = t.settings
	c.Env = append(c.Env, t.env...)
	return c, nil
}

// Over returns c, which fetches what it misses, so that it goes that way, or fetches nothing
// where that would run an uploadpack.
func (t Transport) Over(c Command) Command {
	c.settings = t.settings
	c.Env = append(c.Env, t.env...)
	if len(t.packs) > 0 {
		c.Env = append(c.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	}
	return c
}

// Note says what is not used, or "".
func (t Transport) Note() string {
	if len(t.off) == 0 {
		return ""
	}
	return fmt.Sprintf("programs of the repository's configuration were not used to reach a remote (%s): --filters agrees to them", strings.Join(t.off, ", "))
}

// Explain adds to err, of a command that may have needed a remote, what was not
// used.
func (t Transport) Explain(err error) error {
	if note := t.Note(); err != nil && note != "" {
		return fmt.Errorf("%w (%s)", err, note)
	}
	return err
}
