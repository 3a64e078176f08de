package systemd

import (
	"fmt"
	"net"
	"os"
)

// Ready tells the service manager that this process is ready (sd_notify(3),
// Type=notify). It removes NOTIFY_SOCKET from the environment, so that no child
// can notify in our name. Without NOTIFY_SOCKET it does nothing.
func Ready() error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if err := os.Unsetenv("NOTIFY_SOCKET"); err != nil {
		return err
	}
	// A name that begins with @ is in the abstract namespace, in net too.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell systemd that the server is ready: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("READY=1")); err != nil {
		return fmt.Errorf("tell systemd that the server is ready: %w", err)
	}
	return nil
}
