package systemd

import (
	"fmt"
	"net"
	"os"
)

// Ready tells the manager that started this process as a unit that it serves
// (sd_notify(3), Type=notify), and takes NOTIFY_SOCKET out of the environment,
// so that nothing which is started later speaks for us. Where no manager waits
// it does nothing.
func Ready() error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if err := os.Unsetenv("NOTIFY_SOCKET"); err != nil {
		return err
	}
	// A name that begins with @ is in the abstract namespace, for net as well.
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
