package bundle

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/internal/agent"
)

var (
	workspaceID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`) })
	program     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`) })
)

// ValidDigest reports whether text is a digest: 64 lower-case hexadecimal digits.
func ValidDigest(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 32 && strings.ToLower(text) == text
}

// check refuses a content that cannot be meant, and names its field.
func (b Bundle) check() error {
	switch {
	case !isName(b.ID):
		return invalid("id", "must consist of at most 64 lower-case letters, digits, dots, dashes and underscores")
	case b.Revision < 1:
		return invalid("revision", "must be 1 or more")
	case !workspaceID().MatchString(b.Workspace):
		return invalid("workspace", "must be the id of a workspace")
	case b.Digest != "" && !ValidDigest(b.Digest):
		return invalid("digest", "must be 64 lower-case hexadecimal digits")
	case len(b.Profiles) == 0:
		return invalid("profiles", "has no profile")
	}
	if why := hostile(b.ID); why != "" {
		return invalid("id", "%s", why)
	}
	if at, err := time.Parse(time.RFC3339, b.Created); err != nil || at.UTC().Format(time.RFC3339) != b.Created {
		return invalid("created", "must be a time such as 2026-11-24T01:02:03Z")
	}
	if err := b.Provenance.check(); err != nil {
		return err
	}
	if err := b.checkDeclarations(); err != nil {
		return err
	}
	for name, p := range b.Profiles {
		if err := b.checkProfile(name, p); err != nil {
			return err
		}
	}
	return nil
}

func (p Provenance) check() error {
	for _, text := range []struct{ field, is string }{{"author", p.Author}, {"tool", p.Tool}, {"source", p.Source}} {
		if why := hostile(text.is); why != "" {
			return invalid("provenance."+text.field, "%s", why)
		}
	}
	if u, err := url.Parse(p.Source); p.Source != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return invalid("provenance.source", "must be an https URL without a user, a query and a fragment")
	}
	if raw, err := hex.DecodeString(p.Commit); p.Commit != "" && (err != nil || len(raw) != 20 && len(raw) != 32 || strings.ToLower(p.Commit) != p.Commit) {
		return invalid("provenance.commit", "must be 40 or 64 lower-case hexadecimal digits")
	}
	return nil
}

func (b Bundle) checkDeclarations() error {
	seen := map[Ref]bool{}
	variables := map[string]bool{}
	for i, d := range b.Declarations {
		field := fmt.Sprintf("declarations[%d]", i)
		switch {
		case seen[d.Ref]:
			return invalid(field+".ref", "%s is declared twice", d.Ref)
		case d.Write && d.Ref.Kind != Mount:
			return invalid(field+".write", "only a %s has it", Mount)
		case d.Env != "" && d.Ref.Kind != Secret:
			return invalid(field+".env", "only a %s has it", Secret)
		case d.Ref.Kind == Secret && d.Env == "":
			return invalid(field+".env", "is missing: a %s names the variable that gets the value", Secret)
		case d.Env != "" && variables[d.Env]:
			return invalid(field+".env", "another declaration has %s", d.Env)
		}
		if seen[d.Ref] = true; d.Env == "" {
			continue
		}
		variables[d.Env] = true
		if err := checkVariable(field+".env", d.Env); err != nil {
			return err
		}
	}
	return nil
}

func (b Bundle) checkProfile(name string, p Profile) error {
	field := "profiles." + name
	if !isName(name) || name == agent.Shell {
		return invalid("profiles", "%q is no name of a profile: it must consist of lower-case letters, digits, dots, dashes and underscores, and not be %s", name, agent.Shell)
	}
	if why := hostile(name); why != "" {
		return invalid(field, "%s", why)
	}
	for _, l := range []struct {
		field string
		items []string
		names bool // items are names of programs, variables or profiles
	}{
		{"command", p.Command, false}, {"prompt", p.Prompt, false}, {"identify", p.Identify, false}, {"resume", p.Resume, false},
		{"env", p.Env, true}, {"spawn", p.Spawn, true}, {"stop", p.Stop, false},
	} {
		for i, item := range l.items {
			at := fmt.Sprintf("%s.%s[%d]", field, l.field, i)
			if why := hostile(item); why != "" {
				return invalid(at, "%s", why)
			}
			isProgram := i == 0 && (l.field == "command" || l.field == "resume")
			if isProgram && !program().MatchString(item) {
				return invalid(at, "must be the name of a program that the host has in PATH")
			}
			if l.names && slices.Contains(l.items[:i], item) {
				return invalid(at, "%s is there twice", item)
			}
			if l.field == "env" {
				if err := checkVariable(at, item); err != nil {
					return err
				}
			}
			if l.field == "spawn" && !isName(item) {
				return invalid(at, "must be the name of a profile")
			}
		}
	}
	return b.checkUses(field, name, p)
}

func (b Bundle) checkUses(field, name string, p Profile) error {
	for i, use := range p.Uses {
		at := fmt.Sprintf("%s.uses[%d]", field, i)
		if !slices.ContainsFunc(b.Declarations, func(d Declaration) bool { return d.Ref.String() == use }) {
			return invalid(at, "%s is not among the declarations of the bundle", use)
		}
		if slices.Contains(p.Uses[:i], use) {
			return invalid(at, "%s is there twice", use)
		}
	}
	d := p.Definition()
	d.Approvals = p.Approvals
	if err := d.Check(name); err != nil {
		text := strings.TrimPrefix(err.Error(), "profiles."+name+": ")
		return &Error{Kind: ErrInvalid, Field: field + cmp.Or(fieldIn(text), ""), Text: text}
	}
	return nil
}

// fieldIn returns ".FIELD" for an error of agent.Definition.Check that begins with the
// name of a field, "" for another.
func fieldIn(text string) string {
	for _, field := range []string{"command", "prompt", "identify", "resume", "like", "sandbox", "submit", "stop", "grace", "approvals"} {
		if strings.HasPrefix(text, field) {
			return "." + field
		}
	}
	return ""
}

// inField adds the field to an error of a reference.
func inField(field string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Kind: e.Kind, Field: field, Text: e.Text}
	}
	return err
}
