// Package bundle defines a bundle: a versioned set of profiles and declarations that a
// team launches its programs with, known by the SHA-256 of its canonical form. It reads
// bundles strictly, and writes the canonical form. It stores and starts nothing.
//
// A bundle has references and requests. It never has values of secrets, nor paths of a
// host: the host that runs a session decides what it gives (package grants).
package bundle

import (
	"errors"
	"fmt"
	"slices"

	"middleman/internal/agent"
)

// schemaVersion is the one schema that this version reads. A field that it does not know is
// refused, so each new field needs a new number.
const schemaVersion = 1

// Limits of a bundle. Each is checked while it is read.
const (
	MaxBytes  = 1 << 20
	maxString = 8 << 10 // bytes of one text
	maxItems  = 256     // of one list or object
	maxDepth  = 5
)

// Bundle is the content of a bundle.
type Bundle struct {
	ID string
	// Revision counts from 1. A newer content has a higher one.
	Revision int64
	// Workspace is the id of the workspace where the bundle was made, "" for none.
	Workspace string
	// Created is a time such as 2026-11-24T01:02:03Z.
	Created      string
	Provenance   Provenance
	Profiles     map[string]Profile
	Declarations []Declaration
	// Digest is what the document says that its digest is, "" if it says nothing. It
	// is no part of the canonical form, and nor is Stored.
	Digest string
	// Stored says where and when the document was stored, "" if it says nothing.
	Stored string
}

// Provenance says where a bundle comes from.
type Provenance struct {
	Author string
	Tool   string
	Source string // an https URL
	Commit string // 40 or 64 hexadecimal digits
}

// Profile is a profile of a bundle: what agent.Definition has, without what names paths
// and hosts, and the declarations that it uses.
type Profile struct {
	Command, Prompt, Identify, Resume, Env, Spawn, Stop []string

	Like, Submit, Sandbox, Grace string

	Approvals bool
	// Uses are references that the bundle declares.
	Uses []string
}

// Declaration is what a bundle asks of the host that runs it.
type Declaration struct {
	Ref Ref
	// Env is the variable that gets the value of a secret-ref.
	Env string
	// Write asks for a mount that the program may change.
	Write bool
	// Optional lets the program start if the host refuses.
	Optional bool
}

// Errors that callers branch on; each comes in an *Error.
var (
	ErrInvalid     = errors.New("the bundle is not valid")
	ErrMissing     = errors.New("there is no such bundle")
	ErrDigest      = errors.New("the digest does not match")
	ErrProfile     = errors.New("the bundle has no such profile")
	ErrUnsupported = errors.New("the declaration is not supported")
	ErrChanged     = errors.New("the revision has another content")
	ErrInUse       = errors.New("the bundle is in use")
	ErrStore       = errors.New("the store of bundles cannot be read")
	ErrRefused     = errors.New("the host refuses what the profile needs")
	ErrSecret      = errors.New("the secret cannot be read")
)

// Error is an error about a bundle.
type Error struct {
	Kind error // one of the errors above
	// Field is the part of the document that is at fault, such as
	// profiles.claude.command[0]; "" if that is no part.
	Field string
	Text  string // one line for the user
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Text
	}
	return e.Field + ": " + e.Text
}

func (e *Error) Unwrap() error { return e.Kind }

// Errorf returns an *Error without a field.
func Errorf(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *Error {
	return &Error{Kind: ErrInvalid, Field: field, Text: fmt.Sprintf(format, args...)}
}

// Definition returns the profile as one that is launched. It has none of what a host
// must grant.
func (p Profile) Definition() agent.Definition {
	return agent.Definition{
		Command: p.Command, Prompt: p.Prompt, Identify: p.Identify, Resume: p.Resume,
		Like: p.Like, Submit: p.Submit, Stop: p.Stop, Sandbox: p.Sandbox, Grace: p.Grace, Spawn: []string{},
	}
}

// Profile returns a profile of the bundle. The error is ErrProfile if it has none of
// that name.
func (b Bundle) Profile(name string) (Profile, error) {
	p, ok := b.Profiles[name]
	if !ok {
		return p, Errorf(ErrProfile, "bundle %s (revision %d) has no profile %q: `middleman bundle show %s` lists its profiles", b.ID, b.Revision, name, b.ID)
	}
	return p, nil
}

// Requested returns what a launch of a profile asks of a host: what the profile needs,
// and of what is optional those that are named; nil names all. The error is
// ErrUnsupported for one that the profile does not declare.
func (b Bundle) Requested(p Profile, named []string) ([]Declaration, error) {
	asked := b.Asks(p)
	if named == nil {
		return asked, nil
	}
	wanted := map[Ref]bool{}
	for _, text := range named {
		ref, err := ParseRef(text)
		if err != nil {
			return nil, inField("capabilities", err)
		}
		if !slices.ContainsFunc(asked, func(d Declaration) bool { return d.Ref == ref }) {
			return nil, Errorf(ErrUnsupported, "the profile does not ask for %s, so it cannot be requested", ref)
		}
		wanted[ref] = true
	}
	return slices.DeleteFunc(asked, func(d Declaration) bool { return d.Optional && !wanted[d.Ref] }), nil
}

// Asks returns what a profile of the bundle asks of a host: what it uses, and what
// follows from its env, approvals and spawn.
func (b Bundle) Asks(p Profile) []Declaration {
	var asked []Declaration
	for _, use := range p.Uses {
		if i := slices.IndexFunc(b.Declarations, func(d Declaration) bool { return d.Ref.String() == use }); i >= 0 {
			asked = append(asked, b.Declarations[i])
		}
	}
	add := func(capability string) {
		ref := Ref{Capability, capability}
		if !slices.ContainsFunc(asked, func(d Declaration) bool { return d.Ref == ref }) {
			asked = append(asked, Declaration{Ref: ref})
		}
	}
	for _, name := range p.Env {
		add(CapabilityEnv + name)
	}
	if p.Approvals {
		add(CapabilityApprovals)
	}
	if len(p.Spawn) > 0 {
		add(CapabilitySpawn)
	}
	return asked
}
