package sandbox

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/internal/sandbox/life"
)

// passed are signals that the processes of bwrap ignore: the terminal and a stop
// send them to each process of a session, and bwrap has to stay as long as the
// program does. The program gets the default again.
var passed = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
	unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
}

// start replaces this process by the program in its sandbox. It returns only an
// error.
func start(p Policy, proxy Proxy, argv []string) error {
	runtime.LockOSThread() // never unlocked: after an error this process ends
	if p.dies {
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			return fmt.Errorf("end with the process that started this one: %w", err)
		}
	}
	kinds, err := p.checkFiles()
	if err != nil {
		return err
	}
	if err := closeAtExec(); err != nil {
		return err
	}
	var way *link
	if len(p.Network.Allow) > 0 { // before the limits, which are not the proxy's
		way = &link{}
		if way.args, way.socket, way.inherit, err = proxy.Start(p.Network.Allow, p.Network.Log, p.Network.Secrets); err != nil {
			return err
		}
	}
	// A crash would run the system's handler of core files, outside. A limit of 1
	// keeps the kernel from that, also where a pipe leads to the handler.
	if err := setLimit(unix.RLIMIT_CORE, 1); err != nil {
		return err
	}
	abi, missing := landlockSupport()
	if p.Method == Bubblewrap {
		return startBubblewrap(p, kinds, way, abi, argv)
	}
	if missing != "" {
		return fmt.Errorf("sandbox %s: %s", p.Level, missing)
	}
	if err := underLandlock(p, abi); err != nil {
		return err
	}
	if err := setFilter(socketsUnder(abi)); err != nil {
		return err
	}
	if err := unix.Chdir(p.Dir); err != nil {
		return fmt.Errorf("start in %s: %w", p.Dir, err)
	}
	return executeWithin(p.Limits, argv, p.Env...)
}

// link is what Proxy.Start returns.
type link struct {
	args    []string
	socket  int
	inherit func() error
}

// startBubblewrap executes bwrap. way is nil without a network list.
func startBubblewrap(p Policy, kinds map[string]kind, way *link, abi int, program []string) error {
	bwrap, err := findBubblewrap(systemPlaces)
	if err != nil {
		return fmt.Errorf("sandbox %s: %w", p.Level, err)
	}
	filter, err := filterFile(families)
	if err != nil {
		return err
	}
	// The program may see neither this executable nor its path: the descriptor leads
	// to it in any namespace.
	self, err := unix.Open("/proc/self/exe", unix.O_PATH, 0)
	if err != nil {
		return fmt.Errorf("open this executable: %w", err)
	}
	f := systemFacts(kinds)
	argv := []string{"bwrap"}
	if p.dies {
		argv = append(argv, "--die-with-parent")
	}
	argv = append(argv, bubblewrapArgv(p, f, filter)...)
	if way != nil {
		argv = append(argv, way.args...)
	}
	keep, err := keepAlive(p.state, way)
	if err != nil {
		return err
	}
	argv = append(append(argv, keep...), "--", "/proc/self/fd/"+strconv.Itoa(self), innerCommand)
	if abi >= minABI {
		argv = append(argv, "--writes", strings.Join(writes(p, f), pathSeparator))
	}
	if way != nil {
		if err := way.inherit(); err != nil {
			return err
		}
		argv = append(argv, "--egress", strconv.Itoa(way.socket))
	}
	if p.Limits.Processes > 0 {
		if err := canLimitProcesses(); err != nil {
			return err
		}
	}
	argv = append(argv, p.Limits.args()...)
	arguments, err := listFile("arguments", program)
	if err != nil {
		return err
	}
	variables, err := listFile("environment", environ(append(os.Environ(), p.Env...)))
	if err != nil {
		return err
	}
	argv = append(argv, "--arguments", strconv.Itoa(arguments), "--environment", strconv.Itoa(variables))
	signal.Ignore(passed...)
	if err := unix.Exec(bwrap, argv, nil); err != nil {
		return fmt.Errorf("execute %s: %w", bwrap, err)
	}
	return nil
}

// keepAlive returns the options by which the first process of a sandbox keeps open what
// tells others that it lives: the lock in the session's state directory, and the
// connection with the proxy. state is "" and way is nil for none.
func keepAlive(state string, way *link) (args []string, err error) {
	var files []int
	if state != "" {
		lock, first, err := life.Begin(state)
		if errors.Is(err, private.ErrHeld) {
			return nil, fmt.Errorf("something that an earlier start of this session has left still runs: %w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("tell that the sandbox lives: %w", err)
		}
		defer lock.Close() // the parcel has it
		info, err := unix.FcntlInt(first.Fd(), unix.F_DUPFD, 3)
		if err := errors.Join(err, first.Close()); err != nil {
			return nil, err
		}
		args = append(args, "--info-fd", strconv.Itoa(info))
		files = append(files, int(lock.Fd()))
	}
	if way != nil {
		files = append(files, way.socket)
	}
	if len(files) == 0 {
		return nil, nil
	}
	parcel, err := life.Parcel(files...)
	if err != nil {
		return nil, err
	}
	return append(args, "--sync-fd", strconv.Itoa(parcel)), nil
}

// canLimitProcesses returns an error if the kernel would count no processes for the
// limit, or those outside too.
func canLimitProcesses() error {
	if os.Geteuid() == 0 {
		return fmt.Errorf("the kernel sets no limit of processes for root: a limit needs a control group")
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return fmt.Errorf("ask for the kernel's version: %w", err)
	}
	release := unix.ByteSliceToString(name.Release[:])
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil || major < 5 || major == 5 && minor < 14 {
		return fmt.Errorf("kernel %s counts the processes outside of a sandbox too: a limit needs Linux 5.14 or a control group", release)
	}
	return nil
}

// runInner is sandbox-inner, which runs in the namespaces.
func runInner(args []string, proxy Proxy) error {
	flags := flag.NewFlagSet(innerCommand, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var limits Limits
	flags.Int64Var(&limits.Memory, "memory", 0, "")
	flags.Int64Var(&limits.Files, "files", 0, "")
	flags.Int64Var(&limits.Processes, "processes", 0, "")
	socket := flags.Int("egress", 0, "")
	arguments := flags.Int("arguments", -1, "")
	variables := flags.Int("environment", -1, "")
	writes := flags.String("writes", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *socket > 0 && proxy == nil {
		return errProxy
	}
	program, err := takeList("arguments", *arguments)
	if err != nil {
		return err
	}
	if len(program) == 0 || flags.NArg() > 0 {
		return fmt.Errorf("use %s --arguments FD --environment FD", innerCommand)
	}
	runtime.LockOSThread()
	if err := takeEnvironment(*variables); err != nil {
		return err
	}
	// What has a handler gets the default when the program is executed.
	signal.Notify(make(chan os.Signal, len(passed)), passed...)
	if *socket > 0 {
		if err := proxy.Join(*socket); err != nil {
			return err
		}
	}
	if err := closeAtExec(); err != nil {
		return err
	}
	if *writes != "" {
		if err := confineWrites(strings.Split(*writes, pathSeparator)); err != nil {
			return err
		}
	}
	return executeWithin(limits, program)
}

// closeAtExec lets no descriptor but the standard ones reach what this process
// executes.
func closeAtExec() error {
	const first = 3
	if unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	// Before Linux 5.11.
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list the open descriptors: %w", err)
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < first {
			continue
		}
		unix.CloseOnExec(fd)
	}
	return nil
}

// args are the options of sandbox-inner for limits.
func (l Limits) args() []string {
	return []string{
		"--memory", strconv.FormatInt(l.Memory, 10), "--files", strconv.FormatInt(l.Files, 10), "--processes", strconv.FormatInt(l.Processes, 10),
	}
}

// executeWithin replaces this process by a program, which is looked for in PATH, with more
// variables than this process has, and with limits that the program and all that it starts
// have. It returns only an error.
func executeWithin(l Limits, argv []string, more ...string) error {
	p, err := look(argv, more...)
	if err != nil {
		return err
	}
	if l != (Limits{}) {
		reserve(p)
	}
	if err := setLimits(l); err != nil {
		return err
	}
	return p.execute()
}

// reserve has the runtime hold the memory and the threads that execute needs. The
// limits of the program are below what this process has already: under them the kernel
// gives no more, and the runtime would end the process with a trace of its goroutines.
func reserve(p program) {
	size := 2 << 20
	for _, s := range slices.Concat(p.argv, p.env) {
		size += 2 * (len(s) + 32) // a copy, rounded up to a size class, and a pointer to it
	}
	runtime.GOMAXPROCS(1)      // no thread beside this one has to run
	runtime.MemProfileRate = 0 // a record of a large copy would need memory of its own
	held := make([]byte, size)
	runtime.KeepAlive(held)
	runtime.GC() // frees it, for this process to use again
}

// setLimits sets the limits that are inherited. Between it and execve(2) nothing may
// need more memory, or a thread, see reserve.
func setLimits(l Limits) error {
	if l.Processes > 0 {
		l.Processes++ // the first process of bwrap in the namespace counts too
	}
	for _, limit := range []struct {
		resource int
		most     int64
	}{{unix.RLIMIT_NPROC, l.Processes}, {unix.RLIMIT_FSIZE, l.Files}, {unix.RLIMIT_DATA, l.Memory}} {
		if limit.most > 0 {
			if err := setLimit(limit.resource, uint64(limit.most)); err != nil {
				return err
			}
		}
	}
	return nil
}

// setLimit lowers a limit for good. One that is lower already stays.
func setLimit(resource int, most uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return fmt.Errorf("read limit %d: %w", resource, err)
	}
	l.Max = min(l.Max, most)
	l.Cur = min(l.Cur, l.Max)
	if err := unix.Setrlimit(resource, &l); err != nil {
		return fmt.Errorf("set limit %d: %w", resource, err)
	}
	return nil
}
