package egress

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
)

// maxConfig bounds the configuration of a proxy process.
const maxConfig = 1 << 20

// config is what the proxy process is started with, on its standard input.
type config struct {
	Allow []string `json:"allow"`
	Log   string   `json:"log"`
	// Secrets is the file with the Masks of the sandbox, "" for none.
	Secrets string `json:"secrets,omitempty"`
}

// proxyLink connects a sandbox with its proxy.
type proxyLink struct {
	// args are options of bubblewrap beside --unshare-net. They come after those that
	// show the files of the system.
	args []string
	// socket is the descriptor that Join needs inside. The first process of the sandbox
	// has to keep it open as well: the proxy ends when nobody has it open.
	socket int

	// files are the descriptors that bubblewrap gets. They are no os.File, which
	// would close them when nothing refers to it any more.
	files []int
}

// startProxy starts the proxy of a sandbox whose network list is allow, and returns how
// to connect bubblewrap with it. The proxy writes what it denies to the file log. It
// takes the secrets of the sandbox from the file secrets, which is "" for none, and
// removes that.
// It is a child of this process, in a session of its own, and ends with the last
// process of the sandbox; if there is never one, with this process.
func startProxy(allow []string, log, secrets string) (*proxyLink, error) {
	if _, err := Parse(allow); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(config{allow, log, secrets})
	if err != nil {
		return nil, err
	}
	data, err := dataFile("config", raw)
	if err != nil {
		return nil, err
	}
	input := os.NewFile(uintptr(data), "config")
	defer input.Close()
	end, link, err := newLink()
	if err != nil {
		return nil, err
	}
	defer end.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	p, err := os.StartProcess("/proc/self/exe", []string{"middleman", helperCommand}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{input, null, null, end},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, fmt.Errorf("start the proxy of the network list: %w", err)
	}
	return link, p.Release()
}

// newLink makes the connection between a sandbox and its proxy: the proxy's end,
// and what the sandbox gets. No process inherits these yet.
func newLink() (end *os.File, l *proxyLink, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("connect the sandbox with its proxy: %w", err)
	}
	end = os.NewFile(uintptr(pair[0]), "proxy's end")
	l = &proxyLink{socket: pair[1], files: []int{pair[1]}}
	defer func() {
		if err != nil {
			end.Close()
			l.close()
		}
	}()
	for _, d := range []struct{ path, content string }{
		{"/etc/resolv.conf", "nameserver " + loopback.String() + "\n"},
		{"/etc/hosts", strings.TrimSpace("127.0.0.1 localhost "+machineName()) + "\n::1 localhost ip6-localhost ip6-loopback\n"},
	} {
		if err := l.show(d.path, d.content); err != nil {
			return nil, nil, err
		}
	}
	return end, l, nil
}

// show lets the sandbox see content as the file at path. Without such a file there
// is no place to show it at, and no need: then the C library asks the name server at
// 127.0.0.1.
func (l *proxyLink) show(path, content string) error {
	place, err := filepath.EvalSymlinks(path) // bubblewrap would follow a link outside of the sandbox
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	fd, err := dataFile(filepath.Base(path), []byte(content))
	if err != nil {
		return err
	}
	l.files = append(l.files, fd)
	l.args = append(l.args, "--ro-bind-data", strconv.Itoa(fd), place)
	return nil
}

// dataFile makes a file in memory, to be read from its start. The caller closes it.
func dataFile(name string, content []byte) (fd int, err error) {
	fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("make a file in memory: %w", err)
	}
	if _, err = unix.Pwrite(fd, content, 0); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("write a file in memory: %w", err)
	}
	return fd, nil
}

// inherit lets the program that this process executes next have the descriptors of
// the proxyLink. Until then no other process may be started.
func (l *proxyLink) inherit() error {
	for _, fd := range l.files {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("pass descriptor %d on: %w", fd, err)
		}
	}
	return nil
}

func (l *proxyLink) close() { ipc.CloseFiles(l.files) }

// setEnv lets the programs that this process executes use the proxies inside, instead
// of others.
func setEnv() error {
	at := loopback.String() + ":" + strconv.Itoa(proxyPort)
	for name, value := range map[string]string{
		"http_proxy": "http://" + at, "https_proxy": "http://" + at, "all_proxy": "socks5h://" + at,
		"no_proxy": "localhost,127.0.0.0/8,127.0.0.1,::1",
	} {
		if err := errors.Join(os.Setenv(name, value), os.Setenv(strings.ToUpper(name), value)); err != nil {
			return err
		}
	}
	return nil
}
