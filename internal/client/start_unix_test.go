//go:build unix

package client

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/config"
	"middleman/internal/testenv"
)

func testDirs(t *testing.T) config.Dirs {
	home := testenv.ShortDir(t)
	return config.Dirs{Data: filepath.Join(home, "d"), Runtime: filepath.Join(home, "r")}
}

func TestLaunchReady(t *testing.T) {
	err := Launch(t.Context(), testDirs(t), exec.Command("sh", "-c", "printf ready >&3"))
	if err != nil {
		t.Error(err)
	}
}

// What a server said last is the error, and the log is named.
func TestLaunchFails(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"says why", "echo starting; echo 'middleman: port taken' >&2; exit 1", "start the server: port taken (log "},
		{"says nothing", "exit 1", "ended at once without a message"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dirs := testDirs(t)
			err := Launch(t.Context(), dirs, exec.Command("sh", "-c", tt.script))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			info, statErr := os.Stat(filepath.Join(dirs.Data, "server.log"))
			if statErr != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("log: %v, %v, want mode 0600", info, statErr)
			}
		})
	}
}

// A server that somebody else has started while ours failed is the one to use.
func TestLaunchMeetsAnother(t *testing.T) {
	dirs := testDirs(t)
	if err := dirs.Prepare(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", dirs.ServerSocket())
	if err != nil {
		t.Fatal(err)
	}
	other := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	done := make(chan error, 1)
	go func() { done <- other.Serve(l) }()
	defer func() { other.Close(); <-done }()
	if err := os.WriteFile(dirs.ServeFile()+".new", []byte(`{"pid":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	fails := exec.Command("sh", "-c", `mv "$0.new" "$0"; echo 'a server runs already' >&2; exit 1`, dirs.ServeFile())
	if err := Launch(t.Context(), dirs, fails); err != nil {
		t.Error(err)
	}
}

func TestEnsureRefusesInsideSession(t *testing.T) {
	t.Setenv("MIDDLEMAN_SESSION", "s0000000000000000")
	_, err := Ensure(t.Context(), testDirs(t), exec.Command("false"))
	if err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("got %v", err)
	}
}

func TestLongLogBeginsAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	if err := os.WriteFile(path, make([]byte, maxLog+1), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("size %d, %v, want 0", info.Size(), err)
	}
	if _, err := os.Stat(path + ".1"); err != nil {
		t.Error(err)
	}
}
