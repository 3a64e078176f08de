package proc_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"

	"middleman/internal/proc"
)

// TestMain is also the child of TestIdentity: it lives as long as its input.
func TestMain(m *testing.M) {
	if os.Getenv("MIDDLEMAN_TEST_CHILD") != "" {
		os.Stdout.WriteString("runs\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// A pid alone identifies no process: with its start it does, until the process ends,
// and even while its parent has not taken notice of the end.
func TestIdentity(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MIDDLEMAN_TEST_CHILD=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	pid := cmd.Process.Pid
	start, own := proc.StartOf(pid), proc.StartOf(os.Getpid())
	if start == "" || own == "" || start == own && pid == os.Getpid() {
		t.Fatalf("the child started at %q, this process at %q", start, own)
	}
	for _, x := range []struct {
		name  string
		pid   int
		start string
		want  bool
	}{
		{"itself", pid, start, true},
		{"who had its pid before", pid, "1", false},
		{"nobody knows when it started", pid, "", false},
		{"no process", -1, start, false},
		{"no pid", 0, start, false},
	} {
		if got := proc.StillRuns(x.pid, x.start); got != x.want {
			t.Errorf("%s: %t, want %t", x.name, got, x.want)
		}
	}
	in.Close()
	if _, err := lines.ReadString('\n'); err != io.EOF {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if proc.StillRuns(pid, start) {
		t.Error("it runs after its end")
	}
}
