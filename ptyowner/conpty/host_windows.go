package conpty

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"github.com/aymanbagabas/go-pty"
	"golang.org/x/sys/windows"

	"middleman/terminal"
	"middleman/terminal/host"
)

// Host starts programs, each on a pseudo console of its own.
type Host struct{}

// Name returns "": state records no host for what the owner opens itself.
func (Host) Name() string { return "" }

// Adopt fails: a program ends with the owner that holds its job.
func (Host) Adopt() (host.Terminal, int, error) {
	return nil, 0, fmt.Errorf("go on with a program on a pseudo console: %w", errors.ErrUnsupported)
}

// Resume fails: no process of Windows becomes another.
func (Host) Resume([]uintptr, json.RawMessage) (host.Terminal, error) {
	return nil, fmt.Errorf("take over a pseudo console: %w", errors.ErrUnsupported)
}

// Start opens a pseudo console and starts the program on it. The program is
// suspended until it is in its job, so that none of its children is outside.
func (Host) Start(p host.Program) (t host.Terminal, pid int, step string, err error) {
	argv := p.Spec.Command()
	line, err := batchLine(argv)
	if err != nil {
		return nil, 0, "check program", err
	}
	job, err := newJob()
	if err != nil {
		return nil, 0, "make job", err
	}
	opened, err := pty.New()
	if err != nil {
		windows.CloseHandle(job)
		return nil, 0, "open pseudo console", err
	}
	m := newTerminal(opened.(pty.ConPty), job)
	if err := m.SetSize(p.Size); err != nil {
		m.abandon()
		return nil, 0, "open pseudo console", err
	}
	m.cmd = opened.Command(argv[0], argv[1:]...)
	m.cmd.Dir, m.cmd.Env = p.Spec.Dir, host.Environ(p.Spec, "xterm-256color")
	m.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED, CmdLine: line}
	err = m.cmd.Start()
	if err == nil {
		err = resumeIn(job, m.cmd.Process.Pid)
	}
	if err != nil {
		m.abandon()
		return nil, 0, "start program", fmt.Errorf("%s in %s: %w", argv[0], p.Spec.Dir, err)
	}
	m.pumping.Go(m.pump)
	return m, m.cmd.Process.Pid, "", nil
}

// batchLine returns the command line for a batch file, and "" for any other program, whose
// line is made of its arguments as usual. cmd.exe, which runs a batch file, would take some
// arguments for commands: these are refused. It splits others into several unless they are
// quoted.
func batchLine(argv []string) (string, error) {
	ext := strings.ToLower(filepath.Ext(argv[0]))
	if ext != ".bat" && ext != ".cmd" {
		return "", nil
	}
	line := windows.EscapeArg(argv[0])
	for _, arg := range argv[1:] {
		if strings.ContainsAny(arg, "\"%&|<>^!\r\n") {
			return "", fmt.Errorf("argument %q of %s: cmd.exe, which runs a batch file, would not pass it on as it is; run the program behind the batch file", arg, argv[0])
		}
		if strings.ContainsAny(arg, " \t,;=") || arg == "" {
			behind := len(arg) - len(strings.TrimRight(arg, `\`)) // each of these would quote the quote
			arg = `"` + arg + strings.Repeat(`\`, behind) + `"`
		}
		line += " " + arg
	}
	return line, nil
}

// newJob makes a job whose processes end when its handle is closed, which no
// child inherits, and of which none can break away.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// resumeIn puts a suspended process into the job and lets it run.
func resumeIn(job windows.Handle, pid int) error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_SUSPEND_RESUME
	process, err := windows.OpenProcess(access, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	err = windows.AssignProcessToJobObject(job, process)
	if err == nil {
		if status, _, _ := resumeProcess.Call(uintptr(process)); status != 0 {
			err = windows.NTStatus(status)
		}
	}
	if err != nil {
		return errors.Join(err, windows.TerminateProcess(process, killedCode))
	}
	return nil
}

// IsOpen reports whether a pipe's other end is open, or something is left to read.
func IsOpen(pipe windows.Handle) bool {
	_, err := available(pipe)
	return err == nil
}

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// available returns how many bytes a pipe holds to be read.
func available(pipe windows.Handle) (n uint32, err error) {
	ok, _, err := peekNamedPipe.Call(uintptr(pipe), 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0)
	if ok == 0 {
		return 0, err
	}
	return n, nil
}

// notImplemented is Wine's answer to ResizePseudoConsole: the console keeps its
// size.
const notImplemented = syscall.Errno(windows.E_NOTIMPL)

// SetSize changes the size of the console; its programs are told.
func (t *Terminal) SetSize(s terminal.Size) error {
	err := t.console.Resize(int(s.Cols), int(s.Rows))
	if errors.Is(err, notImplemented) {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("resize pseudo console", err)
	}
	return nil
}
