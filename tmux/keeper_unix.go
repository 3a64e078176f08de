//go:build unix

package tmux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/terminal/journal"
)

const (
	// keeperPause is how far apart two restarts of the journal helper are.
	keeperPause = time.Second
	// keeperAttempts is how many restarts in a row may fail.
	keeperAttempts = 5
)

// helperEvent is what became of the journal helper.
type helperEvent int

const (
	helperDone helperEvent = iota + 1 // it has recorded the exit
	helperBack                        // it died, and another has taken over
	helperLost                        // it died, and none could be started
)

// keeper starts the journal helper of a running session again when it died.
type keeper struct {
	dir    stateDir
	rec    record
	events chan helperEvent // the last one that nobody has taken
}

// keepHelper watches the helper at the other end of r. It ends with the
// helper's last word, or with the launcher.
func (d stateDir) keepHelper(rec record, r *bufio.Reader) *keeper {
	k := &keeper{dir: d, rec: rec, events: make(chan helperEvent, 1)}
	go k.watch(r) // joined by the last event, or by the end of the process
	return k
}

func (k *keeper) watch(r *bufio.Reader) {
	for started := time.Now(); ; started = time.Now() {
		if line, err := r.ReadString('\n'); err == nil && line == helperRecorded+"\n" {
			k.say(helperDone)
			return
		}
		time.Sleep(time.Until(started.Add(keeperPause))) // not at all where it has lived longer
		k.note(errHelperDied)
		again, err := k.restart()
		if again == nil {
			k.note(err)
			k.say(helperLost)
			return
		}
		r = again
		k.note(nil)
		k.say(helperBack)
	}
}

// say replaces an event that nobody has taken; there is one sayer.
func (k *keeper) say(e helperEvent) {
	select {
	case <-k.events:
	default:
	}
	k.events <- e
}

// errHelperDied is what a status says until another helper has taken over.
var errHelperDied = errors.New("its journal helper ended; another is being started")

// note says in the state directory why output is not kept, or that it is. What
// cannot be noted shows in no status; the gap in the journal does.
func (k *keeper) note(err error) {
	if err == nil {
		_ = os.Remove(k.dir.path(failingFile))
		return
	}
	_ = k.dir.writeFile(failingFile, []byte(err.Error()+"\n"), private.ThisBoot)
}

// restart has tmux run another helper; nil where the session is over for the
// journal: its terminal or its exit says so, or no helper can be started.
func (k *keeper) restart() (*bufio.Reader, error) {
	var failed error
	for range keeperAttempts {
		if exit, err := k.dir.exit(); exit != nil || err != nil || terminalGone(os.Stdin) {
			return nil, err
		}
		r, err := k.dir.pipeAgain(k.rec)
		if err == nil {
			return r, nil
		}
		failed = fmt.Errorf("no journal helper can be started: %w", err)
		time.Sleep(keeperPause)
	}
	return nil, failed
}

// pipeAgain pipes the pane to another journal helper and waits for its word.
// The tmux client is reaped with the launcher's other children.
func (d stateDir) pipeAgain(rec record) (*bufio.Reader, error) {
	exe, err := executable()
	if err != nil {
		return nil, err
	}
	if err := unix.Mkfifo(d.path(helperFIFO), 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make %s: %w", d.path(helperFIFO), err)
	}
	t, err := d.target()
	if err != nil {
		return nil, err
	}
	client := rec.server().command(context.Background(), t.guarded("pipe-pane", "-O", "-t", t.pane, pipeCommand(exe, d))...)
	if err := client.Start(); err != nil {
		return nil, fmt.Errorf("pipe the output to the journal: %w", err)
	}
	if err := client.Process.Release(); err != nil {
		return nil, err
	}
	return d.awaitHelper(nil)
}

// markGap ends the journal of a helper that died with a gap, since what the
// program printed until another took over is lost and nobody has counted it:
// the gap is one byte long. What follows begins with CAN, which ends an escape
// sequence that the gap has cut.
func markGap(w *journal.Writer) error {
	w.Skip(1)
	if err := w.Append([]byte{0x18}); err != nil {
		return fmt.Errorf("mark the gap in the journal: %w", err)
	}
	return nil
}
