package owner

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"middleman/internal/ipc"
	"middleman/ptyowner/conpty"
	"middleman/ptyowner/wire"
	"middleman/terminal/host"
)

// ptyHost gives a session a pseudo console.
type ptyHost = conpty.Host

// Main runs the owner process, for the hidden command pty-owner. args are the
// arguments after the command's name, build is this binary's version, hosts are
// the hosts beside the pseudo console that a session may have. Main blocks until
// the session is over and returns the process's exit code.
func Main(args []string, _ string, hosts ...host.Host) int {
	report := os.Stdout
	if kind, err := windows.GetFileType(windows.Handle(report.Fd())); err != nil || kind != windows.FILE_TYPE_PIPE || len(args) != 1 {
		fmt.Fprintln(os.Stderr, "pty-owner is started by middleman, not by hand")
		return 2
	}
	return begin(report, nil, hosts)
}

// features names the verbs of this build, except status, which every owner
// knows, and the features of package wire. A pseudo console cannot hold output
// back, and no process of Windows becomes another.
var features = []string{"capture", "stop", "input", "wait", wire.FeatureExpect, wire.FeatureActivity}

// setUmask returns 0: Windows has no umask.
func setUmask(int) (before int) { return 0 }

// lending is empty here: each connection has a goroutine of its own that reads it.
type lending struct{}

type backFrame struct{}

func (*viewer) makeLendable(*ipc.Conn) {}

func (v *viewer) nextFrame() (wire.Type, []byte, error) { return v.r.Read(wire.MaxFrame) }

func (*owner) giveBack(backFrame) {}

func (o *owner) awaitOutput() error { return o.term.Await() }

// hungUp reports whether the peer has closed a connection and all that it sent
// was read.
func hungUp(conn syscall.Conn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) { gone = !conpty.IsOpen(windows.Handle(fd)) })
	return err != nil || gone
}

// signalName returns a signal's name.
func signalName(sig syscall.Signal) string { return sig.String() }

func refuseHugePages() {}

// startBinding does nothing: nobody can remove a named pipe.
func (*owner) startBinding() (stop func()) { return func() {} }

// unmapText returns 0: it does not measure memory here.
func unmapText() (own uint64) { return 0 }

// room is memory to draw a snapshot in.
type room []byte

func newRoom() room { return nil }

func (room) free() {}

// upgrade stands for a client's request that another image takes over, which
// this system cannot do.
type upgrade struct{}

// answerUpgrade refuses.
func (v *viewer) answerUpgrade(*wire.Request) error {
	return &wire.Error{Code: wire.CodeUpgrade, Text: fmt.Sprintf(
		"session %s is not upgraded: no process of Windows can become another; the session goes on as it is", v.owner.spec.ID)}
}

func (*owner) refuseUpgrade() {}

func (*owner) handOver(*upgrade, func()) (joined bool) { return false }

// errHandedOver is not returned here.
var errHandedOver = errors.New("another image answers")

// The steps of a stop:
//
//  1. With a grace, the owner closes the pseudo console. Each program on it is told
//     (CTRL_CLOSE_EVENT), and may end in good order. What they print is read.
//  2. It ends the job with all processes that are left after the grace.
//  3. It answers once the exit is recorded.

// stopPoll is the pause between two looks at the job, which tells no event.
const stopPoll = 5 * time.Millisecond

// killTime bounds how long processes may take to end when the job was ended.
const killTime = 5 * time.Second

// stop ends every process of the session and returns those that did not end. It
// blocks until the exit is recorded, unless the program is one of them.
func (o *owner) stop(grace time.Duration) (left []int, err error) {
	if err := o.step(eventStop); err != nil {
		return nil, err
	}
	t := o.term.(*conpty.Terminal)
	if grace > 0 {
		t.HangUp()
		left, err = o.awaitNone(grace)
	}
	if grace <= 0 || err != nil || len(left) > 0 {
		if err := t.Kill(); err != nil {
			return nil, err
		}
		if left, err = o.awaitNone(killTime); err != nil {
			return nil, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.exit == nil && !slices.Contains(left, o.pid) {
		o.changed.Wait()
	}
	return left, nil
}

// awaitNone waits until no process of the session is left, at most for that time,
// and returns those that are.
func (o *owner) awaitNone(within time.Duration) (left []int, err error) {
	for deadline := time.Now().Add(within); ; time.Sleep(stopPoll) {
		if left, err = o.remaining(); err != nil || len(left) == 0 || time.Now().After(deadline) {
			return left, err
		}
	}
}

// remaining lists the live processes of the session: those in its job.
func (o *owner) remaining() ([]int, error) { return o.term.(*conpty.Terminal).Processes() }
