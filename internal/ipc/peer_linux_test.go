package ipc_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/ipc"
	"middleman/internal/testenv"
)

func TestPeerOfAnother(t *testing.T) {
	path := filepath.Join(testenv.ShortDir(t), "s")
	testenv.ListenAsStranger(t, path)
	conn, err := net.Dial("unix", path)
	must(t, err)
	defer conn.Close()
	if err := ipc.CheckPeer(conn); err == nil || !strings.Contains(err.Error(), "belongs to user 61234, and you are user 0") {
		t.Errorf("who listens: %v", err)
	}

	open := filepath.Join(testenv.ShortDir(t), "s")
	must(t, os.Chmod(filepath.Dir(open), 0o755))
	l, err := net.Listen("unix", open)
	must(t, err)
	defer l.Close()
	must(t, os.Chmod(open, 0o666))
	testenv.DialAsStranger(t, open)
	accepted, err := l.Accept()
	must(t, err)
	defer accepted.Close()
	if err := ipc.CheckPeer(accepted); err == nil || !strings.Contains(err.Error(), "belongs to user 61234, and you are user 0") {
		t.Errorf("who connects: %v", err)
	}
}
