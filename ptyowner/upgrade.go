package ptyowner

import (
	"context"
	"fmt"

	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// Upgrade says what became of an owner.
type Upgrade struct {
	// From and To are the builds that ran and that runs now.
	From, To string
}

// Upgrade lets a session's owner go on as another executable, which is named by
// its absolute path: the same process, with the same PTY, program, connections
// and offsets. The program and those who are attached notice a pause. Where it
// cannot be done the owner goes on as it was, and the error says why: the
// session has ended (terminal.ErrEnded), the owner is of a build that cannot
// (errors.ErrUnsupported), or the executable cannot take over.
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

// Runs reports whether a session's owner is the executable already, and which
// build it is. It is for those who want to leave such an owner alone.
func (b *Backend) Runs(id, executable string) (same bool, build string, err error) {
	r, err := b.stateDir(id).ReadRecord()
	if err != nil {
		return false, "", err
	}
	same, err = r.Runs(executable)
	return same, r.Build, err
}
