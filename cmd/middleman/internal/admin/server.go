package admin

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/build"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/internal/proc"
	"middleman/internal/systemd"
)

// endTime limits how long the server may take to end, and to start again.
const endTime = 40 * time.Second

func (c commands) serverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Show, stop or restart the server, or print its log; sessions go on",
		Long: `Show, stop or restart the server, or print its log. Sessions go on without it: the next
server finds them. Most commands start a server if none runs; ` + "`middleman serve`" + ` runs one
in the terminal.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				return cli.Usagef("unknown command %q; usage: middleman server status|start|stop|restart|logs", given[0])
			}
			return cmd.Help()
		},
	}
	add := func(use, short, long string, run func(context.Context) error) *cobra.Command {
		sub := &cobra.Command{
			Use: use, Short: short, Long: long, Args: cli.Args(cobra.NoArgs),
			RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) },
		}
		cmd.AddCommand(sub)
		return sub
	}
	add("status", "Show the server's process, address and sessions, and settings that wait for a restart",
		"Show the server's process, address and sessions, and which changed settings wait for a\nrestart. The exit code is 1 if no server runs.", c.serverStatus)
	add("start", "Start the server in the background, if none runs", "", c.serverStart)
	add("stop", "End the server; sessions go on", "", c.serverStop)
	var program string
	restart := add("restart [--program FILE]", "Start the server again, with the same flags and the present settings; sessions go on",
		`Start the server again, with the flags that it was started with and the present settings.
It is the same process, in the same terminal, but another build if there is one at its
path. A server that a systemd unit runs is restarted by systemctl.

With --program another middleman goes on as the server.`, func(ctx context.Context) error { return c.serverRestart(ctx, program) })
	restart.Flags().StringVar(&program, "program", "", "the server is the middleman in `FILE` from now on")
	var o serverLogs
	logs := add("logs [-f] [-n LINES]", "Print the server's log", "", func(ctx context.Context) error { return c.serverLogs(ctx, o) })
	logs.Flags().BoolVarP(&o.follow, "follow", "f", false, "then print what is added")
	logs.Flags().Uint64VarP(&o.lines, "tail", "n", 50, "only the last `LINES`; 0 for all")
	return cmd
}

// serverState is the result of `server status`.
type serverState struct {
	Running bool `json:"running"`
	*api.Server
	Unit     string `json:"unit,omitempty"` // of systemd, that runs the server
	Sessions int    `json:"sessions"`       // that run
}

// ask describes the running server, or returns client.ErrNoServer.
func (c commands) ask(ctx context.Context) (state serverState, server *client.Client, err error) {
	server, err = client.Connect(ctx, c.Dirs)
	if errors.Is(err, client.ErrNoServer) {
		return state, nil, err
	}
	if err != nil {
		if serve, readErr := client.ReadServe(c.Dirs); readErr == nil && proc.StillRuns(serve.PID, serve.Start) {
			err = fmt.Errorf("process %d: %w (`%s` ends it; sessions go on)", serve.PID, err, killCommand(serve.PID))
		}
		return state, nil, err
	}
	now, err := server.Server(ctx)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Code == api.CodeNotFound {
		err = errors.New("the server is an older build, which these commands cannot end: end its process, sessions go on")
	}
	if err == nil {
		state = serverState{Running: true, Server: &now, Unit: unitOf(ctx, now.PID).Name}
		state.Sessions, err = running(ctx, server)
	}
	if err != nil {
		server.Close()
		return state, nil, err
	}
	return state, server, nil
}

// running counts the sessions that run.
func running(ctx context.Context, server *client.Client) (n int, err error) {
	list, err := server.Sessions(ctx)
	for _, s := range list {
		if !s.State.Ended() {
			n++
		}
	}
	return n, err
}

// unitOf returns the unit of systemd that runs the process as its main one, or the
// zero Unit. A server in the background may be in the unit of a terminal.
func unitOf(ctx context.Context, pid int) systemd.Unit {
	unit, err := systemd.UnitOf(pid)
	if err != nil || !unit.Service() {
		return systemd.Unit{}
	}
	args := append(systemctl(unit), "show", "--property=MainPID", "--value", "--", unit.Name)
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if main, _ := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || main != pid {
		return systemd.Unit{}
	}
	return unit
}

// systemctl is the command for the manager of a unit.
func systemctl(unit systemd.Unit) []string {
	if unit.User {
		return []string{"systemctl", "--user"}
	}
	return []string{"systemctl"}
}

func (c commands) serverStatus(ctx context.Context) error {
	state, server, err := c.ask(ctx)
	if errors.Is(err, client.ErrNoServer) && c.JSON {
		return errors.Join(err, c.PrintJSON(state))
	}
	if err != nil {
		return err
	}
	server.Close()
	return c.Print(state, func() error { return c.printServer(state) })
}

func (c commands) printServer(s serverState) error {
	t := c.Table()
	t.Row("process", strconv.Itoa(s.PID))
	t.Row("version", s.Version)
	t.Row("address", s.URL)
	t.Row("since", fmt.Sprintf("%s (%s)", s.Since.Local().Format(time.DateTime), cli.Age(s.Since)))
	t.Row("sessions", fmt.Sprintf("%d running", s.Sessions))
	switch {
	case s.Unit != "":
		t.Row("run by", s.Unit)
	case s.Background:
		t.Row("log", c.Dirs.ServerLog())
	}
	switch {
	case s.Problem != "":
		t.Row("settings", "cannot be read now, so it could not start again: "+s.Problem)
	case len(s.Waiting) > 0:
		t.Row("settings", waitingText(s.Waiting))
	}
	for _, text := range s.Full {
		t.Row("connections", plaintext.Line(text))
	}
	return t.Flush()
}

// waitingText says which settings wait for a restart.
func waitingText(names []string) string {
	verb := "waits"
	if len(names) > 1 {
		verb = "wait"
	}
	return strings.Join(names, ", ") + " " + verb + " for a restart: `middleman server restart`"
}

func (c commands) serverStart(ctx context.Context) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	server.Close()
	return c.serverStatus(ctx)
}

// goOn says how many sessions go on without a server.
func goOn(sessions int) string {
	if sessions == 1 {
		return "1 session goes on"
	}
	return fmt.Sprintf("%d sessions go on", sessions)
}

func (c commands) serverStop(ctx context.Context) error {
	state, server, err := c.ask(ctx)
	if errors.Is(err, client.ErrNoServer) {
		return c.Print(map[string]any{"stopped": false}, func() error {
			fmt.Fprintln(c.Errs, "no server runs")
			return nil
		})
	}
	if err != nil {
		return err
	}
	defer server.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, endTime, fmt.Errorf("process %d was asked to end and still runs: %w", state.PID, cli.ErrTimeout))
	defer cancel()
	if unit := unitOf(ctx, state.PID); unit.Name != "" {
		err = c.runEach(ctx, [][]string{append(systemctl(unit), "stop", "--", unit.Name)})
	} else {
		_, err = server.StopServer(ctx)
	}
	if err != nil {
		return err
	}
	if err := client.AwaitEnd(ctx, c.Dirs); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	return c.Print(map[string]any{"stopped": true, "pid": state.PID, "sessions": state.Sessions}, func() error {
		fmt.Fprintf(c.Errs, "stopped; %s; the next command that needs a server starts one\n", goOn(state.Sessions))
		return nil
	})
}

func (c commands) serverRestart(ctx context.Context, program string) (err error) {
	if program != "" {
		if program, err = checkProgram(ctx, program); err != nil {
			return err
		}
	}
	state, server, err := c.ask(ctx)
	if errors.Is(err, client.ErrNoServer) && program != "" {
		return c.runEach(ctx, [][]string{{program, "server", "start"}})
	}
	if errors.Is(err, client.ErrNoServer) {
		return c.serverStart(ctx)
	}
	if err != nil {
		return err
	}
	defer server.Close()
	if program != "" {
		if err := canSwitch(ctx, server, state, program); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, endTime, fmt.Errorf("it did not come back in time, see `middleman server logs`: %w", cli.ErrTimeout))
	defer cancel()
	starts, err := client.HoldStarts(ctx, c.Dirs) // else another command would start one in between
	if err != nil {
		return err
	}
	defer starts.Close()
	unit := unitOf(ctx, state.PID)
	if unit.Name != "" {
		address := "" // flags of the unit may replace the setting
		if serve, err := client.ReadServe(c.Dirs); err == nil && slices.Contains(state.Waiting, "listen") {
			address = serve.Address
		}
		if err = c.canStart(serveOptions{}, address); err == nil {
			err = c.runEach(ctx, [][]string{append(systemctl(unit), "restart", "--", unit.Name)})
		}
	} else {
		_, err = server.RestartServer(ctx, program)
	}
	if err != nil {
		return err
	}
	now, err := client.AwaitAnother(ctx, c.Dirs, *state.Server, unit.Name == "")
	if err != nil {
		return fmt.Errorf("restart the server: %w", err)
	}
	return c.restarted(ctx, state, now)
}

// checkProgram runs a program to see whether it is a middleman, and returns its absolute
// path.
func checkProgram(ctx context.Context, program string) (string, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", program, err)
	}
	if !strings.HasPrefix(string(out), "middleman ") {
		return "", fmt.Errorf("%s is no middleman: its version is %.100q", program, out)
	}
	return program, nil
}

// canSwitch returns an error if the server cannot go on as another program.
func canSwitch(ctx context.Context, server *client.Client, state serverState, program string) error {
	if state.Unit != "" {
		return fmt.Errorf("%s runs the server, which goes on with the program that the unit names: `%s service install` rewrites a unit that middleman wrote; another must name the program itself", state.Unit, program)
	}
	v, err := server.Version(ctx)
	if err == nil && !slices.Contains(v.Features, api.FeatureProgram) {
		err = fmt.Errorf("the server, middleman %s, cannot go on as another program: `%[2]s server stop` ends it, and `%[2]s server start` starts this one; sessions go on", plaintext.Line(v.Version), program)
	}
	return err
}

// restarted reports a restart, once every session has been found again.
func (c commands) restarted(ctx context.Context, before serverState, now api.Server) error {
	server, err := client.Connect(ctx, c.Dirs)
	if err != nil {
		return err
	}
	defer server.Close()
	found, err := running(ctx, server)
	if err != nil {
		return err
	}
	state := serverState{Running: true, Server: &now, Unit: before.Unit, Sessions: found}
	return c.Print(state, func() error {
		fmt.Fprintf(c.Errs, "restarted on %s, version %s; %s\n", now.URL, plaintext.Line(now.Version), goOn(found))
		if found < before.Sessions {
			fmt.Fprintf(c.Errs, "%s ended meanwhile\n", plaintext.Count(before.Sessions-found, "session"))
		}
		if now.Version != build.Version() {
			fmt.Fprintf(c.Errs, "%s\n", otherVersion())
		}
		return nil
	})
}
