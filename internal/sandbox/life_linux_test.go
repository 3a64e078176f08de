package sandbox

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/sandbox/life"
)

// The first process of a sandbox keeps the lock, with a network list too, until the last
// program has ended; no program has it. A second start is refused meanwhile.
func TestLife(t *testing.T) {
	if Probe().Bubblewrap == "" {
		t.Skip(Probe().NoBubblewrap)
	}
	for _, network := range []Network{{}, {Allow: []string{"example.org"}}} {
		t.Run("network "+strings.Join(network.Allow, ","), func(t *testing.T) {
			p, state := newPlace(t), t.TempDir()
			policy := p.policy(Bubblewrap)
			policy.Network = network
			if len(network.Allow) > 0 {
				policy.Network.Log = filepath.Join(p.base, "log")
			}
			run := func(script string) *exec.Cmd {
				cmd := command(t, policy, "sh", "-c", script)
				cmd.Args = slices.Insert(cmd.Args, 2, "--state", state)
				return cmd
			}
			// What it leaves holds the pipe open, and ends with its input.
			cmd := run("ls -l /proc/self/fd /proc/1/fd 2>&1; echo end; exec 3<&0; setsid sh -c 'read x' <&3 &")
			in, theirs, err := os.Pipe()
			must(t, err)
			cmd.Stdin = in
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			in.Close()
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "end" {
				if strings.Contains(lines.Text(), state) {
					t.Errorf("the program sees %s", lines.Text())
				}
			}
			if held, err := life.Held(state); !held || err != nil {
				t.Errorf("while it runs: %t, %v", held, err)
			}
			first, err := life.First(state)
			must(t, err)
			if text, err := run(":").CombinedOutput(); err == nil || !strings.Contains(string(text), "an earlier start of this session has left still runs") {
				t.Errorf("another start: %v\n%s", err, text)
			}
			theirs.Close()
			for deadline := time.Now().Add(time.Minute); ; {
				held, err := life.Outlives(state)
				must(t, err)
				if !held {
					break
				}
				if time.Now().After(deadline) {
					_ = unix.Kill(first, unix.SIGKILL)
					t.Fatal("the lock is held after the last program has ended")
				}
			}
			_ = cmd.Wait()
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
