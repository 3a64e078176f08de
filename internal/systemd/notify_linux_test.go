package systemd

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"middleman/internal/testenv"
)

func TestReady(t *testing.T) {
	for name, path := range map[string]string{
		"a path":                 filepath.Join(testenv.ShortDir(t), "notify"),
		"the abstract namespace": fmt.Sprintf("@middleman-test-%d", os.Getpid()),
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			t.Setenv("NOTIFY_SOCKET", path)
			if err := Ready(); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 64)
			n, err := l.Read(buf)
			if err != nil || string(buf[:n]) != "READY=1" {
				t.Errorf("got %q, %v", buf[:n], err)
			}
			if left, ok := os.LookupEnv("NOTIFY_SOCKET"); ok {
				t.Errorf("NOTIFY_SOCKET is still %q", left)
			}
			if err := Ready(); err != nil {
				t.Errorf("where nobody waits: %v", err)
			}
		})
	}
}

func TestReadyNobodyListens(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	if Ready() == nil {
		t.Error("no error")
	}
}
