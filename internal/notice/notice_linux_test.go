package notice

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"middleman/internal/agent"
	"middleman/internal/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told is what a Teller has published.
type told struct {
	mu   sync.Mutex
	list []string // kinds and sessions of each notice
}

func (l *told) add(n api.Notice) {
	var items []string
	for _, i := range n.Items {
		items = append(items, i.Kind+" "+i.Session)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, strings.Join(items, ", "))
}

// change is one of a session; after wait, and with a reason.
type change struct {
	wait    time.Duration
	session string
	state   agent.State
	reason  string
	kind    agent.Kind
}

func TestNotices(t *testing.T) {
	const far = 10 * time.Second
	for _, tt := range []struct {
		name    string
		changes []change
		looked  string
		want    []string
	}{
		{"it asks", []change{{0, "a", agent.Waiting, "Bash", ""}}, "", []string{"needs-input a"}},
		{"its turn is over", []change{{0, "a", agent.Working, "", ""}, {far, "a", agent.Idle, "", ""}}, "", []string{"done a"}},
		{"it was idle when it was found", []change{{0, "a", agent.Idle, "", ""}}, "", nil},
		{"work goes on in the background", []change{{0, "a", agent.Working, "", ""}, {far, "a", agent.Idle, "", agent.Background}, {far, "a", agent.Idle, "", ""}}, "", []string{"done a"}},
		{"it fails", []change{{0, "a", agent.Failed, "exit code 1", ""}}, "", []string{"failed a"}},
		{"it is stopped", []change{{0, "a", agent.Stopped, "ended by SIGKILL", ""}}, "", nil},
		{"it is stopped while it waits", []change{{0, "a", agent.Waiting, "x", ""}, {0, "a", agent.Stopped, "exit code 1", ""}}, "", nil},
		{"it is lost", []change{{0, "a", agent.Lost, "", ""}}, "", []string{"failed a"}},
		{"it works and exits", []change{{0, "a", agent.Working, "", ""}, {far, "a", agent.Done, "", ""}}, "", []string{"done a"}},
		{"it is done and its user ends it", []change{{0, "a", agent.Working, "", ""}, {far, "a", agent.Idle, "", ""}, {far, "a", agent.Done, "", ""}}, "", []string{"done a"}},
		{"its shell has the terminal again", []change{{0, "a", agent.Working, "", ""}, {far, "a", "", "", ""}, {0, "a", agent.Unknown, "", ""}, {far, "a", agent.Idle, "", ""}}, "", nil},
		{"two at once", []change{{0, "a", agent.Waiting, "x", ""}, {time.Second, "b", agent.Failed, "y", ""}}, "", []string{"needs-input a, failed b"}},
		{"two far apart", []change{{0, "a", agent.Waiting, "x", ""}, {far, "b", agent.Failed, "y", ""}}, "", []string{"needs-input a", "failed b"}},
		{"the same again", []change{{0, "a", agent.Waiting, "x", ""}, {far, "a", agent.Unknown, "", ""}, {far, "a", agent.Waiting, "x", ""}}, "", []string{"needs-input a"}},
		{"another reason", []change{{0, "a", agent.Waiting, "x", ""}, {far, "a", agent.Waiting, "y", ""}}, "", []string{"needs-input a", "needs-input a"}},
		{"the same after work", []change{{0, "a", agent.Waiting, "x", ""}, {far, "a", agent.Working, "", ""}, {far, "a", agent.Waiting, "x", ""}}, "", []string{"needs-input a", "needs-input a"}},
		{"answered at once", []change{{0, "a", agent.Waiting, "x", ""}, {time.Second, "a", agent.Working, "", ""}}, "", nil},
		{"somebody looks", []change{{0, "a", agent.Waiting, "x", ""}, {0, "b", agent.Waiting, "x", ""}}, "a", []string{"needs-input b"}},
		{"only what somebody looks at", []change{{0, "a", agent.Waiting, "x", ""}}, "a", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got told
				teller := New(Options{
					Looked:  func(_ context.Context, session string) bool { return session == tt.looked },
					Publish: got.add, Log: slog.New(slog.DiscardHandler),
				})
				ctx, cancel := context.WithCancel(t.Context())
				var run sync.WaitGroup
				run.Go(func() { teller.Run(ctx) })
				before := map[string]agent.Status{}
				for _, c := range tt.changes {
					time.Sleep(c.wait)
					after := agent.Status{State: c.state, Reason: c.reason, Kind: c.kind}
					teller.Changed(api.NoticeItem{Session: c.session}, before[c.session], after)
					before[c.session] = after
				}
				time.Sleep(far)
				cancel()
				run.Wait()
				if !slices.Equal(got.list, tt.want) {
					t.Errorf("told %q, want %q", got.list, tt.want)
				}
			})
		})
	}
}

// command returns a command that runs a script with a home of its own.
func command(t *testing.T, script string) (c *Command, home string) {
	home = t.TempDir()
	return &Command{
		Argv: []string{"sh", "-c", script}, Limit: time.Minute,
		Environ: func(context.Context) ([]string, error) {
			return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, nil
		},
	}, home
}

var quiet = slog.New(slog.DiscardHandler)

// A command gets the notice as JSON, in the home, and what fails is told.
func TestCommand(t *testing.T) {
	n := api.Notice{Items: []api.NoticeItem{{Kind: api.NeedsInput, Session: "s1", Reason: "Bash: rm -rf build"}}}
	c, home := command(t, "cat >told")
	c.start(t.Context(), n, quiet)
	c.wait()
	raw, err := os.ReadFile(filepath.Join(home, "told"))
	if err != nil {
		t.Fatal(err)
	}
	var got api.Notice
	if err := json.Unmarshal(raw, &got); err != nil || len(got.Items) != 1 || got.Items[0] != n.Items[0] {
		t.Errorf("%s, %v", raw, err)
	}
	if s := c.State(); s.Runs != 1 || s.Failed != 0 || s.Error != "" {
		t.Errorf("%+v", s)
	}
	c, _ = command(t, "echo no bus >&2; exit 3")
	c.start(t.Context(), n, quiet)
	c.wait()
	if s := c.State(); s.Failed != 1 || s.Error != "exit status 3: no bus" {
		t.Errorf("%+v", s)
	}
	c.Argv = []string{"there-is-no-such-program"}
	c.start(t.Context(), n, quiet)
	c.wait()
	if s := c.State(); s.Runs != 2 || s.Error != "there-is-no-such-program was not found in PATH" {
		t.Errorf("%+v", s)
	}
}

// A command that hangs is killed with what it has started, and the number of
// those that run is bounded.
func TestCommandHangs(t *testing.T) {
	var children []string
	for _, limit := range []time.Duration{500 * time.Millisecond, 5 * time.Second, 30 * time.Second} { // within which a child is started
		c, home := command(t, `sleep 1000 & echo $! >"$$"; mv "$$" child.$$; wait`)
		c.Limit = limit
		for range maxCommands + 1 {
			c.start(t.Context(), api.Notice{}, quiet)
		}
		c.wait()
		s := c.State()
		if s.Runs != maxCommands+1 || s.Failed != maxCommands+1 || !strings.Contains(s.Error, "it was ended after "+limit.String()) {
			t.Errorf("%+v", s)
		}
		var err error
		if children, err = filepath.Glob(filepath.Join(home, "child.*")); err != nil {
			t.Fatal(err)
		}
		if len(children) > 0 {
			break
		}
	}
	if len(children) == 0 {
		t.Fatal("no command has started a child")
	}
	for _, file := range children {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
		if err != nil {
			t.Fatal(err)
		}
		if !ends(t, pid) {
			t.Errorf("a child of the command runs: %d", pid)
		}
	}
}

// ends waits until a process has ended, which one that was killed does only once
// it is scheduled.
func ends(t *testing.T, pid int) bool {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const patience = 60_000 // milliseconds
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patience)
	if err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// A server that ends does not leave a command behind.
func TestCommandEndsWithTheServer(t *testing.T) {
	c, _ := command(t, "echo began >began; sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	c.start(ctx, api.Notice{}, quiet)
	cancel()
	c.wait()
	if s := c.State(); s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// Notices of other machines that come together are one run of the command, and of a
// flood of them a part is dropped.
func TestPassed(t *testing.T) {
	c, home := command(t, "cat > told")
	pipe := filepath.Join(home, "told") // who reads it waits for the command
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	teller := New(Options{Looked: func(context.Context, string) bool { return false }, Publish: func(api.Notice) { t.Error("it was published as a notice of this machine") }, Command: c, Log: quiet})
	for range 10 * maxPassed {
		teller.Pass(api.Notice{Items: []api.NoticeItem{{Kind: api.NeedsInput, Session: "s1", Runtime: "box"}}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		teller.Run(ctx)
	}()
	raw, err := os.ReadFile(pipe)
	cancel()
	<-ended
	var got api.Notice
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil || len(got.Items) != maxPassed || got.Items[0].Runtime != "box" {
		t.Errorf("%d items, %v", len(got.Items), err)
	}
}
