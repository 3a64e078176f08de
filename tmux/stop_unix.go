//go:build unix

package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

const (
	// killTime is how long processes may take to go after SIGKILL, and the
	// exit to be recorded after the last one went.
	killTime = 5 * time.Second
	// processInterval is how often /proc is read for what is left: nothing
	// tells of the end of a process that is not our child.
	processInterval = 5 * time.Millisecond
)

// Stop implements terminal.Session.
func (s *session) Stop(ctx context.Context, grace time.Duration) error {
	rec, state, _, err := s.present()
	if err != nil {
		return err
	}
	if grace == 0 {
		grace = rec.Grace
	}
	if !state.Ended() {
		defer s.markStopping(ctx)()
	}
	l, err := s.launcher()
	if err != nil {
		return err
	}
	find, held, err := s.processes(ctx, rec, l)
	if err != nil {
		return err
	}
	if l.PID != 0 {
		left, err := endProcesses(ctx, find, grace)
		if err != nil {
			return fmt.Errorf("stop session %s: %w", s.id, err)
		}
		if len(left) > 0 {
			return &terminal.LeftoverError{Session: s.id, PIDs: left}
		}
	}
	if held {
		if err := s.awaitLauncher(ctx, killTime); err != nil {
			return err
		}
	}
	if state == terminal.StateFailed || state == terminal.StateExited {
		return nil
	}
	return s.killMarked(ctx, rec.server())
}

// markTime is how long a stop waits to be the one that is shown: another that
// is under way shows it too.
const markTime = 50 * time.Millisecond

// markStopping makes the status say that a stop is under way, until the
// function that it returns is called. What cannot be marked is stopped too.
func (s *session) markStopping(ctx context.Context) (done func()) {
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	lock, err := s.lock(ctx, stopLock)
	if err != nil {
		return func() {}
	}
	return func() { lock.Close() }
}

// processes returns how to find what the session has started and has not
// ended, and whether the launcher lives: its descendants then, as it is their
// subreaper, else what carries the session's id.
func (s *session) processes(ctx context.Context, rec record, l launcher) (find func() ([]int, error), held bool, err error) {
	if held, err = s.dir.running(); err != nil {
		return nil, false, err
	}
	if !held {
		return leftOf(s.id), false, nil
	}
	spare := rec.server().pid(ctx)
	return func() ([]int, error) { return descendants(l.PID, spare) }, true, nil
}

// left are the processes that outlive an ended session's program.
func (s *session) left(ctx context.Context, rec record, l launcher) ([]int, error) {
	if l.PID == 0 { // no program ever ran
		return nil, nil
	}
	find, _, err := s.processes(ctx, rec, l)
	if err != nil {
		return nil, err
	}
	left, err := find()
	if err != nil {
		return nil, fmt.Errorf("session %s: %w: look for processes: %w", s.id, terminal.ErrUnreachable, err)
	}
	return left, nil
}

// awaitLauncher waits until the launcher has let go of its lock, which it does
// after the exit is recorded and nothing is left.
func (s *session) awaitLauncher(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(processInterval)
	defer tick.Stop()
	for {
		running, err := s.dir.running()
		if !running || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of session %s: %w: %w", s.id, terminal.ErrUnreachable, ctx.Err())
		case <-tick.C:
		}
	}
}

// pid is the tmux server's process, 0 where it does not answer.
func (srv server) pid(ctx context.Context) int {
	out, err := srv.run(ctx, nil, "display-message", "-p", "#{pid}")
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0
	}
	return pid
}

// endTree ends what the launcher has started; it is called by the launcher.
func endTree(pid int, grace time.Duration) {
	// What is left after SIGKILL cannot be helped here; a Stop names it.
	_, _ = endProcesses(context.Background(), func() ([]int, error) { return descendants(pid, 0) }, grace)
}

// endProcesses asks what find finds to end, waits for grace, kills, and
// returns what is still there then. It looks anew each time, since processes
// may start others until they end.
func endProcesses(ctx context.Context, find func() ([]int, error), grace time.Duration) ([]int, error) {
	asked := map[int]bool{}
	ask := func(pids []int) {
		for _, pid := range pids {
			if asked[pid] {
				continue
			}
			asked[pid] = true
			for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGCONT, unix.SIGTERM} {
				sendSignal(pid, sig)
			}
		}
	}
	kill := func(pids []int) {
		for _, pid := range pids {
			sendSignal(pid, unix.SIGKILL)
		}
	}
	if grace > 0 {
		left, err := untilNone(ctx, find, ask, grace)
		if len(left) == 0 || err != nil {
			return left, err
		}
	}
	return untilNone(ctx, find, kill, killTime)
}

// sendSignal sends sig; a process that is gone meanwhile is what is wanted.
func sendSignal(pid int, sig unix.Signal) { _ = unix.Kill(pid, sig) }

// untilNone calls act with what find finds until that is nothing or limit has
// passed.
func untilNone(ctx context.Context, find func() ([]int, error), act func([]int), limit time.Duration) ([]int, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	tick := time.NewTicker(processInterval)
	defer tick.Stop()
	for {
		left, err := find()
		if len(left) == 0 || err != nil {
			return nil, err
		}
		act(left)
		select {
		case <-ctx.Done():
			return left, ctx.Err()
		case <-timer.C:
			return find()
		case <-tick.C:
		}
	}
}

// process is what is known of one process.
type process struct {
	pid, parent, session int
	zombie               bool
}

// descendants are the living processes below pid, without pid itself. With a
// subreaper at the top they are all that it started. spare and what is below
// it are left out: a tmux server that was started from within a session
// carries the sessions of others.
func descendants(pid, spare int) ([]int, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []int
	queue := []int{pid}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, p := range children[next] {
			if p.pid == spare {
				continue
			}
			queue = append(queue, p.pid)
			if !p.zombie {
				found = append(found, p.pid)
			}
		}
	}
	return found, nil
}
