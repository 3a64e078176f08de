//go:build unix

package ptyowner

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// checkOurs returns an error unless path is a directory of this user's, no
// symbolic link, and not writable by group or others.
func checkOurs(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("state directory %s is not a directory", path)
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("state directory %s does not belong to this user", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("state directory %s is writable by others (mode %04o): chmod go-w it", path, info.Mode().Perm())
	}
	return nil
}

// checkPeer returns an error unless this user serves the connection: the token
// is for nobody else.
func checkPeer(conn net.Conn) error {
	uid, err := peerUID(conn.(*net.UnixConn))
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("it is user %d, and the owner is user %d", uid, os.Geteuid())
	}
	return err
}

// syncDir makes a rename in path durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
