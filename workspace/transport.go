package workspace

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

// configured is a setting of git's configuration.
type configured struct{ key, value string }

// transport is how git reaches remotes without the programs that the
// repository's own configuration names for that. The zero value is with them.
type transport struct {
	off      []string // the settings that are not used
	settings []configured
	env      []string
	// packs are remotes with an uploadpack of the repository's: git takes the
	// first that it reads, and what we set comes last.
	packs   []string
	partial bool
}

// transportOf finds out how commands at p reach remotes; agreed says that the
// repository's programs may run.
func transportOf(ctx context.Context, p gitDirs, agreed bool) (transport, error) {
	t := transport{}
	own, users, err := transportSettings(ctx, p)
	if err != nil {
		return t, err
	}
	for _, s := range slices.Concat(own, users) {
		t.partial = t.partial || marksPartial(s.key)
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
func transportSettings(ctx context.Context, p gitDirs) (own, users []configured, err error) {
	scope := ""
	list := p.look("config", "--null", "--show-scope", "--get-regexp", transportKeys)
	list.each = func(record string) {
		if scope == "" {
			scope = record
			return
		}
		key, value, _ := strings.Cut(record, "\n")
		switch scope {
		case "system", "global":
			users = append(users, configured{key, value})
		default:
			own = append(own, configured{key, value})
		}
		scope = ""
	}
	if _, err := list.run(ctx); err != nil && exitCode(err) != 1 { // 1: there is none
		return nil, nil, err
	}
	return own, users, nil
}

func marksPartial(key string) bool {
	return key == "extensions.partialclone" || strings.HasSuffix(key, ".promisor") || strings.HasSuffix(key, ".partialclonefilter")
}

// without turns s off, and what users has instead on.
func (t *transport) without(s configured, users []configured) {
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
		t.settings = append(t.settings, configured{"credential.helper", ""})
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
		t.settings = append(t.settings, configured{s.key, theirs[len(theirs)-1]})
	default:
		t.settings = append(t.settings, standIn(s))
	}
	t.off = append(t.off, plaintext.Quoted(s.key))
}

// standIn is what stands in for s where the user has nothing else.
func standIn(s configured) configured {
	switch {
	case strings.HasSuffix(s.key, ".vcs"):
		return configured{"protocol." + s.value + ".allow", "never"}
	case s.key == "core.sshcommand":
		if ssh := os.Getenv("GIT_SSH"); ssh != "" {
			return configured{s.key, "'" + strings.ReplaceAll(ssh, "'", `'\''`) + "'"}
		}
		return configured{s.key, "ssh"}
	case s.key == "core.alternaterefscommand":
		return configured{s.key, ":"}
	}
	return configured{s.key, ""} // no askPass; git refuses an empty alias
}

// fetchOver has c, a fetch from remote, go that way. In a partial clone the
// fetches that git starts itself would run the uploadpack.
func (t transport) fetchOver(c command, remote string) (command, error) {
	if len(t.packs) > 0 && t.partial {
		return c, fmt.Errorf("this is a partial clone: %s", t.note())
	}
	if slices.Contains(t.packs, remote) {
		c.args = slices.Insert(slices.Clone(c.args), 1, "--upload-pack=git-upload-pack")
	}
	c.settings = t.settings
	c.env = append(c.env, t.env...)
	return c, nil
}

// over has c, which fetches what it misses, go that way; it fetches nothing
// where that would run an uploadpack.
func (t transport) over(c command) command {
	c.settings = t.settings
	c.env = append(c.env, t.env...)
	if len(t.packs) > 0 {
		c.env = append(c.env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	}
	return c
}

// note says what is not used, or "".
func (t transport) note() string {
	if len(t.off) == 0 {
		return ""
	}
	return fmt.Sprintf("programs of the repository's configuration were not used to reach a remote (%s): --filters agrees to them", strings.Join(t.off, ", "))
}

// explain adds to err, of a command that may have needed a remote, what was not
// used.
func (t transport) explain(err error) error {
	if note := t.note(); err != nil && note != "" {
		return fmt.Errorf("%w (%s)", err, note)
	}
	return err
}
