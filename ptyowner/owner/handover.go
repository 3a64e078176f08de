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

// How another image takes over; an image is what a process executes:
//
//  1. A client asks for an upgrade and names an executable. The owner opens it,
//     and runs it once to learn its build and which handover formats it reads.
//  2. The owner pauses: it reads, types and sends nothing any more. Connections
//     stay open. Half-done work is kept (errPaused, unsent, back).
//  3. The owner writes all that it knows to a sealed memory file
//     (handoverState). It runs the executable once more to check that it
//     understands this state.
//  4. execve(2): the process, its children and its open files stay the same.
//     Signals are ignored until the new image catches them.
//  5. The new image reads the state, goes on, and answers the client.
//
// If a step up to 4 fails, the owner goes on as it was. If step 5 fails, the
// new image executes the old one again, which goes on from the same state.

// upgrade is a client's request that another image takes over.
type upgrade struct {
	viewer  *viewer
	request uint64 // the id to answer
	image   *image
	err     error // why the handover did not begin or failed
}

// answerUpgrade requests a handover and waits for it to begin. It returns
// errHandedOver if the handover has begun: its result is answered elsewhere.
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

// errHandedOver means that the reply to a request is sent elsewhere.
var errHandedOver = errors.New("another image answers")

// refuseUpgrade refuses a requested upgrade that the owner's phase forbids by
// now.
func (o *owner) refuseUpgrade() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.upgrade != nil {
		o.dropUpgrade(&phaseError{o.phase, eventPause})
	}
}

// dropUpgrade ends the requested upgrade with the error for the client that
// asked. Called with mu held.
func (o *owner) dropUpgrade(err error) {
	o.upgrade.err = err
	o.upgrade.image.close()
	o.upgrade = nil
	o.broadcast()
}

// handOver lets u's image take over. join waits for the owner's loops. handOver
// returns only on failure; then all is as before. It reports whether it has ended
// the loops, which must then be started again: not if a stop came first.
func (o *owner) handOver(u *upgrade, join func()) (joined bool) {
	if err := o.step(eventPause); err != nil {
		o.refuseUpgrade()
		return false
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
	return true
}

// interrupt sets a deadline on everything that the loops block on.
func (o *owner) interrupt(t time.Time) {
	o.listening().SetDeadline(t) // rebind replaces none while the owner is paused
	if err := o.term.SetDeadline(t); err != nil {
		logf("interrupt the terminal: %v", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for v := range o.viewers {
		v.conn.SetDeadline(t)
	}
}

// passOn does steps 3 and 4, while the owner is paused and its loops have
// ended.
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
	o.forgetTaking()
	defer o.markTaking()
	return execImage(u.image.file, u.image.path, memory.Fd(), state, "")
}

// execImage replaces this process's image with another, which inherits the
// state and the descriptors that it names. problem is "", or tells the old
// image why the new one could not go on. execImage returns only on failure,
// with all as before.
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

// handoverSignals are ignored during the handover, because they would end an
// image that does not catch them yet. SIGCHLD is not among them: if it is
// ignored, the kernel discards the status of children (wait(2)).
var handoverSignals = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE, unix.SIGALRM,
}

// inheritable sets whether descriptors stay open across execve(2).
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

// descriptor returns the descriptor of c, which still belongs to c.
func descriptor(c syscall.Conn) (fd uintptr, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	err = errors.Join(raw.Control(func(n uintptr) { fd = n }), err)
	return fd, err
}

// upgradeReply returns the reply to an upgrade request, as a frame.
func upgradeReply(id uint64, result wire.UpgradeResult, err error) []byte {
	reply := wire.Reply{ID: id}
	if err != nil {
		reply.Error = &wire.Error{Code: wire.CodeUpgrade, Text: err.Error()}
	} else {
		reply.Result = mustMarshal(result)
	}
	return wire.AppendControl(nil, wire.TypeReply, reply)
}

// readState reads a handover's state from file, which stays open.
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

// takeOver is step 5: it goes on from the state in descriptor fd. problem is
// "", or tells why the image that took over from this one could not go on.
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
		logf("upgrade: %v", err) // the old record leads to this owner too
	}
	o.answerAsker(s, problem)
	return o, nil
}

// goBack executes again the image that wrote s. It returns only on failure, and
// at once if this already is that image (problem is not "").
func goBack(memory *os.File, s *handoverState, problem string, err error) error {
	if problem != "" {
		return err
	}
	logf("upgrade: go back to build %s: %v", s.Build, err)
	return errors.Join(err, execImage(os.NewFile(s.Image, s.ImageAt), s.ImageAt, memory.Fd(), s, err.Error()))
}

// answerAsker sends the result of the upgrade to the client that asked for it.
func (o *owner) answerAsker(s *handoverState, problem string) {
	if s.Asker < 0 {
		return // that client has left
	}
	var err error
	if problem != "" {
		err = errors.New(problem)
	}
	asker := o.inherited[s.Asker]
	asker.unsent = append(asker.unsent, upgradeReply(s.Request, wire.UpgradeResult{From: s.Build, To: o.build}, err)...)
	o.inherited = nil
}
