//go:build unix

package owner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/fault"
	"middleman/ptyowner/wire"
	"middleman/terminal/host"
)

// What happens when another image takes over, in detail:
//
//  1. A client asks, and names an executable. It is opened, and run once to
//     tell its build and which handovers it understands.
//  2. The owner pauses: nothing is read, typed or sent any more, connections
//     stay open, and what was half done is noted (errPaused, unsent, back).
//  3. All it knows goes into a sealed memory file (handoverState), and the
//     executable is run once more to read that, and to say that it can.
//  4. execve(2): same process, same children, same open files. Signals are
//     ignored until the new image catches them.
//  5. The new image reads the state, goes on, and answers the client.
//
// Where one of the steps up to 4 does not work, the owner goes on as it was.
// Where 5 does not, the new image executes the old one again, which has the
// same state to go on from.

// upgrade is somebody's wish that another image takes over.
type upgrade struct {
	viewer  *viewer
	request uint64 // the id to answer
	image   *image
	err     error // why it was not even tried
}

// answerUpgrade starts a handover. Its success is answered by the new image;
// errPaused says that it is under way.
func (v *viewer) answerUpgrade(q *wire.Request) error {
	var args wire.UpgradeArgs
	if err := parseArgs(q, &args); err != nil {
		return err
	}
	img, err := openImage(args.Executable)
	if err == nil {
		if err = img.reads(v.owner.stateFormat()); err != nil {
			img.close()
		}
	}
	if err != nil {
		return &wire.Error{Code: wire.CodeUpgrade, Text: err.Error()}
	}
	o := v.owner
	u := &upgrade{viewer: v, request: q.ID, image: img}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err = o.phase.on(eventPause)
	if o.upgrade != nil {
		err = errors.New("another image is taking over already")
	}
	if err != nil {
		img.close()
		return &wire.Error{Code: wire.CodeUpgrade, Text: fmt.Sprintf("session %s is not upgraded: %v", o.spec.ID, err)}
	}
	o.upgrade = u
	o.broadcast()
	for u.err == nil && o.phase != phasePaused {
		o.changed.Wait()
	}
	if u.err == nil {
		return errHandedOver
	}
	return u.err
}

// errHandedOver says that somebody else answers the request.
var errHandedOver = errors.New("another image answers")

// refuseUpgrade ends a wish that came too late.
func (o *owner) refuseUpgrade() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.upgrade != nil {
		o.dropUpgrade(&phaseError{o.phase, eventPause})
	}
}

// dropUpgrade tells the one who asked why it did not come about. Called with mu
// held.
func (o *owner) dropUpgrade(err error) {
	o.upgrade.err = err
	o.upgrade.image.close()
	o.upgrade = nil
	o.broadcast()
}

// handOver lets u's image take over. It returns only where that did not work;
// then all is as before, and the loops can be started again. join waits for
// them.
func (o *owner) handOver(u *upgrade, join func()) {
	if err := o.step(eventPause); err != nil {
		o.refuseUpgrade()
		return
	}
	o.interrupt(longAgo)
	join()
	fault.Here("upgrade/paused")
	err := o.passOn(u)
	logf("upgrade: %v", err)
	u.viewer.sendMu.Lock()
	u.viewer.unsent = append(u.viewer.unsent, upgradeReply(u.request, wire.UpgradeResult{}, err)...)
	u.viewer.sendMu.Unlock()
	o.interrupt(time.Time{})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropUpgrade(err)
	if err := o.stepLocked(eventResume); err != nil {
		logf("resume: %v", err)
	}
}

// interrupt sets the deadline of all that the loops block on.
func (o *owner) interrupt(t time.Time) {
	o.listener.SetDeadline(t)
	if err := o.term.SetDeadline(t); err != nil {
		logf("interrupt the terminal: %v", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for v := range o.viewers {
		v.conn.SetDeadline(t)
	}
}

// passOn does steps 3 and 4. The owner is at rest.
func (o *owner) passOn(u *upgrade) error {
	if o.end != nil {
		return errors.New("the program has ended")
	}
	state, err := o.exportState(u)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(state)
	if err != nil {
		return err
	}
	memory, err := sealedFile(o.dir, raw)
	if err != nil {
		return fmt.Errorf("keep the owner's state for the new image: %w", err)
	}
	defer memory.Close()
	fault.Here("upgrade/state-written")
	if err := u.image.check(memory); err != nil {
		return err
	}
	fault.Here("upgrade/checked")
	return execImage(u.image.file, u.image.path, memory.Fd(), state, "")
}

// execImage becomes another image, which inherits the state and the
// descriptors that it names. problem is why, where it is to go back. It returns
// only with an error, and with all as before.
func execImage(file *os.File, path string, memory uintptr, s *handoverState, problem string) error {
	path, err := execPath(file, path)
	if err != nil {
		return err
	}
	keep := append(s.descriptors(), memory)
	if err := errors.Join(fault.Error("upgrade/exec"), inheritable(keep, true)); err != nil {
		return errors.Join(err, inheritable(keep, false))
	}
	args := []string{"middleman", "pty-owner", "--take-over", strconv.Itoa(int(memory)), s.Dir}
	if problem != "" {
		args = append(args, problem)
	}
	signal.Ignore(handoverSignals...)
	fault.Here("upgrade/before-exec")
	err = unix.Exec(path, args, os.Environ())
	catchSignals()
	return errors.Join(fmt.Errorf("execute %s: %w", path, err), inheritable(keep, false))
}

// handoverSignals would end an image that does not catch them yet. SIGCHLD is
// not among them: ignored, it would reap the children (wait(2)).
var handoverSignals = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE, unix.SIGALRM,
}

// inheritable sets whether descriptors stay open over an execve(2).
func inheritable(fds []uintptr, yes bool) error {
	flag := unix.FD_CLOEXEC
	if yes {
		flag = 0
	}
	var errs []error
	for _, fd := range fds {
		if _, err := unix.FcntlInt(fd, unix.F_SETFD, flag); err != nil {
			errs = append(errs, fmt.Errorf("pass descriptor %d on: %w", fd, err))
		}
	}
	return errors.Join(errs...)
}

// descriptor is c's, which stays c's.
func descriptor(c syscall.Conn) (fd uintptr, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	err = errors.Join(raw.Control(func(n uintptr) { fd = n }), err)
	return fd, err
}

// upgradeReply is the answer to a request for an upgrade, as a frame.
func upgradeReply(id uint64, result wire.UpgradeResult, err error) []byte {
	reply := wire.Reply{ID: id}
	if err != nil {
		reply.Error = &wire.Error{Code: wire.CodeUpgrade, Text: err.Error()}
	} else {
		reply.Result = mustMarshal(result)
	}
	return wire.AppendControl(nil, wire.TypeReply, reply)
}

// readState reads a handover's state from its descriptor, which stays open.
func readState(file *os.File) (*handoverState, error) {
	if err := checkSealed(file); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var s handoverState
	if err := json.NewDecoder(file).Decode(&s); err != nil {
		return nil, fmt.Errorf("decode the owner's state: %w", err)
	}
	if s.Format != handoverFormat && s.Format != hostedFormat {
		return nil, fmt.Errorf("the owner's state has format %d, this build reads up to %d", s.Format, hostedFormat)
	}
	return &s, nil
}

// takeOver is step 5: it goes on from the state in descriptor fd. problem says
// that another image could not, and so this one is back.
func takeOver(fd uintptr, build, problem string, hosts []host.Host) (*owner, error) {
	memory := os.NewFile(fd, "state")
	s, err := readState(memory)
	if err != nil {
		return nil, err
	}
	fault.Here("upgrade/state-read")
	harden()
	stateMask := unix.Umask(stateUmask)
	o, err := importState(s, build, hosts)
	if err != nil {
		unix.Umask(stateMask)
		return nil, goBack(memory, s, problem, err)
	}
	for _, fd := range s.descriptors() {
		unix.Close(int(fd))
	}
	memory.Close()
	fault.Here("upgrade/taken-over")
	if err := o.dir.WriteRecord(o.record()); err != nil {
		logf("upgrade: %v", err) // the old record reaches this owner too
	}
	o.answerAsker(s, problem)
	return o, nil
}

// goBack executes the image that s is of again, unless that is this one. It
// returns only where it cannot.
func goBack(memory *os.File, s *handoverState, problem string, err error) error {
	if problem != "" {
		return err
	}
	logf("upgrade: go back to build %s: %v", s.Build, err)
	return errors.Join(err, execImage(os.NewFile(s.Image, s.ImageAt), s.ImageAt, memory.Fd(), s, err.Error()))
}

// answerAsker tells who asked for the upgrade what came of it.
func (o *owner) answerAsker(s *handoverState, problem string) {
	if s.Asker < 0 {
		return // it did not wait
	}
	var err error
	if problem != "" {
		err = errors.New(problem)
	}
	asker := o.inherited[s.Asker]
	asker.unsent = append(asker.unsent, upgradeReply(s.Request, wire.UpgradeResult{From: s.Build, To: o.build}, err)...)
	o.inherited = nil
}
