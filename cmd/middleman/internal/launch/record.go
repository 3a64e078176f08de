package launch

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/internal/private"
	"middleman/terminal"
)

// neverRun is what lists say of a profile whose rules were tried on stand-ins
// alone.
const neverRun = "never run against the real program"

// hookPause is how often a recording asks what the newest hook has said.
const hookPause = 100 * time.Millisecond

// tested says which recording of a profile's program was judged right.
type tested struct {
	Program string    `json:"program"` // what it printed for --version
	Passed  time.Time `json:"passed"`
	Marks   int       `json:"marks"` // that were judged right
}

func (c commands) recordCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "record TARGET -o FILE",
		Short: "Record a running coding agent, to check the status that middleman shows for it",
		Long: `Record a running coding agent, to check the status that middleman shows for it.

Run this beside a session in which you use the agent. It records what the agent
prints and what its hooks say. Whenever the agent is in a state that you are sure of,
type that state and Enter: working, waiting permission, waiting question, waiting
login, waiting rate limit, idle, idle background, failed. End with ctrl-D. ` + "`profile\ntest NAME < FILE`" + ` judges the recording. The file has all that the agent shows.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if file == "" {
				return cli.Usagef("give the file with -o")
			}
			return c.recordProfile(cmd.Context(), given[0], file)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`, which must not exist")
	return cmd
}

func (c commands) testCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test NAME < RECORDING",
		Short: "Judge a recording of a profile's program, and remember whether that was right",
		Long: `Judge a recording of a profile's program, which ` + "`profile record`" + ` made.

It prints each mark of yours, and each change of what middleman would have told
meanwhile. The exit code is 1 if a mark was judged to be another state. Else, if
at least one was judged right, ` + "`profile list`" + ` names from now on the version
of the program with which the rules were right.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, given []string) error { return c.testProfile(given[0]) },
	}
}

// recordProfile records a session until standard input ends.
func (c commands) recordProfile(ctx context.Context, target, file string) (err error) {
	t, err := catalog.Find(ctx, c.CLI, target)
	if err != nil {
		return err
	}
	profile := c.profiles().For(t.Shown.Profile, t.Shown.Argv)
	if profile.Name == "" || profile.Name == agent.Shell {
		return fmt.Errorf("record %s: no profile starts its program", t.Label())
	}
	version, _ := programVersion(ctx, t.Shown.Argv[0])
	a, err := t.Session.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeWatch, Client: "profile record", Reader: true})
	if err != nil {
		return fmt.Errorf("record %s: %w", t.Label(), err)
	}
	defer a.Close()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("record %s: %s exists already: name another file", t.Label(), file)
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", t.Label(), err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	size, what := a.Hello().Size, agent.Recorded{Profile: profile.RulesOf(), Program: version}
	r := agent.NewRecorder(out, what, int(size.Cols), int(size.Rows), time.Now())
	if title := a.Hello().Title; title != "" {
		r.Output([]byte("\x1b]0;"+title+"\a"), time.Now())
	}
	ctx, cancel := context.WithCancel(ctx)
	var followers sync.WaitGroup
	followers.Go(func() { c.recordOutput(r, a) })
	hooks := &hookRecorder{to: r, program: what.Profile, session: t.Shown.ID, complain: func(err error) { fmt.Fprintln(c.Errs, "middleman:", err) }}
	if server, err := client.Connect(ctx, c.Dirs); err == nil {
		defer server.Close()
		hooks.server = server
	}
	followers.Go(func() { hooks.follow(ctx) })
	fmt.Fprintf(c.Errs, "recording %s: type a state and Enter when you are sure of it, ctrl-D to end\n", t.Label())
	marks, err := c.takeMarks(r, func() { hooks.ask(ctx) })
	cancel()
	a.Close()
	followers.Wait()
	if err = errors.Join(err, r.Err()); err == nil {
		fmt.Fprintf(c.Errs, "%s has %d marks: middleman profile test %s < %s\n", filepath.Base(file), marks, what.Profile, file)
	}
	return err
}

// takeMarks reads marks from standard input up to its end. It calls before each
// is recorded, for what is older.
func (c commands) takeMarks(r *agent.Recorder, before func()) (n int, err error) {
	lines := bufio.NewScanner(c.In)
	for lines.Scan() {
		if lines.Text() == "" {
			continue
		}
		m, err := agent.ParseMark(lines.Text())
		if err != nil {
			fmt.Fprintln(c.Errs, "middleman:", err)
			continue
		}
		now := time.Now()
		before()
		r.Mark(m, now)
		n++
		fmt.Fprintf(c.Errs, "marked: %s\n", m)
	}
	return n, lines.Err()
}

// recordOutput records what a session prints until its attachment ends.
func (c commands) recordOutput(r *agent.Recorder, a terminal.Attachment) {
	for {
		m, err := a.Receive()
		if err != nil {
			return
		}
		now := time.Now()
		switch m.Kind {
		case terminal.MessageSnapshot:
			r.Output(append([]byte("\x1bc"), m.Data...), now)
		case terminal.MessageOutput:
			r.Output(m.Data, now)
		case terminal.MessageEvent:
			if m.Event.Size != nil {
				r.Size(int(m.Event.Size.Cols), int(m.Event.Size.Rows), now)
			}
		case terminal.MessageExit, terminal.MessageDetached:
			fmt.Fprintln(c.Errs, "the session has ended: end the recording with ctrl-D")
		}
		if m.Kind == terminal.MessageSnapshot || m.Kind == terminal.MessageOutput {
			_ = a.Ack(m.Offset + uint64(len(m.Data))) // a broken connection ends Receive
		}
	}
}

// hookRecorder records what the newest hook of a session says.
type hookRecorder struct {
	to       *agent.Recorder
	server   *client.Client // nil without a server: then nobody knows
	program  string
	session  string
	mu       sync.Mutex // guards last, and is held while the server is asked
	last     time.Time
	complain func(error)
}

// follow asks again and again, until ctx ends.
func (h *hookRecorder) follow(ctx context.Context) {
	for {
		h.ask(ctx)
		select {
		case <-time.After(hookPause):
		case <-ctx.Done():
			return
		}
	}
}

// ask records what the newest hook says, if that is not recorded.
func (h *hookRecorder) ask(ctx context.Context) {
	if h.server == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	report, err := h.server.AgentStatus(ctx, h.session)
	if err != nil || report.Heard == nil || report.Heard.Since.Equal(h.last) {
		return
	}
	heard := report.Heard
	h.last = heard.Since
	said := agent.Hook{Agent: h.program, Event: heard.Rule, At: heard.Since, State: heard.State, Kind: heard.Kind, Reason: heard.Reason}
	if err := h.to.Hook(said, heard.Since); err != nil {
		h.complain(err)
	}
}

// testProfile judges the recording on standard input.
func (c commands) testProfile(name string) error {
	p, _, err := c.named(name)
	if err != nil {
		return err
	}
	judged, err := p.Replay(bufio.NewReader(c.In))
	if err != nil {
		return fmt.Errorf("profile test %s: %w", name, err)
	}
	if judged.Passed() {
		if err := c.remember(judged); err != nil {
			return fmt.Errorf("remember that the test has passed: %w", err)
		}
	}
	if err := c.Print(judged, func() error { return c.printJudged(judged) }); err != nil {
		return err
	}
	switch {
	case judged.Wrong > 0:
		return fmt.Errorf("profile %s: %d of %d marks were judged to be another state", name, judged.Wrong, judged.Wrong+judged.Right+judged.Unknown)
	case judged.Right == 0:
		return fmt.Errorf("profile %s: no mark was judged right, so nothing is shown", name)
	}
	return nil
}

func (c commands) printJudged(judged agent.Replayed) error {
	t := c.Table("TIME", "MARKED", "JUDGED", "BY", "RULE", "VERDICT")
	for _, m := range judged.Moments {
		t.Row(fmt.Sprintf("%.1fs", m.At), cmp.Or(m.Marked, "-"), m.Judged.Text(), cmp.Or(m.Judged.Source, "-"), cmp.Or(m.Judged.Rule, "-"), cmp.Or(m.Verdict, "-"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%d right, %d wrong, %d unknown, of %s\n", judged.Right, judged.Wrong, judged.Unknown, plaintext.Line(cmp.Or(judged.Program, "-")))
	return nil
}

// tests returns which profiles' programs were judged right, by profile.
func (c commands) tests() (map[string]tested, error) {
	data, err := private.ReadFile(c.Dirs.Profiles())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all map[string]tested
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.Dirs.Profiles(), err)
	}
	return all, nil
}

// remember records a recording that was judged right. What was recorded before
// and cannot be read is lost.
func (c commands) remember(judged agent.Replayed) error {
	all, err := c.tests()
	if all == nil {
		if err != nil {
			fmt.Fprintln(c.Errs, "middleman:", err)
		}
		all = map[string]tested{}
	}
	all[judged.Profile] = tested{Program: judged.Program, Passed: time.Now().UTC().Truncate(time.Second), Marks: judged.Right}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := private.MakeDir(c.Dirs.Data); err != nil {
		return err
	}
	return private.Replace(c.Dirs.Profiles(), data, private.Durable)
}
