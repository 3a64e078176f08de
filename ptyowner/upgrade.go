package ptyowner

import (
	"context"
	"fmt"

	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// Upgrade is the result of an owner's upgrade.
type Upgrade struct {
	// From and To are the builds of the owner before and after.
	From, To string
}

// Upgrade replaces the executable of a session's owner; executable is an
// absolute path. The owner keeps its process, PTY, program, connections and
// offsets. The program and the viewers notice a pause. It blocks until the new
// build answers. On error the owner goes on with the old build. The
// error tells why: the session has ended (terminal.ErrEnded), the owner's build
// has no upgrades (errors.ErrUnsupported), or the executable cannot take over.
func (b *Backend) Upgrade(ctx context.Context, id, executable string) (Upgrade, error) {
	s := &session{b: b, dir: b.stateDir(id)}
	c, l, err := s.connect(ctx, wire.Hello{Mode: wire.ModeControl, Client: "upgrade"})
	switch {
	case err != nil:
		return Upgrade{}, err
	case c == nil && l.exit != nil:
		return Upgrade{}, fmt.Errorf("session %s: %w", id, terminal.ErrEnded)
	case c == nil:
		return Upgrade{}, fmt.Errorf("session %s: %w: its owner ended without an exit record", id, terminal.ErrGone)
	}
	defer c.close()
	var result wire.UpgradeResult
	_, err = c.request(ctx, wire.VerbUpgrade, wire.UpgradeArgs{Executable: executable}, &result)
	return Upgrade(result), err
}

// Runs reports whether a session's owner runs this executable already, and the
// owner's build. Callers use it to skip such owners.
func (b *Backend) Runs(id, executable string) (same bool, build string, err error) {
	r, err := b.stateDir(id).ReadRecord()
	if err != nil {
		return false, "", err
	}
	same, err = r.Runs(executable)
	return same, r.Build, err
}
