package ptyowner

import (
	"errors"
	"fmt"
	"slices"

	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// Owners outlive upgrades, so a client meets owners of other builds. The two
// understand each other if their ranges of protocol versions overlap. The
// features in the owner's Welcome, named like the verbs, tell which verbs it
// knows; wire.FeatureExpect tells which arguments.

// versionError reports that owner and client have no protocol version in
// common. It says nothing about the session, so it proves nothing.
type versionError struct {
	session, text string
}

func (e *versionError) Error() string {
	return fmt.Sprintf("session %s: %s; the session goes on, and a build that speaks its protocol can reach it", e.session, e.text)
}

func (e *versionError) Unwrap() []error {
	return []error{terminal.ErrUnreachable, errors.ErrUnsupported}
}

// understands returns an error unless this build and the owner that r names
// have a protocol version in common.
func understands(session string, r state.Record) error {
	if r.MinProtocol <= wire.MaxVersion && r.MaxProtocol >= wire.MinVersion {
		return nil
	}
	return &versionError{session, fmt.Sprintf("its owner (build %s) speaks protocol %d to %d, this build %d to %d",
		r.Build, r.MinProtocol, r.MaxProtocol, wire.MinVersion, wire.MaxVersion)}
}

// can returns an error unless the owner knows a verb with these arguments. Every
// owner knows status.
func (c *client) can(verb wire.Verb, args any) error {
	feature := string(verb)
	switch a := args.(type) {
	case wire.InputArgs:
		if a.Expect != nil {
			feature = wire.FeatureExpect
			if a.Expect.Held {
				feature = wire.FeatureHeld
			}
		}
	case wire.CaptureArgs:
		if a.Rows != nil {
			feature = wire.FeatureExpect
		}
	}
	if verb == wire.VerbStatus || slices.Contains(c.welcome.Features, feature) {
		return nil
	}
	return fmt.Errorf("session %s: its owner (build %s) does not have the feature %q; the session goes on, and sessions that are started now have it: %w",
		c.session, c.build, feature, errors.ErrUnsupported)
}
