//go:build faults

package ptyowner_test

import (
	"context"
	"testing"
	"time"

	"middleman/internal/fault"
	"middleman/ptyowner"
	"middleman/terminal"
)

// The steps of an upgrade at which the owner may die, and those that may fail.
var (
	upgradePlaces = []string{
		"upgrade/paused", "upgrade/state-written", "upgrade/checked", "upgrade/before-exec",
		"upgrade/state-read", "upgrade/taken-over",
	}
	upgradeErrors = []string{"upgrade/check", "upgrade/exec", "upgrade/import"}
)

// An owner that is killed at any step of an upgrade leaves a lost session with
// its output, and nothing else; on tmux one that runs.
func TestFaultOwnerKilledWhileUpgrading(t *testing.T) {
	l, image := newLab(t), otherImage(t)
	for _, name := range upgradePlaces {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := catSpec()
			session := b.Session(s.ID)
			at(t, p, name, fault.Kill)
			start(t, b, s, nil)
			answers(t, session)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := b.Upgrade(ctx, s.ID, image)
			oneLine(t, err, s.ID)
			b.Wait()
			reached(t, p, name)
			want := terminal.StateLost
			if replaced(t, session) {
				want = terminal.StateRunning
			}
			status, err := session.Status(context.Background())
			if err != nil || status.State != want {
				t.Errorf("%+v, %v, want %s", status, err, want)
			}
			if got := kept(t, session); got != "READYtyped" {
				t.Errorf("output %q", got)
			}
			ends(t, session)
			if _, err := b.Start(context.Background(), catSpecOf(s.ID)); err != nil {
				t.Fatalf("start after the remove: %v", err)
			}
			answers(t, session)
			ends(t, session)
		})
	}
}

// A step of an upgrade that fails is an error, and the session goes on.
func TestFaultUpgradeStepFails(t *testing.T) {
	l, image := newLab(t), otherImage(t)
	for _, name := range upgradeErrors {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := catSpec()
			session := b.Session(s.ID)
			if err := p.Set(name, fault.Broken, 0, 1); err != nil { // once: the way back is open
				t.Fatal(err)
			}
			before := start(t, b, s, nil)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := b.Upgrade(ctx, s.ID, image)
			oneLine(t, err, s.ID)
			reached(t, p, name)
			answers(t, session)
			if now, err := session.Status(context.Background()); err != nil || now.PID != before.PID || now.State != terminal.StateRunning {
				t.Errorf("%+v, %v: want program %d", now, err, before.PID)
			}
			upgradeOwner(t, b, s.ID, image)
			ends(t, session)
		})
	}
}
