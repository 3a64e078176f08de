package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/build"
	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/client"
	"middleman/internal/config"
	"middleman/internal/confine"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/internal/private"
	"middleman/internal/sandbox"
	"middleman/internal/sandbox/escapes"
	"middleman/internal/scratch"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/tmux"
	"middleman/workspace"
)

// finding is one line of doctor's output.
type finding struct {
	Check string `json:"check"`
	// State is "ok", "note" (it works, but the user should know) or "problem".
	State  string `json:"state"`
	Detail string `json:"detail"`
}

func (c commands) doctorCommand() *cobra.Command {
	attempts := false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check for missing programs, unsafe files and leftovers; repair and remove nothing",
		Long: `Check for missing programs, unsafe files and leftovers. doctor repairs and removes nothing.

It tries what sessions need. It writes a file in the data directory and removes
it. It runs a trial session on a tmux server of its own, and notes in the runtime
directory that this tmux has passed. It tries to get out of a sandbox of each level
that there is; these attempts aim at files and processes made for them.`,
		Args: cli.Args(cobra.NoArgs),
		// doctor must report unreadable settings, so it does not load them
		// here.
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			c.Dirs, err = config.FindDirs()
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.doctor(cmd.Context(), attempts) },
	}
	cmd.Flags().BoolVar(&attempts, "sandbox", false, "list each attempt to get out of the sandbox, and what blocked it")
	return cmd
}

// doctor prints what it finds, and each attempt on the sandbox if attempts is true.
func (c commands) doctor(ctx context.Context, attempts bool) error {
	findings := c.checkPrivate()
	if err := c.Dirs.Check(); err != nil {
		// Another user could have changed these files, so read and run none.
		findings = append([]finding{{"directories", "problem", err.Error()}}, findings...)
		return c.conclude(append(findings, finding{"all else", "note", "not checked: middleman reads and runs nothing from unsafe directories"}), nil, attempts)
	}
	scratch.Use(c.Dirs.Scratch())
	findings = append(append(findings, c.cleanPath(ctx)...),
		c.checkConfig(),
		checkWritable(checkDirectory("data directory", c.Dirs.Data), c.Dirs.Data),
		checkDirectory("runtime directory", c.Dirs.Runtime),
	)
	if sockets := c.Dirs.Sockets(); sockets != c.Dirs.Runtime {
		findings = append(findings, checkDirectory("sockets", sockets))
	}
	findings = append(append(findings, c.checkSecrets(ctx)...), checkGit(ctx), checkBox())
	boxes, broken := checkSandbox(sandbox.Probe(), func(level sandbox.Level, method sandbox.Method) ([]escapes.Result, error) {
		return c.tryToEscape(ctx, level, method)
	})
	findings = append(findings, boxes...)
	there := c.backendsThere(ctx)
	for _, b := range c.Backends() {
		findings = append(findings, compareBackend(checkBackend(ctx, b), b.Name(), there))
	}
	findings = append(findings, c.checkTmux(ctx)...)
	findings = append(findings, c.checkServer(ctx))
	findings = append(findings, c.checkSystemd(ctx)...)
	return c.conclude(append(findings, c.findLeftovers(ctx)...), broken, attempts)
}

// conclude prints the findings. It returns an error if one is a problem.
func (c commands) conclude(findings []finding, boxes []tried, attempts bool) error {
	problems := 0
	for _, f := range findings {
		if f.State == "problem" {
			problems++
		}
	}
	if err := c.printFindings(findings, boxes, attempts); err != nil {
		return err
	}
	if problems > 0 {
		return errors.New("doctor found " + plaintext.Count(problems, "problem"))
	}
	return nil
}

func (c commands) printFindings(findings []finding, boxes []tried, attempts bool) error {
	return c.Print(map[string]any{"findings": findings, "sandboxes": append([]tried{}, boxes...)}, func() error {
		t := c.Table()
		for _, f := range findings {
			t.Row(f.State, f.Check, f.Detail)
		}
		if err := t.Flush(); err != nil || !attempts {
			return err
		}
		t = c.Table()
		for _, box := range boxes {
			for _, r := range box.Attempts {
				state, detail := outcome(r)
				t.Row(state, fmt.Sprintf("%s by %s", box.Level, box.Method), r.Area+": "+r.Name, detail)
			}
		}
		return t.Flush()
	})
}

func (c commands) checkConfig() (f finding) {
	f = finding{"settings", "ok", c.Dirs.File()}
	var err error
	if c.Config, err = config.Load(c.Dirs.File()); err != nil {
		return finding{"settings", "problem", err.Error()}
	}
	if _, err := os.Stat(c.Dirs.File()); errors.Is(err, fs.ErrNotExist) {
		f.Detail += " (no such file: all settings have their defaults)"
	}
	return f
}

// checkPrivate reports each of our directories, files and sockets that other
// users can read or change.
func (c commands) checkPrivate() (found []finding) {
	roots := []string{c.Dirs.Data}
	if rest, err := filepath.Rel(c.Dirs.Data, c.Dirs.Runtime); err != nil || !filepath.IsLocal(rest) {
		roots = append(roots, c.Dirs.Runtime)
	}
	if sockets := c.Dirs.Sockets(); sockets != c.Dirs.Runtime {
		roots = append(roots, sockets)
	}
	// tmux gives modes to what a trial session makes.
	parts := append(c.Dirs.Parts(), private.Part{Root: c.Dirs.Sockets(), Pattern: tmux.TryDir, Opaque: true})
	for _, root := range roots {
		for _, p := range private.Survey(root, parts...) {
			found = append(found, finding{"private", "problem", p.String()})
		}
	}
	for _, p := range confine.LooseCopies(c.Dirs) {
		found = append(found, finding{"private", "problem", p.String()})
	}
	if err := scratch.Check(); err != nil {
		found = append(found, finding{"private", "problem", err.Error()})
	}
	entries, err := os.ReadDir(c.Dirs.Config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		found = append(found, finding{"private", "problem", err.Error()})
	}
	for _, entry := range entries {
		if err := private.Trusted(filepath.Join(c.Dirs.Config, entry.Name())); err != nil {
			found = append(found, finding{"private", "problem", err.Error()})
		}
	}
	return found
}

func checkDirectory(what, path string) finding {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := private.CanMake(path); err != nil {
			return finding{what, "problem", err.Error()}
		}
		return finding{what, "ok", path + " (not made yet)"}
	}
	if err == nil {
		err = private.Dir(path)
	}
	if err != nil {
		return finding{what, "problem", err.Error()}
	}
	if runtime.GOOS == "windows" { // which has no modes; private.Dir has judged the access list
		return finding{what, "ok", path}
	}
	return finding{what, "ok", fmt.Sprintf("%s (mode %04o)", path, info.Mode().Perm())}
}

// probeBytes is more than a full file system still accepts, and less than the
// first output of a session needs.
const probeBytes = 64 << 10

// checkWritable returns f, or a problem if no file can be written in the
// directory at path. It removes the file that it writes.
func checkWritable(f finding, path string) finding {
	if _, err := os.Stat(path); f.State != "ok" || err != nil {
		return f
	}
	temp, err := os.CreateTemp(path, ".doctor-*")
	if err != nil {
		return finding{f.Check, "problem", "nothing can be stored: " + err.Error()}
	}
	_, err = temp.Write(make([]byte, probeBytes))
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close(), os.Remove(temp.Name())); err != nil {
		return finding{f.Check, "problem", "nothing can be stored: " + err.Error()}
	}
	return f
}

func checkGit(ctx context.Context) finding {
	path, err := exec.LookPath("git")
	if err != nil {
		return finding{"git", "problem", "not found in PATH: worktrees need it, so install it"}
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return finding{"git", "problem", fmt.Sprintf("%s --version: %v", path, err)}
	}
	return finding{"git", "ok", fmt.Sprintf("%s (%s)", strings.TrimSpace(string(out)), path)}
}

// checkBox reports whether git runs in a sandbox when it reads workspaces.
// Without one, git still runs no program of a repository, unless git has a
// security hole.
func checkBox() finding {
	program, err := git.Box()
	if err != nil {
		hint := "; install bubblewrap"
		if errors.Is(err, errors.ErrUnsupported) {
			hint = ""
		}
		return finding{"git sandbox", "note", fmt.Sprintf("git inspects workspaces without a sandbox: %v%s", err, hint)}
	}
	return finding{"git sandbox", "ok", "git inspects workspaces in a sandbox made by " + program}
}

const canStart = "can start sessions"

// checkBackend reports whether a backend can start sessions. One that cannot is
// a note and no problem, because another backend may.
func checkBackend(ctx context.Context, b terminal.Backend) finding {
	if err := b.Usable(ctx); err != nil {
		return finding{"backend " + b.Name(), "note", "cannot start sessions: " + err.Error()}
	}
	if c, ok := b.(interface{ Complaint() string }); ok && c.Complaint() != "" {
		return finding{"backend " + b.Name(), "note", canStart + ", but without parts of your tmux settings: " + c.Complaint()}
	}
	return finding{"backend " + b.Name(), "ok", canStart}
}

// backendsThere returns what the running server reports about its backends. It
// returns nil if no server runs or if the server is too old to tell.
func (c commands) backendsThere(ctx context.Context) []api.Backend {
	server, err := client.Connect(ctx, c.Dirs)
	if err != nil {
		return nil // checkServer reports this
	}
	defer server.Close()
	all, err := server.Backends(ctx)
	if err != nil {
		return nil
	}
	return all
}

// compareBackend returns own, or a note if the server's result for that backend
// differs, because the server starts the sessions.
func compareBackend(own finding, name string, there []api.Backend) finding {
	usable := strings.HasPrefix(own.Detail, canStart)
	for _, b := range there {
		switch {
		case b.Name != name || b.Usable == usable:
		case usable:
			return finding{own.Check, "note", fmt.Sprintf("%s here, but the server cannot (%s): it was started with another PATH or environment", canStart, b.Reason)}
		default:
			return finding{own.Check, "note", own.Detail + "; the server can, because it was started with another PATH or environment"}
		}
	}
	return own
}

func (c commands) checkServer(ctx context.Context) finding {
	server, err := client.Connect(ctx, c.Dirs)
	if errors.Is(err, client.ErrNoServer) {
		return finding{"server", "ok", "not running; it starts when it is needed"}
	}
	if err != nil {
		return finding{"server", "problem", err.Error()}
	}
	defer server.Close()
	serve, err := client.ReadServe(c.Dirs)
	if err != nil {
		return finding{"server", "problem", err.Error()}
	}
	detail := fmt.Sprintf("process %d on %s, version %s", serve.PID, serve.URL(), serve.Version)
	if serve.Version != build.Version() {
		return finding{"server", "note", detail + ", but " + otherVersion()}
	}
	// An error means that the server is too old to tell.
	now, err := server.Server(ctx)
	switch {
	case err == nil && now.Notify != nil && now.Notify.Error != "":
		n := now.Notify
		return finding{"server", "problem", fmt.Sprintf("%s; notify.command %q failed %d of %d times, last at %s: %s", detail, n.Argv[0], n.Failed, n.Runs, n.FailedAt.Local().Format(time.DateTime), plaintext.Line(n.Error))}
	case err == nil && len(now.Full) > 0:
		return finding{"server", "note", detail + "; " + plaintext.Line(strings.Join(now.Full, "; "))}
	case err == nil && len(now.LeftOut) > 0:
		return finding{"server", "note", detail + "; it does without these directories of its PATH: " + plaintext.Line(strings.Join(now.LeftOut, "; "))}
	case err == nil && len(now.Waiting) > 0:
		return finding{"server", "note", detail + "; " + waitingText(now.Waiting)}
	case err == nil && len(now.Unknown) > 0:
		return finding{"server", "note", detail + "; " + unknownText(now.Unknown)}
	}
	return finding{"server", "ok", detail}
}

// otherVersion says how the server becomes this version, after "but".
func otherVersion() string {
	text := "this command is version " + build.Version()
	if restartable() != nil {
		return text + ": `middleman server stop` and `middleman server start` make the server this version; sessions go on"
	}
	exe, err := stableExecutable()
	if err != nil {
		return text + ", and " + err.Error()
	}
	return text + ": `middleman server restart --program " + plaintext.Quoted(exe) + "` makes the server this version; sessions go on"
}

// unknownText names the events of hooks that this version does not know.
func unknownText(list []api.UnknownHook) string {
	var parts []string
	for _, u := range list {
		parts = append(parts, fmt.Sprintf("%s of %s (%d times)", u.Event, u.Agent, u.Count))
	}
	return "hooks report events that this version does not know, so status may say less than it could: " + strings.Join(parts, ", ")
}

// findLeftovers compares the records with what is on disk.
func (c commands) findLeftovers(ctx context.Context) []finding {
	list, err := catalog.Disk(ctx, c.CLI)
	if err != nil {
		return []finding{{"records", "problem", err.Error()}}
	}
	found := c.surveyed(ctx)
	add := func(check, format string, args ...any) {
		found = append(found, finding{check, "note", fmt.Sprintf(format, args...)})
	}
	for _, s := range list.Sessions {
		switch s.State {
		case terminal.StateLost:
			add("session "+catalog.Label(s), "lost: %s", cmp.Or(s.Error, "it is not known how it ended"))
		case terminal.StateUnreachable:
			add("session "+catalog.Label(s), "does not answer: %s", s.Error)
		}
	}
	if len(found) == 0 {
		found = append(found, finding{"leftovers", "ok", "none"})
	}
	return found
}

// badRows reports the rows of the database that every list skips.
func (c commands) badRows(ctx context.Context, db *store.Store) (found []finding) {
	bad, err := db.BadRows(ctx)
	if err != nil {
		return []finding{{"records", "problem", err.Error()}}
	}
	for _, row := range bad {
		found = append(found, finding{"records", "problem", fmt.Sprintf("database %s has a row with an invalid id: %s", c.Dirs.Database(), row)})
	}
	return found
}

// surveyed reports the leftovers that prune would find. It needs no server.
func (c commands) surveyed(ctx context.Context) []finding {
	found := []finding{}
	survey := app.Surveyor{Workspaces: c.Manager(), Backends: c.Backends(), Workers: store.Tombstones{Dir: c.Dirs.Workers()}}
	db, err := store.OpenReadOnly(ctx, c.Dirs.Database())
	if err == nil {
		defer db.Close()
		survey.Store = db
		found = append(found, c.badRows(ctx, db)...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return []finding{{"records", "problem", err.Error()}}
	}
	leftovers, err := survey.Survey(ctx)
	if err != nil {
		return []finding{{"leftovers", "problem", err.Error()}}
	}
	for _, l := range leftovers {
		f := finding{string(l.Kind) + " " + plaintext.Line(l.What), "note", workspaces.ExplainLeftover(l)}
		switch {
		case l.Kind == workspace.LeftoverMoved || l.Kind == workspace.LeftoverUnknown:
			f.State = "problem"
		case l.Prunable:
			f.Detail += "; `middleman prune` removes it"
		}
		found = append(found, f)
	}
	return found
}
