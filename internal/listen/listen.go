package listen

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/private"
)

// LockedError refuses a second server on one data directory.
type LockedError struct {
	Data string
	// PID is the process that holds it, 0 where it could not be read.
	PID int
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("a server runs already on %s: %s", e.Data, who)
}

// Options say where a server listens.
type Options struct {
	Dirs config.Dirs
	// Address is host:port for browsers; port 0 picks one.
	Address string
	// TLS says that server.Options.TLS is set, which an address beyond loopback needs:
	// without it whoever is on the way reads and types along.
	TLS bool
	// AnyPort takes another port where that of Address is taken: the one of
	// the time before, if it can be had.
	AnyPort bool
	// Settings are what TLS is by, and are kept for a server that is started in
	// the background later; see LastTLS.
	Settings config.TLS
	// Executable is what holds the port while no server does; see heldport.
	// "" is nobody: then each server begins at a new origin.
	Executable string
	Version    string
}

// Listeners are the two ways into a server, and its proof that it is the only
// one on its data directory.
type Listeners struct {
	// Unix is nil where the platform cannot tell who is at the other end.
	Unix net.Listener
	// TCP is where browsers connect: the address of serve.json first.
	TCP []net.Listener
	// Port is what is known of that port, for Options.Port.
	Port *Port
	// Instance names the data directory, for Options.Instance.
	Instance string

	lock  *flock.Flock
	serve api.Serve
	file  string
}

// Open takes the server's lock, listens, and then writes serve.json. Call
// it before the store is opened: the lock is what makes this the one server.
// A second server is a *LockedError. The caller calls Close at the end.
func Open(o Options) (_ *Listeners, err error) {
	if err := checkAddress(o.Address, o.TLS); err != nil {
		return nil, err
	}
	if err := o.Dirs.Prepare(); err != nil {
		return nil, err
	}
	l := &Listeners{file: o.Dirs.ServeFile()}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.lock, err = takeLock(o.Dirs); err != nil {
		return nil, err
	}
	before := readInstance(o.Dirs)
	kept := before
	if kept.ID == "" {
		kept.ID = rand.Text()
	}
	if l.Port, l.TCP, err = takePort(o, kept.Address); err != nil {
		return nil, err
	}
	address := l.TCP[0].Addr().String()
	if o.AnyPort && address != o.Address || o.TLS {
		kept.Address = address
	}
	if !o.AnyPort {
		kept.TLS = o.Settings
	}
	l.Instance = kept.ID
	if kept != before {
		if err := writeJSON(o.Dirs.InstanceFile(), kept); err != nil {
			return nil, err
		}
	}
	l.Unix, err = ListenUnix(o.Dirs.ServerSocket())
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	l.serve = api.Serve{Address: address, PID: os.Getpid(), Version: o.Version, TLS: o.TLS}
	if l.Unix != nil {
		l.serve.Socket = o.Dirs.ServerSocket()
	}
	return l, writeJSON(l.file, l.serve)
}

// Close ends both listeners, removes serve.json where it is still ours, and
// releases the lock. What was closed before is no error.
func (l *Listeners) Close() error {
	var errs []error
	for _, x := range append([]net.Listener{l.Unix}, l.TCP...) {
		if x == nil {
			continue
		}
		if err := x.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if l.Port != nil {
		errs = append(errs, l.Port.close())
	}
	if l.serve.PID != 0 {
		errs = append(errs, removeServe(l.file, l.serve))
	}
	if l.lock != nil {
		errs = append(errs, l.lock.Close())
	}
	return errors.Join(errs...)
}

func takeLock(dirs config.Dirs) (*flock.Flock, error) {
	path := dirs.ServerLock()
	lock, err := private.Lock(path)
	if err != nil {
		return nil, err
	}
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		// Without serve.json the refusal is as right, only less helpful.
		holder, _ := readServe(dirs.ServeFile())
		return nil, errors.Join(&LockedError{Data: dirs.Data, PID: holder.PID}, lock.Close())
	}
	return lock, nil
}

// ListenUnix binds the socket for this user alone. Whatever is at path is
// from a server that is gone: we hold the lock.
func ListenUnix(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect socket: %w", err), l.Close())
	}
	checked, err := checkPeers(l)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return checked, nil
}

// checkAddress refuses an address that others than this machine can reach.
func checkAddress(address string, encrypted bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", address, err)
	}
	if ip := net.ParseIP(host); encrypted || strings.EqualFold(host, "localhost") || ip != nil && sibling[ip.String()] != "" {
		return nil
	}
	if IsLoopback(host) {
		return fmt.Errorf("listen address %q: names below localhost lead browsers to 127.0.0.1 and [::1] alone, and without "+
			"TLS anything else may have been another program's before: use one of these, or --tls local", address)
	}
	return fmt.Errorf("listen address %q is reachable from outside, without TLS: whoever is on the way "+
		"could read and type; use --tls local or --tls-cert and --tls-key, or listen on 127.0.0.1 and use an SSH tunnel", address)
}

// IsLoopback tells names and addresses that never leave this machine.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func readServe(path string) (serve api.Serve, err error) {
	if err := readJSON(path, &serve); err != nil {
		return api.Serve{}, err
	}
	return serve, nil
}

// removeServe leaves a file that another server has written since.
func removeServe(path string, ours api.Serve) error {
	if found, err := readServe(path); err != nil || found != ours {
		return nil
	}
	return os.Remove(path)
}
