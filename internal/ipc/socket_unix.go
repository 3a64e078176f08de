//go:build unix

package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// MaxSocketPath is the number of bytes that the path of a Unix socket may have on
// every system, without the final NUL (sun_path of unix(7)).
const MaxSocketPath = 103

// Listener and Conn are the two ends of a local socket, which only processes of
// this machine reach: a Unix socket, on Windows a named pipe.
type (
	Listener = net.UnixListener
	Conn     = net.UnixConn
)

// Accept returns the next connection. Call CheckPeer before you use it.
func Accept(l *Listener) (*Conn, error) { return l.AcceptUnix() }

// Dial connects to the socket at path, which Listen made. Call CheckPeer before
// you use the connection. A missing socket is fs.ErrNotExist.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// Listen listens on a Unix socket at path, with mode 0600. It removes what is at
// path, so the caller must know that nobody listens there any more. Call CheckPeer
// for each connection. The caller closes the listener, which removes the socket.
func Listen(path string) (*Listener, error) {
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
	return l, nil
}
