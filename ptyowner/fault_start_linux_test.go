//go:build faults

package ptyowner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"middleman/internal/fault"
	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
)

// The steps of a start, in the process that starts and in the owner.
var (
	starterPlaces = []string{
		"starter/directory-made", "starter/lock-taken", "starter/owner-spawned", "starter/report-read",
	}
	ownerStartPlaces = []string{
		"start/specification-read", "start/lock-taken", "start/journal-created", "start/socket-bound",
		"file/owner.json/written", "file/owner.json/renamed", "start/record-written",
		"start/program-started", "start/reported",
	}
)

func catSpec() terminal.Spec { return spec("stty raw -echo; printf READY; exec cat") }

// An owner that is killed at any step before it is ready is one clear error,
// leaves nothing, and the same id starts at once. A host that outlives its owner
// goes on from the moment that the program runs.
func TestFaultOwnerKilledWhileStarting(t *testing.T) {
	l := newLab(t)
	for _, name := range ownerStartPlaces {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := catSpec()
			session := b.Session(s.ID)
			at(t, p, name, fault.Kill)
			status, err := b.Start(context.Background(), s)
			reached(t, p, name)
			if (name == "start/program-started" || name == "start/reported") && replaced(t, session) {
				if err != nil || status.PID == 0 {
					t.Errorf("start: %+v, %v, want the program that another owner has", status, err)
				}
				ends(t, session)
				return
			}
			if name == "start/reported" { // it was ready: what is left is a lost session
				b.Wait()
				if status, err = session.Status(context.Background()); err != nil || status.State != terminal.StateLost {
					t.Fatalf("%+v, %v, want lost", status, err)
				}
				ends(t, session)
			} else {
				oneLine(t, err, s.ID)
				if status, err := session.Status(context.Background()); !errors.Is(err, terminal.ErrNotFound) {
					t.Errorf("%+v, %v, want not found", status, err)
				}
			}
			if status, err = b.Start(context.Background(), s); err != nil || status.State != terminal.StateRunning {
				t.Fatalf("next start: %+v, %v", status, err)
			}
			answers(t, session)
			ends(t, session)
		})
	}
}

// A program that hears no hangup is ended with the start that did not work, or
// the start has worked, with another owner.
func TestFaultOwnerKilledWithItsProgramStarted(t *testing.T) {
	l := newLab(t)
	l.run("start/program-started", func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
		mark := filepath.Join(t.TempDir(), "pid")
		s := spec(`trap "" HUP TERM; echo $$ >` + mark + `.new; mv ` + mark + `.new ` + mark + `; while sleep 0.05; do :; done`)
		at(t, p, "start/program-started", fault.Hold)
		failed := make(chan error, 1)
		go func() {
			_, err := b.Start(context.Background(), s)
			failed <- err
		}()
		owner := held(t, p, "start/program-started")
		var program int
		testenv.Eventually(t, time.Minute, "the program runs", func() bool {
			_, err := os.Stat(mark)
			return err == nil
		})
		program = readPID(t, mark)
		if err := syscall.Kill(owner, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		err := testenv.Receive(t, time.Minute, "the start's error", failed)
		if replaced(t, b.Session(s.ID)) {
			if err != nil {
				t.Errorf("start: %v", err)
			}
			ends(t, b.Session(s.ID))
			return
		}
		oneLine(t, err, s.ID)
		if err := syscall.Kill(program, 0); err == nil {
			gone(t, program) // at most its parent's duty is left
		}
		if _, err := b.Session(s.ID).Status(context.Background()); !errors.Is(err, terminal.ErrNotFound) {
			t.Errorf("status: %v, want not found", err)
		}
	})
}

// settle waits until a session is running and can be reached, or nothing of
// it runs.
func settle(t *testing.T, s terminal.Session) (status terminal.Status) {
	t.Helper()
	testenv.Eventually(t, time.Minute, "the session runs or is proved dead", func() (done bool) {
		var err error
		if status, err = s.Status(context.Background()); err != nil {
			return false
		}
		if status.State == terminal.StateExited {
			t.Fatalf("a false exit: %+v", status)
		}
		return status.State == terminal.StateRunning || status.State == terminal.StateLost
	})
	return status
}

// The server is killed at any step of a start: the session runs and can be
// reached, or there is none, and the same start again has it running.
func TestFaultStarterKilledWhileStarting(t *testing.T) {
	l := newLab(t)
	for _, name := range starterPlaces {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := catSpec()
			session := b.Session(s.ID)
			at(t, p, name, fault.Kill)
			killed(t, child{Data: l.data, Do: "start", Spec: s}.run(t))
			reached(t, p, name)
			before := settle(t, session)
			if name == "starter/report-read" && before.State != terminal.StateRunning {
				t.Errorf("%+v: it was ready", before)
			}
			status, err := b.Start(context.Background(), s)
			if err != nil || status.State != terminal.StateRunning {
				t.Fatalf("next start: %+v, %v", status, err)
			}
			if before.State == terminal.StateRunning && before.PID != status.PID {
				t.Errorf("program %d became %d", before.PID, status.PID)
			}
			answers(t, session)
			ends(t, session)
		})
	}
}

// The server is killed while the owner is at any step: the owner goes on, and
// the session runs and can be reached.
func TestFaultStarterKilledBesideItsOwner(t *testing.T) {
	l := newLab(t)
	for _, name := range ownerStartPlaces {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := catSpec()
			at(t, p, name, fault.Hold)
			cmd := child{Data: l.data, Do: "start", Spec: s}.run(t)
			held(t, p, name)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if name != "start/reported" { // there it may have ended well
				killed(t, cmd)
			} else {
				cmd.Wait()
			}
			release(t, p, name)
			session := b.Session(s.ID)
			testenv.Eventually(t, time.Minute, "the session runs", func() bool {
				status, err := session.Status(context.Background())
				return err == nil && status.State == terminal.StateRunning
			})
			answers(t, session)
			ends(t, session)
		})
	}
}

// While a session starts nobody takes it for a lost one, also if the server was killed
// meanwhile. Another start of it waits, and finds the first one's owner.
func TestFaultLookWhileStarting(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{"starter/lock-taken", "starter/owner-spawned", "start/specification-read"} {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := catSpec()
			session := b.Session(s.ID)
			starts := func(when string) {
				t.Helper()
				status, err := session.Status(context.Background())
				if err != nil || status.State != terminal.StateStarting {
					t.Errorf("%s: %+v, %v, want starting", when, status, err)
				}
				if err := session.Remove(context.Background()); !errors.Is(err, terminal.ErrRunning) {
					t.Errorf("remove %s: %v", when, err)
				}
			}
			at(t, p, name, fault.Hold)
			cmd := child{Data: l.data, Do: "start", Spec: s}.run(t)
			held(t, p, name)
			if name != "starter/owner-spawned" { // there the owner goes on
				starts("while it starts")
			}
			if name == "start/specification-read" {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				killed(t, cmd)
				starts("after its starter was killed")
				second := fault.NewPlan(t.TempDir())
				t.Setenv(second.Variable())
				at(t, second, name, fault.Note)
				started := make(chan error, 1)
				go func() {
					_, err := b.Start(context.Background(), s)
					started <- err
				}()
				defer func() {
					if err := testenv.Receive(t, time.Minute, "the second start", started); err != nil {
						t.Errorf("the second start: %v", err)
					}
					if n, err := second.Reached(name); err != nil || n != 0 {
						t.Errorf("the second start made an owner, %v", err)
					}
					ends(t, session)
				}()
			} else {
				defer func() {
					cmd.Wait()
					ends(t, session)
				}()
			}
			release(t, p, name)
			answers(t, session)
		})
	}
}

// Two owners of one session can meet where a server was killed between
// spawning the first and its taking the lock, and the first could not inherit
// start.lock (on Windows). One of them runs it, and the second start is told so,
// whichever it is.
func TestFaultTwoOwnersMeet(t *testing.T) {
	const name = "start/specification-read"
	l := newLab(t)
	for _, title := range []string{"the first goes first", "the second goes first"} {
		l.run(title, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := catSpec()
			session := b.Session(s.ID)
			at(t, p, name, fault.Hold)
			cmd := child{Data: l.data, Do: "start", Spec: s}.run(t)
			first := held(t, p, name)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed(t, cmd)
			forgetStartLock(t, l, s.ID)

			second := fault.NewPlan(t.TempDir())
			t.Setenv(second.Variable())
			at(t, second, name, fault.Hold)
			started := make(chan error, 1)
			go func() {
				_, err := b.Start(context.Background(), s)
				started <- err
			}()
			held(t, second, name)
			order := []*fault.Plan{p, second}
			if title == "the second goes first" {
				order = []*fault.Plan{second, p}
			}
			release(t, order[0], name)
			testenv.Eventually(t, time.Minute, "the session runs", func() bool {
				status, err := session.Status(context.Background())
				return err == nil && status.State == terminal.StateRunning
			})
			release(t, order[1], name)
			if err := testenv.Receive(t, time.Minute, "the second start", started); err != nil {
				t.Errorf("the second start: %v", err)
			}
			if title == "the second goes first" {
				gone(t, first)
			}
			answers(t, session)
			ends(t, session)
		})
	}
}

// forgetStartLock makes the next starter take a start.lock of its own, as if the owner of
// the last one had not inherited that one's.
func forgetStartLock(t *testing.T, l *lab, id string) {
	t.Helper()
	if err := os.Remove(l.file(id, "start.lock")); err != nil {
		t.Fatal(err)
	}
}

// An owner whose starter was killed, that could not inherit start.lock, and that gets a
// processor only after the session was started anew and has ended, runs nothing.
func TestFaultOwnerComesTooLate(t *testing.T) {
	const name = "start/specification-read"
	l := newLab(t)
	l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
		s := catSpec()
		session := b.Session(s.ID)
		at(t, p, name, fault.Hold)
		cmd := child{Data: l.data, Do: "start", Spec: s}.run(t)
		late := held(t, p, name)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		killed(t, cmd)
		forgetStartLock(t, l, s.ID)
		start(t, b, s, nil)
		answers(t, session)
		if err := session.Stop(context.Background(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		b.Wait() // the lock is free
		before, err := session.Status(context.Background())
		if err != nil || before.State != terminal.StateExited {
			t.Fatalf("after the stop: %+v, %v", before, err)
		}
		release(t, p, name)
		gone(t, late)
		after, err := session.Status(context.Background())
		if err != nil || after.State != terminal.StateExited || after.PID != 0 || *after.Exit != *before.Exit {
			t.Errorf("after the late owner: %+v, %v; was %+v", after, err, before)
		}
		if err := session.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func release(t *testing.T, p *fault.Plan, name string) {
	t.Helper()
	if err := p.Release(name); err != nil {
		t.Fatal(err)
	}
}

// What ran under an id before, and could not be told that its start did not
// work, is named by the next start, which touches nothing.
func TestFaultStartBesideStrays(t *testing.T) {
	l := newLab(t)
	l.run("start/reported", func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
		s := spec(`trap "" HUP; stty raw -echo; printf READY; while sleep 0.05; do :; done`)
		status := start(t, b, s, nil)
		session := b.Session(s.ID)
		if err := waitText(session, "READY"); err != nil {
			t.Fatal(err)
		}
		loseOwner(t, l.data, s.ID)
		b.Wait()
		_, err := b.Start(context.Background(), s)
		oneLine(t, err, s.ID)
		if !errors.Is(err, terminal.ErrGone) {
			t.Errorf("start of a lost session: %v, want gone", err)
		}
		if now, err := session.Status(context.Background()); err != nil || now.State != terminal.StateLost || !slices.Contains(now.Left, status.PID) {
			t.Errorf("%+v, %v: want lost, with program %d left", now, err, status.PID)
		}
		if got := output(t, session); got != "READY" {
			t.Errorf("output %q", got)
		}
		ends(t, session)
		if _, err := b.Start(context.Background(), catSpecOf(s.ID)); err != nil {
			t.Errorf("start after the remove: %v", err)
		}
		answers(t, session)
		ends(t, session)
	})
}

func catSpecOf(id string) terminal.Spec {
	s := catSpec()
	s.ID = id
	return s
}
