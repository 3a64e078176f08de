package conpty

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unsafe"

	"github.com/aymanbagabas/go-pty"
	"golang.org/x/sys/windows"

	"middleman/terminal/host"
)

const (
	// maxHeld is how much output is read ahead of the owner. With more, the
	// console waits, and its programs with it.
	maxHeld = 128 << 10
	// readBytes is how much one read takes at most.
	readBytes = 32 << 10
	// quiet is how long nothing must come after the program's end before the
	// console is closed. A console draws 60 times a second, and once more when it
	// is closed, so nothing is lost.
	quiet = 100 * time.Millisecond
	// closeTime bounds how long a console may take to pass on the rest of its
	// output when it is closed.
	closeTime = 5 * time.Second
	// leftPoll is how often to look whether the processes have ended that the
	// program has left.
	leftPoll = 250 * time.Millisecond
	// killedCode is the exit code of a process that was killed. It is what
	// Windows gives a program that ends by ctrl-C or with its console
	// (STATUS_CONTROL_C_EXIT).
	killedCode = 0xC000013A
)

// Terminal is a pseudo console, and the job of the session's processes. It
// implements host.Terminal.
type Terminal struct {
	console pty.ConPty
	job     windows.Handle
	cmd     *pty.Cmd

	pumping sync.WaitGroup // pump

	mu      sync.Mutex // guards all below
	changed *sync.Cond // on mu: something below has changed
	held    []byte     // output that the owner has not taken
	ended   bool       // no more will come

	writing sync.Mutex // held to write, so that each write is whole
	closing sync.Once
}

func newTerminal(console pty.ConPty, job windows.Handle) *Terminal {
	t := &Terminal{console: console, job: job}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// abandon undoes a start that failed.
func (t *Terminal) abandon() {
	_ = windows.CloseHandle(t.job)
	_ = t.console.InputPipe().Close()
	_ = t.console.OutputPipe().Close() // before the console, which would wait for a reader
	windows.ClosePseudoConsole(windows.Handle(t.console.Fd()))
}

// pump reads the console's output until its end. A pseudo console does not end
// with its program: HangUp and Close end it.
func (t *Terminal) pump() {
	buf := make([]byte, readBytes)
	for {
		n, err := t.console.OutputPipe().Read(buf)
		t.mu.Lock()
		t.held = append(t.held, buf[:n]...)
		t.ended = err != nil
		t.changed.Broadcast()
		for len(t.held) > maxHeld {
			t.changed.Wait()
		}
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Await blocks until there is output, or none will come any more.
func (t *Terminal) Await() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.held) == 0 && !t.ended {
		t.changed.Wait()
	}
	return nil
}

// ReadNow takes the output that there is, up to len(p). io.EOF means that no more
// will come.
func (t *Terminal) ReadNow(p []byte) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.held) == 0 && t.ended {
		return 0, io.EOF
	}
	n = copy(p, t.held)
	t.held = t.held[:copy(t.held, t.held[n:])]
	t.changed.Broadcast()
	return n, nil
}

// Readable reports whether there is output to read, here or in the pipe.
func (t *Terminal) Readable() bool {
	t.mu.Lock()
	held := len(t.held)
	t.mu.Unlock()
	if held > 0 {
		return true
	}
	raw, err := t.console.OutputPipe().SyscallConn()
	if err != nil {
		return false
	}
	var n uint32
	if err := raw.Control(func(fd uintptr) { n, err = available(windows.Handle(fd)) }); err != nil {
		return false
	}
	return err == nil && n > 0
}

// Write types all of p. The console takes input whether or not a program reads it.
func (t *Terminal) Write(p []byte) (n int, err error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	return t.write(p)
}

// write is Write with writing held.
func (t *Terminal) write(p []byte) (n int, err error) {
	n, err = t.console.InputPipe().Write(p)
	if errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_PIPE_NOT_CONNECTED) {
		err = os.ErrClosed
	}
	return n, err
}

// WriteIf implements host.Terminal.
func (t *Terminal) WriteIf(p []byte, may func() error) (n int, err error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	if err := may(); err != nil {
		return 0, err
	}
	return t.write(p)
}

// WriteHeld fails: the output of a pseudo console cannot be held.
func (t *Terminal) WriteHeld([]byte, func() error) (int, error) {
	return 0, fmt.Errorf("hold the output of a pseudo console: %w", errors.ErrUnsupported)
}

// Foreground returns 0: a console has no process groups.
func (t *Terminal) Foreground() int { return 0 }

// Answers returns false: what the console asks of its terminal goes to the
// attached viewer, or to the screen.
func (t *Terminal) Answers() bool { return false }

// Root returns nothing: Processes tells what hangs from the program.
func (t *Terminal) Root() (root, spare int) { return 0, 0 }

// Reap tells of the program's end, and of that of the last process that the
// program has left.
func (t *Terminal) Reap(mu sync.Locker, ended func(pid int, status host.WaitStatus), _ func()) (stop func()) {
	quit := make(chan struct{})
	var loop sync.WaitGroup
	loop.Go(func() {
		pid := t.cmd.Process.Pid
		_ = t.cmd.Wait() // an exit code is an error too
		code := uint32(killedCode)
		if t.cmd.ProcessState != nil {
			code = uint32(t.cmd.ProcessState.ExitCode())
		}
		tell(mu, ended, pid, code)
		for tick := time.NewTicker(leftPoll); ; {
			if left, err := t.Processes(); err != nil || len(left) == 0 {
				tick.Stop()
				tell(mu, ended, 0, 0)
				return
			}
			select {
			case <-tick.C:
			case <-quit:
				tick.Stop()
				return
			}
		}
	})
	return func() {
		close(quit)
		loop.Wait()
	}
}

func tell(mu sync.Locker, ended func(int, host.WaitStatus), pid int, code uint32) {
	mu.Lock()
	defer mu.Unlock()
	ended(pid, host.WaitStatus{ExitCode: code})
}

// LetEnd does nothing: Close ends the output.
func (t *Terminal) LetEnd() {}

func (t *Terminal) Quiet() time.Duration { return quiet }

// Done does nothing: there is no host process to end.
func (t *Terminal) Done() {}

// SetDeadline does nothing: no other image of the owner takes over.
func (t *Terminal) SetDeadline(time.Time) error { return nil }

// Export fails, see Host.Resume.
func (t *Terminal) Export() (fds []uintptr, state json.RawMessage, err error) {
	return nil, nil, fmt.Errorf("pass a pseudo console on: %w", errors.ErrUnsupported)
}

// HangUp closes the console: its programs are told, and what it holds of their
// output is passed on. Then reading comes to its end. It does not wait for that.
func (t *Terminal) HangUp() {
	t.closing.Do(func() {
		// It may wait for its output to be read.
		go windows.ClosePseudoConsole(windows.Handle(t.console.Fd()))
		time.AfterFunc(closeTime, func() { t.console.OutputPipe().Close() })
	})
}

// Close is HangUp. The job stays: it ends with the owner.
func (t *Terminal) Close() error {
	t.HangUp()
	return nil
}

// Kill ends all processes of the session.
func (t *Terminal) Kill() error {
	if err := windows.TerminateJobObject(t.job, killedCode); err != nil {
		return fmt.Errorf("end the session's job: %w", err)
	}
	return nil
}

// jobProcesses is JOBOBJECT_BASIC_PROCESS_ID_LIST.
type jobProcesses struct {
	assigned, listed uint32
	ids              [1024]uintptr
}

// Processes lists the live processes of the session: at most the first 1024.
func (t *Terminal) Processes() ([]int, error) {
	var list jobProcesses
	err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil, fmt.Errorf("list the session's processes: %w", err)
	}
	var pids []int
	for _, id := range list.ids[:min(int(list.listed), len(list.ids))] {
		pids = append(pids, int(id))
	}
	return pids, nil
}
