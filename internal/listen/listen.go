package listen

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/ipc"
	"middleman/internal/pinned"
	"middleman/internal/private"
	"middleman/internal/proc"
)

// LockedError is the error of Open if another server uses the data directory.
type LockedError struct {
	Data string // the data directory
	// PID is the id of that server's process, 0 if it is not known.
	PID int
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("a server runs already on %s: %s", e.Data, who)
}

// Options say where and how a server listens.
type Options struct {
	Dirs config.Dirs
	// Address is host:port for browsers; port 0 picks one.
	Address string
	// TLS says that server.Options.TLS is set. An address beyond loopback needs
	// it: without TLS, anyone on the network path could read and type.
	TLS bool
	// AnyPort takes another port if that of Address is taken: the previous
	// server's if that is free.
	AnyPort bool
	// Settings are the TLS settings. Unless AnyPort is set, they are recorded for
	// servers that are started in the background later; see LastTLS.
	Settings config.TLS
	// Executable is the path of the program that holds the port while no server
	// runs; see package heldport. With "", each server begins at a new origin.
	Executable string
	Version    string
	// OwnTCP asks for Listeners.OwnTCP.
	OwnTCP bool
}

// Listeners are the Unix and TCP listeners of a server, and its lock on the data
// directory.
type Listeners struct {
	// Unix is the local socket: on Windows a named pipe.
	Unix net.Listener
	// Own is for sandboxed sessions, which do not see Unix. What comes over it has
	// no rights by its user, see server.Options.Own.
	Own net.Listener
	// OwnTCP is Own for sessions that have no Unix sockets; nil unless it was asked for.
	OwnTCP *pinned.Listener
	// TCP has the listeners for browsers; the first is at the address in
	// serve.json.
	TCP []net.Listener
	// Port is the TCP port, for server.Options.Port.
	Port *Port
	// Instance identifies the data directory, for server.Options.Instance.
	Instance string

	lock  *private.Lock
	serve api.Serve
	file  string
}

// Open takes the server's lock, listens, and then writes serve.json. Call it
// before you open the store: the lock makes this the only server. If another
// server has the lock, the error is a *LockedError. The caller calls Close at
// the end.
func Open(o Options) (_ *Listeners, err error) {
	if err := CheckAddress(o.Address, o.TLS); err != nil {
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
	if err := l.listenUnix(o); err != nil {
		return nil, err
	}
	l.serve = api.Serve{Address: address, PID: os.Getpid(), Start: proc.StartOf(os.Getpid()), Version: o.Version, TLS: o.TLS}
	if l.Unix != nil {
		l.serve.Socket = o.Dirs.ServerSocket()
	}
	return l, writeJSON(l.file, l.serve)
}

// listenUnix opens the local sockets, and what stands in for the one for sandboxed
// sessions.
func (l *Listeners) listenUnix(o Options) error {
	dirs := o.Dirs
	unix, err := ListenUnix(dirs.ServerSocket())
	if err != nil {
		return err
	}
	l.Unix = unix
	if err := private.MakeDir(dirs.Own()); err != nil {
		return err
	}
	own, err := ListenUnix(dirs.OwnSocket())
	if err != nil {
		return err
	}
	if l.Own = own; o.OwnTCP {
		l.OwnTCP, err = pinned.Listen(dirs.OwnFile())
	}
	return err
}

// Close closes all listeners, removes serve.json if this server wrote it, and
// releases the lock. Listeners that are closed already are no error.
func (l *Listeners) Close() error {
	var errs []error
	all := append([]net.Listener{l.Unix, l.Own}, l.TCP...)
	if l.OwnTCP != nil {
		all = append(all, l.OwnTCP)
	}
	for _, x := range all {
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
		l.lock = nil
	}
	return errors.Join(errs...)
}

func takeLock(dirs config.Dirs) (*private.Lock, error) {
	lock, err := private.TryLock(dirs.ServerLock())
	if errors.Is(err, private.ErrHeld) {
		// Without serve.json, or with that of an earlier server, the error has no PID.
		holder, _ := readServe(dirs.ServeFile())
		if !proc.StillRuns(holder.PID, holder.Start) {
			holder.PID = 0
		}
		return nil, &LockedError{Data: dirs.Data, PID: holder.PID}
	}
	return lock, err
}

// ListenUnix listens on a local socket at path (see ipc.Listen), and accepts
// only processes of this user. It removes what is at path: the caller must hold the
// server's lock, so that can only be the socket of an ended server.
func ListenUnix(path string) (net.Listener, error) {
	l, err := ipc.Listen(path)
	if err != nil {
		return nil, err
	}
	return checkPeers(l), nil
}

// CheckAddress refuses what is no address, and one that other machines can reach, unless
// encrypted. Of loopback it accepts, without TLS, localhost, 127.0.0.1 and ::1.
func CheckAddress(address string, encrypted bool) error {
	if err := config.CheckListen(address); err != nil {
		return fmt.Errorf("listen address %w", err)
	}
	host, _, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); encrypted || strings.EqualFold(host, "localhost") || ip != nil && sibling[ip.String()] != "" {
		return nil
	}
	if IsLoopback(host) {
		return fmt.Errorf("listen address %q: names below localhost lead browsers only to 127.0.0.1 and [::1], and without "+
			"TLS another program may have used any other address before: use one of these two, or --tls local", address)
	}
	return fmt.Errorf("listen address %q can be reached from other machines, and without TLS anybody on the way "+
		"could read and type; use --tls local or --tls-cert and --tls-key, or listen on 127.0.0.1 and use an SSH tunnel", address)
}

// IsLoopback reports whether host is "localhost" or a loopback address.
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

// removeServe removes serve.json, unless another server has written it since.
func removeServe(path string, ours api.Serve) error {
	if found, err := readServe(path); err != nil || found != ours {
		return nil
	}
	return os.Remove(path)
}
