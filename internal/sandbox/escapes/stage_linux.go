package escapes

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// secret is the content of what the sandbox hides.
const secret = "the secret that nobody may read"

// stage is what attempts aim at.
type stage struct {
	Base       string // all below is in it; the sandbox shows it
	Workspace  string // the program may write to it
	Temp       string
	Home       string
	Secret     string // a hidden directory
	SecretFile string // a hidden file
	State      string // the hidden state of another session
	Policy     string // in the state
	Repository string
	Executable string
	// Credentials are paths of this user's that are hidden too.
	Credentials []string

	Victim       int    // a process outside
	Socket       string // of a server, in a directory that is shown
	HiddenSocket string // the same, in a hidden one
	TempSocket   string // the same, in the directory for temporary files
	Datagrams    string // a socket of datagrams, in a directory that is shown
	Abstract     string // the same, with a name of no file
	Port         int    // of a server on loopback
	Shared       string // memory in /dev/shm, "" if there is none
	Segment      int    // System V shared memory, -1 if there is none
	Queue        string // a POSIX message queue, "" if there is none
	Terminal     string // another terminal, "" if there is none

	name string // of the attempt that runs
}

// file is a file outside that belongs to one attempt.
func (s *stage) file(name string) string {
	return filepath.Join(s.Base, "outside", strings.ReplaceAll(name, "/", " "))
}

// own is the file outside of the attempt that runs, and dir its directory.
func (s *stage) own() string { return s.file(s.name) }
func (s *stage) dir() string { return s.file(s.name) + ".d" }

// in is a path in the workspace.
func (s *stage) in(name string) string { return filepath.Join(s.Workspace, name) }

// build makes a stage in dir. clean ends its processes and removes what is not in dir.
func build(ctx context.Context, dir string) (s *stage, clean func(), err error) {
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	s = &stage{
		Base: dir, Workspace: in("workspace"), Temp: in("temp"), Home: in("home"), Secret: in("home", ".ssh"), SecretFile: in("home", ".netrc"),
		State: in("state"), Policy: in("state", "policy.json"), Repository: in("repository"), Segment: -1,
	}
	if s.Executable, err = os.Executable(); err != nil {
		return nil, nil, err
	}
	for _, path := range []string{s.Workspace, s.Temp, s.Secret, s.State, in("outside"), in("home", ".cache"), in("repository", ".git", "hooks"),
		in("repository", ".git", "refs", "heads"), in("repository", ".git", "objects", "info"), in("repository", ".git", "worktrees", "w")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, nil, err
		}
	}
	texts := map[string]string{
		in("home", ".ssh", "id"): secret, s.SecretFile: secret, in("state", "token"): secret, s.Policy: "{}", in("home", ".bashrc"): "# rc\n", in("home", ".gitconfig"): "[user]\n",
		in("repository", ".git", "config"): "[core]\n", in("repository", ".git", "refs", "heads", "main"): "0\n",
		in("repository", ".git", "worktrees", "w", "commondir"): "../..\n", in("workspace", ".git"): "gitdir: " + in("repository", ".git", "worktrees", "w") + "\n",
	}
	for _, a := range all() {
		texts[s.file(a.name)] = secret
		if err := os.Mkdir(s.file(a.name)+".d", 0o700); err != nil {
			return nil, nil, err
		}
	}
	for path, text := range texts {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, nil, err
		}
	}
	clean, err = s.populate(ctx)
	return s, clean, err
}

// populate starts the process and the servers outside, and makes shared memory.
func (s *stage) populate(ctx context.Context) (clean func(), err error) {
	var undo []func()
	clean = func() {
		for _, f := range undo {
			f()
		}
	}
	defer func() {
		if err != nil {
			clean()
		}
	}()
	victim := exec.CommandContext(ctx, s.Executable, Command, wait)
	victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	hold, err := victim.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := victim.Start(); err != nil {
		return nil, err
	}
	s.Victim = victim.Process.Pid
	undo = append(undo, func() { hold.Close(); _ = victim.Wait() })

	for _, at := range []struct {
		network, dir, name string
		path               *string
	}{
		{"unix", s.Base, "s.sock", &s.Socket}, {"unix", s.State, "h.sock", &s.HiddenSocket}, {"unix", s.Temp, "t.sock", &s.TempSocket},
		{"unixgram", s.Base, "d.sock", &s.Datagrams},
	} {
		stop, err := listen(at.network, at.dir, at.name)
		if err != nil {
			return nil, err
		}
		undo = append(undo, stop)
		*at.path = filepath.Join(at.dir, at.name)
	}
	s.Abstract = "@middleman-attack-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(s.Victim)
	named, err := net.Listen("unix", s.Abstract)
	if err != nil {
		return nil, err
	}
	undo = append(undo, func() { named.Close() })
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.Port = server.Addr().(*net.TCPAddr).Port
	undo = append(undo, func() { server.Close() })
	return clean, s.share(&undo)
}

// listen listens at a Unix socket in a directory whose path may be too long for one. The
// caller removes the directory.
func listen(network, dir, name string) (stop func(), err error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	at := &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", fd, name), Net: network}
	if network == "unixgram" {
		conn, err := net.ListenUnixgram(network, at)
		return func() { conn.Close() }, err
	}
	l, err := net.ListenUnix(network, at)
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return func() { l.Close() }, nil
}

// share makes what processes share by name or number. What the system does not have
// is left out.
func (s *stage) share(undo *[]func()) error {
	name := "middleman-attack-" + strconv.Itoa(s.Victim)
	shared := "/dev/shm/" + name
	if err := os.WriteFile(shared, []byte(secret), 0o600); err == nil {
		s.Shared = shared
		*undo = append(*undo, func() { os.Remove(shared) })
	}
	if id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600); err == nil {
		s.Segment = id
		*undo = append(*undo, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	}
	if fd, err := openQueue(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL); err == nil {
		unix.Close(fd)
		s.Queue = name
		*undo = append(*undo, func() { removeQueue(name) })
	}
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // this system has no terminals
	}
	*undo = append(*undo, func() { unix.Close(master) })
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("unlock a terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return fmt.Errorf("ask for the number of a terminal: %w", err)
	}
	s.Terminal = "/dev/pts/" + strconv.Itoa(number)
	return nil
}
