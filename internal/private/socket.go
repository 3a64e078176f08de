package private

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// MaxSocketPath is the number of bytes that the path of a Unix socket may have on
// every system, without the final NUL (sun_path of unix(7)).
const MaxSocketPath = 103

// Listen listens on a Unix socket at path, with mode 0600. It removes what is at
// path, so the caller must know that nobody listens there any more. Call CheckPeer
// for each connection. The caller closes the listener, which removes the socket.
func Listen(path string) (*net.UnixListener, error) {
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
