package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"middleman/internal/agent"
	"middleman/internal/config"
	"middleman/internal/environ"
	"middleman/internal/private"
	"middleman/internal/sandbox"
)

// Maker makes policies.
type Maker struct {
	Dirs     config.Dirs
	Settings config.Sandbox
	// Home is the user's home directory.
	Home string
	// Executable is the absolute path of middleman.
	Executable string
	// Notify is the command for notices of the server, and Profiles are the user's, as they
	// were when it started.
	Notify   []string
	Profiles map[string]agent.Definition
}

// Session is what a policy is made for.
type Session struct {
	ID, Workspace string // ids
	// State is the session's state directory, in which its sandbox tells whether anything
	// of it lives. It is "" for what is no session.
	State string
	// Root is the directory of the workspace, and Dir where the program starts. Made is
	// set if middleman made Root: only such a workspace may lie in middleman's data.
	Root, Dir string
	Made      bool
	Level     sandbox.Level
	Method    sandbox.Method
	// Network is the network list, nil for none.
	Network []string
	Profile agent.Profile
	// Program is the absolute path of what is started.
	Program string
	// Hooks is the directory with the files of the program's hooks, which need not
	// exist.
	Hooks string
	// Parent is the policy of the session that starts this one as a worker, nil for
	// none: then its Writable bounds what the profile adds, and ParentPrivate, of which
	// directories that session has copies, bounds these.
	Parent        *sandbox.Policy
	ParentPrivate []string
	// Show are paths that it can read though they are hidden from others. A worker sees
	// those alone that its parent sees.
	Show []string
	// Others are the directories of other workspaces that middleman made. What leads to
	// them from a writable directory is read-only: middleman writes there by path.
	Others []string
	// Programs are the executables besides middleman that the server runs unconfined, by
	// absolute paths. The program must be able to replace none of them.
	Programs []string
	// Git adds what the program needs for git.
	Git Git
}

// Git is how a program in the sandbox reaches its git directory.
type Git struct {
	Writable, ReadOnly, Show []string
	Binds                    []sandbox.Bind
	Env                      []string
}

// Unwritable is g for a program that reads its repository, and cannot commit.
func (g Git) Unwritable() Git {
	g.Show = slices.Concat(g.Show, g.Writable)
	g.Writable = nil
	g.Binds = slices.Clone(g.Binds)
	for i := range g.Binds {
		g.Binds[i].Write = false
	}
	g.Env = append(slices.Clone(g.Env), "GIT_OPTIONAL_LOCKS=0")
	return g
}

// Confined is what Make has made for a session.
type Confined struct {
	Policy  sandbox.Policy
	Applied sandbox.Applied
	// Wrapper is the beginning of the command line that starts the program.
	Wrapper []string
	// Notes say what is not as it was asked for.
	Notes []string
}

// Make makes the policy of s, and the directories that it names. It sets in env the
// variables that lead programs there; those that were named for the session win. The
// error is one line for the user.
func (m Maker) Make(s Session, env *environ.Environment) (c Confined, err error) {
	b := builder{Maker: m, Session: s, env: env}
	b.policy = sandbox.Policy{
		Schema: 1, Level: s.Level, Method: s.Method, Session: s.ID, Workspace: s.Workspace,
		Network: sandbox.Network{Off: s.Level == sandbox.Strict && len(s.Network) == 0, Allow: s.Network},
	}
	if len(s.Network) > 0 {
		b.policy.Network.Log = m.Dirs.Denials(s.ID)
	}
	for _, step := range []func() error{
		b.directories, b.limits, b.own, b.temporary, b.caches, b.copies, b.writables, b.hidden, b.program, b.git,
		b.others, b.programs, b.repositories, b.outside, b.secrets, b.inside,
	} {
		if err := step(); err != nil {
			return c, err
		}
	}
	b.env.Set(environ.Own, sandbox.LevelVariable+"="+string(s.Level), sandbox.SocketVariable+"="+m.Dirs.OwnSocket())
	if err := b.policy.Check(); err != nil { // what the method cannot enforce, above all
		return c, err
	}
	c.Policy, c.Notes = b.policy, b.notes
	c.Applied = b.applied()
	c.Wrapper, err = m.write(c.Policy, s.State)
	return c, err
}

// write stores a policy and returns the beginning of the command line that starts a
// program by it.
func (m Maker) write(p sandbox.Policy, state string) ([]string, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	file := m.policyFile(p.Session)
	if err := private.MakeDir(filepath.Dir(file)); err != nil {
		return nil, err
	}
	if err := private.Replace(file, raw, private.ThisBoot); err != nil {
		return nil, fmt.Errorf("write the sandbox policy: %w", err)
	}
	wrapper := []string{m.Executable, sandbox.Command, "--policy", file, "--digest", p.Digest()}
	if state != "" && p.Method == sandbox.Bubblewrap {
		wrapper = append(wrapper, "--state", state)
	}
	return append(wrapper, "--"), nil
}

// policyFile returns the file with the policy of a session.
func (m Maker) policyFile(session string) string {
	return filepath.Join(m.Dirs.Sandbox(session), "policy.json")
}

// tempDir returns the directory of a session's own temporary files.
func (m Maker) tempDir(session string) string { return filepath.Join(m.Dirs.Sandbox(session), "tmp") }

// Read returns the policy of a session. The error is fs.ErrNotExist if it has none.
func (m Maker) Read(session string) (p sandbox.Policy, err error) {
	raw, err := private.ReadFile(m.policyFile(session))
	if err == nil {
		p, err = sandbox.Decode(bytes.NewReader(raw))
	}
	if err != nil {
		return p, fmt.Errorf("read the sandbox policy of session %s: %w", session, err)
	}
	return p, nil
}

// builder is one call of Make.
type builder struct {
	Maker
	Session
	env    *environ.Environment
	policy sandbox.Policy
	notes  []string
	// shown are the writable directories as people know them, and copied those that
	// the program has a copy of.
	shown, copied []string
	added         []string            // the writable directories that settings and profile name
	logins        []login             // those that may come out
	masked        []string            // the secrets that the program has placeholders for
	temp          string              // says where temporary files are
	inPath        map[string][]string // see found
}

func (b *builder) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// place returns the path of a setting without links. It is "" if there is nothing.
func (b *builder) place(path string) (string, error) {
	real, err := filepath.EvalSymlinks(b.expand([]string{path})[0])
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return real, err
}

// places is place for several, without those that are not there.
func (b *builder) places(paths []string) (found []string, err error) {
	for _, path := range paths {
		real, err := b.place(path)
		if err != nil {
			return nil, err
		}
		if real != "" {
			found = append(found, real)
		}
	}
	return found, nil
}

// directories sets where the program starts, and lets it change its workspace.
func (b *builder) directories() error {
	root, err := filepath.EvalSymlinks(b.Root)
	if err != nil {
		return err
	}
	if b.policy.Dir, err = filepath.EvalSymlinks(b.Dir); err != nil {
		return err
	}
	if why := b.tooMuch(root); why != "" && !(b.Made && b.Dirs.IsWorkspace(root, b.Workspace)) {
		return fmt.Errorf("the sandbox lets a program change its workspace, and that is %s, %s: use another directory, or --sandbox none", root, why)
	}
	b.policy.Writable = append(b.policy.Writable, root)
	b.shown = append(b.shown, root)
	return nil
}

// tooMuch says why a program must not be able to change all below path, which is
// canonical, or to read what is hidden there. It returns "" if it may, and for "".
func (b *builder) tooMuch(path string) string {
	if path == "" {
		return ""
	}
	if home, err := filepath.EvalSymlinks(b.Home); err == nil && config.Within(home, path) {
		return "which holds your home directory"
	}
	return b.Dirs.Touches(path)
}

// limits bounds what the program uses, a worker by no more than its parent. The kernel
// counts no processes for root.
func (b *builder) limits() error {
	b.policy.Limits.Memory, b.policy.Limits.Files = int64(b.Settings.Memory), int64(b.Settings.FileSize)
	switch n := b.Settings.Processes; {
	case n == 0:
	case b.Method != sandbox.Bubblewrap:
		b.note("sandbox.processes is not applied, because %s cannot", b.Method)
	case os.Geteuid() == 0:
		b.note("sandbox.processes is not applied, because the kernel counts none for root")
	default:
		b.policy.Limits.Processes = n
	}
	if b.Parent != nil {
		own, of := &b.policy.Limits, b.Parent.Limits
		own.Memory, own.Files, own.Processes = tighter(own.Memory, of.Memory), tighter(own.Files, of.Files), tighter(own.Processes, of.Processes)
	}
	return nil
}

// tighter returns the tighter one of two limits, of which 0 is none.
func tighter(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// own shows what middleman itself needs there: its binary, the files of the hooks, and
// the way to the server.
func (b *builder) own() error {
	show := []string{b.Executable, b.Hooks, b.Dirs.Own()}
	found, err := b.places(show)
	b.policy.Show = append(b.policy.Show, found...)
	return err
}

// temporary gives the session an empty directory for temporary files. Without mounts
// it cannot be at /tmp: then the program shares the system's with all others.
func (b *builder) temporary() error {
	named := b.env.Lookup("TMPDIR")
	if b.Method != sandbox.Bubblewrap {
		shared, err := b.place(sharedTemp(named))
		if err != nil {
			return err
		}
		if shared != "" && b.tooMuch(shared) == "" && b.runs(shared) == "" && !slices.ContainsFunc(b.Others, func(other string) bool { return sandbox.Within(other, shared) }) {
			b.policy.Temp, b.temp = shared, "shared with the host: "+shared
			return nil
		}
	}
	temp := b.tempDir(b.ID)
	if err := private.MakeDir(temp); err != nil {
		return err
	}
	temp, err := filepath.EvalSymlinks(temp)
	if err != nil {
		return err
	}
	if b.policy.Temp = temp; b.Method != sandbox.Bubblewrap {
		b.temp = "private, by TMPDIR: /tmp cannot be written"
		b.env.Set(environ.Own, "TMPDIR="+temp)
		return nil
	}
	b.temp = "private: /tmp and /var/tmp are its own, and end with the session"
	if !filepath.IsAbs(named) {
		return nil
	}
	real, err := b.place(filepath.Clean(named))
	if err != nil || real == "" || real == "/" || real == "/tmp" || real == "/var/tmp" || b.tooMuch(real) != "" || sandbox.Within(real, b.policy.Writable[0]) {
		return err
	}
	b.policy.TempPaths = append(b.policy.TempPaths, real)
	b.temp = "private: /tmp, /var/tmp and " + real + " are its own, and end with the session"
	return nil
}

// writables lets the program change what the settings and the profile name. A profile
// of a repository names nothing.
func (b *builder) writables() error {
	asked := slices.Clone(b.Settings.Writable)
	if b.Profile.Source != agent.Repository {
		asked = append(asked, b.Profile.Writable...)
	}
	for _, path := range asked {
		real, err := b.place(path)
		if err == nil {
			err = b.checkLinks(path)
		}
		switch {
		case err != nil:
			return err
		case real == "":
			b.note("%s is not there, so it is not writable", path)
			continue
		case b.tooMuch(real) != "":
			return fmt.Errorf("%s is to be writable in the sandbox, and that is %s, %s: name another directory", path, real, b.tooMuch(real))
		case b.Parent != nil && !slices.ContainsFunc(b.Parent.Writable, func(dir string) bool { return sandbox.Within(real, dir) }):
			b.note("%s is not writable, because it is not for the session that starts this worker", path)
			continue
		}
		b.policy.Writable = append(b.policy.Writable, real)
		b.shown = append(b.shown, real)
		b.added = append(b.added, real)
	}
	return nil
}

// hidden takes away what the program must not read: credentials, the state of other
// programs, and all of middleman's own but for what is shown.
func (b *builder) hidden() error {
	var more []string
	if home := filepath.Clean(b.env.Lookup("HOME")); filepath.IsAbs(home) && home != b.Home {
		more = sandbox.DefaultHidden(home)
	}
	found, err := b.Hidden(more...)
	if err != nil {
		return err
	}
	asked := slices.Clone(b.Show)
	if b.Parent != nil {
		asked = slices.DeleteFunc(b.expand(asked), func(path string) bool { return !slices.Contains(b.Parent.Show, path) })
	}
	show, err := sandbox.Existing(b.Home, b.expand(append(asked, b.Settings.Show...))...)
	if err != nil {
		return err
	}
	for _, path := range b.Settings.Show {
		if err := b.checkLinks(path); err != nil {
			return err
		}
	}
	for _, path := range show {
		if b.tooMuch(path) != "" {
			return fmt.Errorf("%s is to be shown in the sandbox: middleman's own state and a whole home directory stay hidden", path)
		}
	}
	b.policy.Show = append(b.policy.Show, show...)
	if b.Parent != nil {
		found = append(found, b.Parent.Hidden...)
		slices.Sort(found)
	}
	b.policy.Hidden = slices.DeleteFunc(slices.Compact(found), func(path string) bool { return slices.Contains(show, path) })
	return nil
}

// program shows the file that is started, if it is in a place that is hidden or replaced.
func (b *builder) program() error {
	for _, path := range []string{b.Program, filepath.Dir(b.Program)} {
		if path == "." {
			return nil // the user's shell, or none
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("find the program: %w", err)
		}
		if path != b.Program {
			real = filepath.Join(real, filepath.Base(b.Program))
		}
		gone := slices.Concat(b.policy.Hidden, b.policy.TempPaths, []string{"/tmp", "/var/tmp", "/run"})
		if info, err := os.Lstat(real); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && b.Dirs.Touches(real) == "" &&
			slices.ContainsFunc(gone, func(dir string) bool { return sandbox.Within(real, dir) }) {
			b.policy.Show = append(b.policy.Show, real)
		}
	}
	return nil
}

// Hidden returns what sandboxed programs must not read, besides more, as a policy has it.
func (m Maker) Hidden(more ...string) ([]string, error) {
	hide := sandbox.DefaultHidden(m.Home, m.Dirs.Data, m.Dirs.Config, m.Dirs.Runtime, m.Dirs.Sockets())
	return sandbox.Existing(m.Home, slices.Concat(hide, m.expand(m.Settings.Hide), sandbox.SystemHidden(), more)...)
}

// expand returns the paths of a setting, with "~" as the home directory.
func (m Maker) expand(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = path
		if rest, is := strings.CutPrefix(path, "~/"); is {
			out[i] = filepath.Join(m.Home, rest)
		}
	}
	return out
}

// git adds what the program needs for git.
func (b *builder) git() error {
	p := &b.policy
	p.Writable = append(p.Writable, b.Git.Writable...)
	p.ReadOnly = append(p.ReadOnly, b.Git.ReadOnly...)
	p.Show = append(p.Show, b.Git.Show...)
	p.Binds = append(p.Binds, b.Git.Binds...)
	b.env.Set(environ.Own, b.Git.Env...)
	return nil
}

// inside takes the variables from the session that must not reach its owner, and gives
// them to the program.
func (b *builder) inside() error {
	for _, entry := range slices.Clone(b.env.Entries()) {
		if name, _, _ := strings.Cut(entry, "="); sandbox.ForInside(name) {
			b.policy.Env = append(b.policy.Env, entry)
			b.env.Remove(name)
		}
	}
	return nil
}

// applied describes the policy.
func (b *builder) applied() sandbox.Applied {
	p := b.policy
	a := sandbox.Applied{
		Level: p.Level, Method: p.Method, Digest: p.Digest(), Writable: b.shown, Private: b.copied,
		Temp: b.temp, Network: "open", NotCovered: notCovered[p.Method],
	}
	switch {
	case p.Network.Off:
		a.Network = "off"
	case len(p.Network.Allow) > 0:
		a.Network, a.Hosts = "only "+strings.Join(p.Network.Allow, ", "), p.Network.Allow
	}
	a.Secrets = b.masked
	var limits []string
	if n := p.Limits.Memory; n > 0 {
		limits = append(limits, strconv.FormatInt(n, 10)+" bytes of data for each process")
	}
	if n := p.Limits.Processes; n > 0 {
		limits = append(limits, strconv.FormatInt(n, 10)+" processes")
	}
	if n := p.Limits.Files; n > 0 {
		limits = append(limits, strconv.FormatInt(n, 10)+" bytes in each file")
	}
	a.Limits = "none"
	if len(limits) > 0 {
		a.Limits = strings.Join(limits, ", ") + ": by limits of processes (setrlimit), no control group"
	}
	return a
}
