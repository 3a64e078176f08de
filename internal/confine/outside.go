package confine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/internal/sandbox"
)

// readOutside is what programs outside of the sandbox read at their start, and run what it
// says. Any of it may be a link into a directory that a sandboxed program may change: a
// checkout of the user's own settings, for example. Paths are below the home directory, or
// begin with a variable, see settingsHomes. A directory stands for all that is in it.
var readOutside = []struct {
	reader string
	paths  []string
}{
	// The server's git reads these to list and delete workspaces, and the user's in every
	// repository. Filters, hooks and helpers are programs; attributes say for which files.
	{"git", []string{".gitconfig", "$GIT_CONFIG_GLOBAL", "$XDG_CONFIG_HOME/git"}},
	// The server runs a login shell for setup that was agreed to, and for sessions that a
	// browser starts; terminals of the user's run the others.
	{"your shell", []string{
		".profile", ".bash_profile", ".bash_login", ".bash_logout", ".bashrc", ".bash_aliases",
		".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout",
		"$ZDOTDIR/.zshenv", "$ZDOTDIR/.zprofile", "$ZDOTDIR/.zshrc", "$ZDOTDIR/.zlogin", "$ZDOTDIR/.zlogout",
		"$XDG_CONFIG_HOME/zsh", "$BASH_ENV", "$ENV", ".bash_completion", ".inputrc", ".kshrc", ".mkshrc", ".login", ".logout", ".cshrc", ".tcshrc",
		"$XDG_CONFIG_HOME/fish", "$XDG_DATA_HOME/fish/vendor_conf.d", "$XDG_DATA_HOME/fish/vendor_functions.d", "$XDG_DATA_HOME/fish/vendor_completions.d",
		"$XDG_CONFIG_HOME/nushell", "$XDG_CONFIG_HOME/elvish", ".elvish", ".xonshrc", "$XDG_CONFIG_HOME/xonsh",
	}},
	// The user's tmux; middleman's own has a file in the directory of settings.
	{"tmux", []string{".tmux.conf", ".tmux", "$XDG_CONFIG_HOME/tmux"}},
	// ssh, which runtimes are reached by, and which git fetches by; sshd.
	{"ssh", []string{".ssh"}},
	// The login itself: PAM, the user's systemd, and what starts a desktop.
	{"your login", []string{
		".pam_environment", "$XDG_CONFIG_HOME/environment.d", "$XDG_CONFIG_HOME/systemd", "$XDG_DATA_HOME/systemd",
		".xprofile", ".xinitrc", ".xsession", ".xsessionrc", "$XDG_CONFIG_HOME/autostart",
		"$XDG_CONFIG_HOME/plasma-workspace/env",
	}},
}

// settingsHomes are the variables that a path of readOutside may begin with, and where the
// directory is without them, below the home directory. "" is nowhere.
var settingsHomes = map[string]string{"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "ZDOTDIR": "", "BASH_ENV": "", "ENV": "", "GIT_CONFIG_GLOBAL": ""}

const (
	maxRead  = 10000 // entries that are looked at in the directories of readOutside
	maxDepth = 3     // directories that these are in
	maxLinks = 40    // that one path leads through, as Linux has it
)

// reading is a path that a program outside reads.
type reading struct {
	path, reader string
	setting, of  string // what names it, such as core.editor of your git settings, if anything does
	file         bool   // counts only if it is no directory
}

// String says in a message what is read.
func (r reading) String() string {
	if r.setting != "" {
		return fmt.Sprintf("%s, which %s of %s names,", plaintext.Quoted(r.path), plaintext.Quoted(r.setting), r.of)
	}
	return fmt.Sprintf("%s, which %s reads outside,", plaintext.Quoted(r.path), r.reader)
}

// reads says in a message that what is called so is read.
func (r reading) reads(what string) string {
	if r.setting != "" {
		return fmt.Sprintf("%s of %s names %s", plaintext.Quoted(r.setting), r.of, what)
	}
	return fmt.Sprintf("%s reads %s outside", r.reader, what)
}

// outside keeps the program from changing what programs outside read. What leads there
// from a writable directory is read-only from its top: a directory further below could be
// renamed. What is not there could be made, so that is refused.
func (b *builder) outside() error {
	ctx, cancel := context.WithTimeout(context.Background(), renewTime)
	defer cancel()
	open := b.open()
	all := b.ownReadings()
	for _, group := range readOutside {
		for _, path := range group.paths {
			for _, path := range b.settingsPaths(path) {
				all = append(all, reading{path: path, reader: group.reader})
			}
		}
	}
	named, err := git.NamedByUser(ctx, b.Home)
	if err != nil {
		return fmt.Errorf("read which programs your git settings name: %w", err)
	}
	all = append(all, b.readings("git", "your git settings", named)...)
	byVariables, err := b.namedByVariables(ctx)
	if err != nil {
		return fmt.Errorf("read which programs your environment names: %w", err)
	}
	all = slices.Concat(all, b.namedByShells(), b.namedByTmux(), b.namedBySSH(), byVariables)
	left := maxRead
	for _, r := range all {
		for _, path := range append([]string{r.path}, linksIn(r.path, open, maxDepth, &left)...) {
			r.path = path
			if err := b.shield(r, open); err != nil {
				return err
			}
		}
	}
	return nil
}

// open returns the directories of the host that the program may change.
func (b *builder) open() []string {
	open := slices.Clone(b.policy.Writable)
	if b.Method != sandbox.Bubblewrap { // with mounts it is the session's own
		open = append(open, b.policy.Temp)
	}
	return open
}

// settingsPaths returns what a path of readOutside stands for: what the variable of this
// process says, what the user's login or the caller says, and the usual place. All of them
// count, because it is not known how the user's programs are started.
func (b *builder) settingsPaths(path string) (paths []string) {
	name, isVariable := strings.CutPrefix(path, "$")
	if !isVariable {
		return []string{filepath.Join(b.Home, path)}
	}
	name, rest, _ := strings.Cut(name, "/")
	dirs := b.values(name)
	if usual := settingsHomes[name]; usual != "" {
		dirs = append(dirs, filepath.Join(b.Home, usual))
	}
	for _, dir := range dirs {
		if at := filepath.Join(dir, rest); filepath.IsAbs(dir) && !slices.Contains(paths, at) {
			paths = append(paths, at)
		}
	}
	return paths
}

// shield keeps the program from what decides what r is.
func (b *builder) shield(r reading, open []string) error {
	places := trail(r.path)
	end := places[len(places)-1]
	info, err := os.Lstat(end)
	if isDir := err == nil && info.IsDir(); r.file && isDir {
		return nil
	} else if isDir {
		for _, dir := range open {
			if sandbox.Within(dir, end) {
				return fmt.Errorf("the sandbox lets a program change %s, and %s is or holds that directory: use another one, or --sandbox none", plaintext.Quoted(dir), r)
			}
		}
	}
	for _, at := range places {
		for _, dir := range open {
			if at == dir || !sandbox.Within(at, dir) || b.isBound(at) {
				continue
			}
			if err := b.keepFrom(r, at, sandbox.Top(at, dir)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepFrom makes top read-only, an entry of a writable directory that leads to at.
func (b *builder) keepFrom(r reading, at, top string) error {
	leads := "leads to " + plaintext.Quoted(at)
	if at == r.path {
		leads = "lies"
	}
	subject := fmt.Sprintf("%s %s in a directory that the program may change", r, leads)
	info, err := os.Lstat(top)
	switch {
	case b.Method == sandbox.Landlock: // keep says so
	case err != nil:
		return fmt.Errorf("%s, and is not there, so the program could make it: make it yourself, remove what leads there, or use a worktree (`middleman new`)", subject)
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%s, through the link %s, which the program could replace: let it lead there directly, or use a worktree (`middleman new`)", subject, plaintext.Quoted(top))
	}
	why := fmt.Sprintf("%s %s", r, leads)
	switch {
	case r.path == top:
		why = r.reads("it")
	case r.path == at:
		why = r.reads(plaintext.Quoted(at) + " in it")
	}
	return b.keep(top, kept{
		note:   fmt.Sprintf("%s is read-only in the sandbox: %s", plaintext.Quoted(top), why),
		around: fmt.Sprintf("%s, and the workspace is there too: use another directory, or --sandbox none", subject),
		cannot: fmt.Sprintf("%s, and Landlock cannot protect it: use bubblewrap or a worktree (`middleman new`), or remove what leads there", subject),
	})
}

// trail returns what decides what an absolute path leads to: each link on its way, each
// directory that it leaves by "..", and last its end. No link is in the directories above
// each of them. What is not there counts as if it were. Of a circle the links are all.
func trail(path string) (places []string) {
	const separator = string(filepath.Separator)
	volume := filepath.VolumeName(path)
	at, links := volume+separator, 0
	rest := strings.Split(path[len(volume):], separator)
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			places = append(places, at)
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		places = append(places, next)
		if links++; links > maxLinks {
			return places // it leads nowhere
		}
		if filepath.IsAbs(target) {
			at = volume + separator
		}
		rest = append(strings.Split(target, separator), rest...)
	}
	return append(places, at)
}

// linksIn returns the links in a directory and in those below it, also in those that links
// lead to. It looks at no more than *left entries, and into none of the directories open, which
// are protected as a whole. There are none if dir is no directory.
func linksIn(dir string, open []string, depth int, left *int) (links []string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || slices.ContainsFunc(open, func(d string) bool { return sandbox.Within(real, d) }) {
		return nil
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return nil
	}
	entries, _ := os.ReadDir(real) // what cannot be read is not read outside either
	for _, entry := range entries {
		if *left--; *left < 0 {
			break
		}
		path := filepath.Join(dir, entry.Name())
		isLink := entry.Type()&os.ModeSymlink != 0
		if isLink {
			links = append(links, path)
		}
		if depth > 1 && (isLink || entry.IsDir()) {
			links = append(links, linksIn(path, open, depth-1, left)...)
		}
	}
	return links
}
