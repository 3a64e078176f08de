//go:build unix

package owner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
	"middleman/terminal/host"
)

// Main runs the owner process, for the hidden command pty-owner. args are the
// arguments after the command's name, build is this binary's version, hosts are
// the hosts beside the PTY that a session may have. Main blocks until the
// session is over and returns the process's exit code. Nothing may have been
// started or opened in the process before.
func Main(args []string, build string, hosts ...host.Host) int {
	if len(args) == 1 && strings.HasPrefix(args[0], "--") {
		return answerImage(args[0], build)
	}
	private.NameProcess()
	catchSignals()
	if len(args) >= 3 && args[0] == "--take-over" {
		closeOnExec()
		return takeOverMain(args[1], build, strings.Join(args[3:], " "), hosts)
	}
	if len(args) >= 1 && args[0] == host.AdoptArg {
		return adoptMain(build, hosts)
	}
	unix.CloseOnExec(state.ReportFD)
	startLock := inheritStartLock()
	closeInherited(state.ExecutableFD)
	report := os.NewFile(state.ReportFD, "ready")
	if _, err := report.Stat(); err != nil {
		fmt.Fprintln(os.Stderr, "pty-owner is started by middleman, not by hand")
		return 2
	}
	return begin(report, startLock, hosts)
}

// inheritStartLock returns the starter's start.lock, or nil if it passed none.
func inheritStartLock() *os.File {
	flags, err := unix.FcntlInt(state.StartLockFD, unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC != 0 { // what Go opened here closes on exec
		return nil
	}
	unix.CloseOnExec(state.StartLockFD)
	return os.NewFile(state.StartLockFD, state.StartLockFile)
}

// takeOverMain goes on as the owner that another image was in this process.
func takeOverMain(descriptor, build, problem string, hosts []host.Host) int {
	fd, err := strconv.ParseUint(descriptor, 10, 31)
	if err != nil {
		logf("take over: descriptor %q: %v", descriptor, err)
		return 2
	}
	o, err := takeOver(uintptr(fd), build, problem, hosts)
	if err != nil {
		logf("take over: %v", err)
		return 1
	}
	o.run()
	return 0
}

// adoptMain is the owner process that a host starts after an owner was killed.
func adoptMain(build string, hosts []host.Host) int {
	closeOnExec()
	o, err := adopt(os.Stdin, build, hosts)
	if errors.Is(err, errExitRecorded) {
		return 0
	}
	if err != nil {
		logf("go on for an owner that was killed: %v", err)
		return 1
	}
	o.run()
	return 0
}

// features names the verbs of this build, except status, which every owner
// knows, and the features of package wire.
var features = []string{"capture", "stop", "input", "wait", "upgrade", wire.FeatureExpect, wire.FeatureActivity, wire.FeatureHeld}

// setUmask sets the umask of this process, and returns the one from before.
func setUmask(mask int) (before int) { return unix.Umask(mask) }

// hungUp reports whether the peer has closed a connection, even if data that it
// sent before is still unread.
func hungUp(conn syscall.Conn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	fds := []unix.PollFd{{Events: unix.POLLHUP}} // macOS tells nothing of a descriptor without events
	err = raw.Control(func(fd uintptr) {
		fds[0].Fd = int32(fd)
		unix.Poll(fds, 0) // if a signal interrupts it, Revents stays 0
	})
	return err != nil || fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// signalName returns a signal's name. A real-time signal is named by its
// distance from the first (signal(7)).
func signalName(sig unix.Signal) string {
	const first = 34 // SIGRTMIN of the C library
	switch name := unix.SignalName(sig); {
	case name != "":
		return name
	case sig == first:
		return "SIGRTMIN"
	case sig > first:
		return fmt.Sprintf("SIGRTMIN+%d", sig-first)
	}
	return fmt.Sprintf("SIG%d", sig)
}

// room is memory to draw a snapshot in. It is not from the Go runtime, which
// would have to collect it as garbage each time, and keep memory in order to do
// so.
type room []byte

// roomBytes is more than most snapshots take; append copies a larger one to the
// heap. Pages that are not touched take no memory.
const roomBytes = 4 << 20

// newRoom maps new memory, or returns nil if the system has none.
func newRoom() room {
	p, err := unix.Mmap(-1, 0, roomBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	return p
}

// free unmaps the memory, which must not be used any more.
func (r room) free() {
	if r != nil {
		_ = unix.Munmap(r) // cannot fail: newRoom mapped it, and free is called once
	}
}

// catchSignals keeps the owner alive when its terminal or its starter ends. It
// also undoes ignored signals: a caught signal has its default action in the
// program, while an ignored one would stay ignored.
func catchSignals() {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught) // every signal that can be caught; nothing reads the channel
	resetIgnored()
}

// startBinding starts what looks after the owner's socket, until stop is called. A client
// that knows by owner.lock that the owner lives, and does not reach it, sends
// state.BindSignal: somebody may have removed the socket, or put another in its place.
func (o *owner) startBinding() (stop func()) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, state.BindSignal)
	var loop sync.WaitGroup
	loop.Go(func() {
		for range asked {
			if o.isBound() {
				continue
			}
			if err := o.rebind(); err != nil {
				logf("bind the socket again: %v", err)
			}
		}
	})
	return func() {
		signal.Stop(asked)
		close(asked)
		loop.Wait()
	}
}

// bindTime bounds how long the owner waits for whoever listens in its place.
const bindTime = time.Second

// isBound reports whether the socket leads to this process. It keeps its pid as other
// images take over.
func (o *owner) isBound() bool {
	ctx, cancel := context.WithTimeout(context.Background(), bindTime)
	defer cancel()
	conn, err := ipc.Dial(ctx, o.socket)
	if err != nil {
		return false
	}
	defer conn.Close()
	return ipc.PeerPID(conn) == os.Getpid()
}

// rebind replaces the listener by one at the same path, which nobody else may have: this
// process holds owner.lock. It does nothing while another image takes over, and at the end.
func (o *owner) rebind() error {
	if err := private.MakeDir(filepath.Dir(o.socket)); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase == phasePaused || o.phase == phaseClosing {
		return nil
	}
	l, err := ipc.Listen(o.socket)
	if err != nil {
		return err
	}
	former := o.listener
	former.SetUnlinkOnClose(false) // its path is the new one's by now
	o.listener = l
	logf("its socket was gone, or another's: it listens on %s again", o.socket)
	return former.Close()
}
