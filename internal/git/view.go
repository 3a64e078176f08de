package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/memo"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/internal/scratch"
)

// maxConfig is the size limit in bytes of a repository's configuration.
const maxConfig = 1 << 20

// View is a temporary git directory of ours for reading a repository. It links
// to the repository's refs and objects (on Windows it copies the refs), and copies only those settings that say
// how files are stored. So git never sees a setting that could make it run a
// program, even if another process changes the configuration meanwhile. What
// git writes (merged trees, an index with untracked files) goes here.
type View struct {
	Dirs
	Dir        string   // the temporary directory; Close removes it
	Repository string   // the repository's common directory
	Index      string   // the path of the checkout's own index, which may be missing
	shown      []string // the directories that the links lead to, and the checkout
	hidden     []string
	scratch    *scratch.Dir
	// risky: the repository's configuration could run something, so commands
	// run in a sandbox if there is one. With Boxed they always do.
	risky, Boxed bool
}

// shared are the parts of a repository that a view links to. Where it copies them, refs
// come before packed-refs: git packs a ref before it removes the loose one.
var shared = []string{"refs", "packed-refs", "shallow", "info", "logs", "reftable"}

// harmless are the settings that a view copies from the repository. None of
// them names a command. The settings of branches and remotes that take copies
// say what an upstream is called.
var harmless = []string{
	"core.repositoryformatversion", "core.filemode", "core.ignorecase", "core.precomposeunicode", "core.symlinks",
	"core.autocrlf", "core.eol", "core.sparsecheckout", "core.sparsecheckoutcone", "core.longpaths", "core.protecthfs",
	"core.protectntfs", "core.trustctime", "core.checkstat", "core.excludesfile", "core.abbrev",
	"extensions.objectformat", "extensions.refstorage", "index.sparse", "i18n.commitencoding",
}

// Views opens views, and caches the parsed configurations. The zero value is
// ready. Safe for concurrent use.
type Views struct {
	// Hidden are directories that git cannot reach where it runs in a sandbox.
	Hidden []string

	known memo.Map[[sha256.Size]byte, settings]
}

// Open makes a view of the checkout or repository at p. The caller closes it.
func (v *Views) Open(ctx context.Context, p Dirs) (*View, error) {
	settings, err := v.settings(ctx, p, false)
	if err != nil {
		return nil, err
	}
	own, err := scratch.Make("look")
	if err != nil {
		return nil, err
	}
	g := &View{Dir: own.Path, scratch: own, Repository: p.CommonDir, Index: filepath.Join(p.GitDir, "index"), shown: []string{p.CommonDir, p.GitDir}, hidden: v.Hidden, risky: settings.risky}
	if p.WorkTree != "" {
		g.shown = append(g.shown, p.WorkTree)
	}
	if err := g.fill(p, settings.text); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// fill makes what is in the view of the checkout or repository at p.
func (g *View) fill(p Dirs, config string) error {
	dir := g.Dir
	for _, sub := range []string{"objects/info", "objects/pack"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	alternate, err := alternateTo(filepath.Join(p.CommonDir, "objects"), dir)
	if err != nil {
		return err
	}
	for name, content := range map[string]string{"objects/info/alternates": alternate + "\n", "config": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	for _, name := range shared {
		target := filepath.Join(p.CommonDir, name)
		if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := share(target, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	g.Dirs = Dirs{GitDir: filepath.Join(dir, "own"), CommonDir: dir, WorkTree: p.WorkTree}
	return ownGitDir(g.GitDir, p.GitDir)
}

// ownGitDir makes the directory that replaces the checkout's git directory. git
// takes refs from where its commondir file points, whatever GIT_COMMON_DIR
// says, and reads a HEAD of any size. So HEAD is a copy of limited size, and
// the commondir file is ours.
func ownGitDir(own, gitDir string) error {
	head, err := readHead(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return fmt.Errorf("read HEAD: %w", err)
	}
	if err := os.Mkdir(own, 0o700); err != nil {
		return err
	}
	for name, content := range map[string]string{"commondir": "..\n", "HEAD": head} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(gitDir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case name == "index", strings.HasPrefix(name, "sharedindex."):
			if !entry.Type().IsRegular() {
				return refused(filepath.Join(gitDir, name), fmt.Errorf("it is %s: %w", plainfile.Kind(entry.Type()), plainfile.ErrRefused))
			}
		case name != "refs" && name != "info" && name != "reftable":
			continue
		}
		if err := share(filepath.Join(gitDir, name), filepath.Join(own, name)); err != nil {
			return err
		}
	}
	return nil
}

// readHead returns the content of a HEAD. In old repositories HEAD may be a
// symbolic link to a ref.
func readHead(path string) (string, error) {
	if target, err := os.Readlink(path); err == nil {
		if !strings.HasPrefix(target, "refs/") {
			return "", refused(path, fmt.Errorf("it is a link to %s: %w", plaintext.Quoted(target), plainfile.ErrRefused))
		}
		return "ref: " + target + "\n", nil
	}
	content, err := readNamed(path)
	return string(content), err
}

// readNamed reads a file of a git directory of at most maxConfig bytes. The error for
// another kind of file names it.
func readNamed(path string) ([]byte, error) {
	content, err := plainfile.ReadFollowed(path, maxConfig)
	if errors.Is(err, plainfile.ErrRefused) {
		err = refused(path, err)
	}
	return content, err
}

// refused adds to a plainfile.ErrRefused which file of a git directory it is about.
func refused(path string, err error) error {
	return fmt.Errorf("%s: %w: remove it, or put what it was in its place", plaintext.Quoted(path), err)
}

// Close removes the view's directory. The repository stays as it was.
func (g *View) Close() { g.scratch.Close() }

// Look returns a command that reads through the view. It cannot write into the
// repository, and sees history as it is stored, without replacements and
// grafts.
func (g *View) Look(args ...string) Command {
	c := g.Dirs.Look(args...)
	c.Env = append(c.Env, "GIT_OBJECT_DIRECTORY="+filepath.ToSlash(filepath.Join(g.Dir, "objects")), "GIT_LITERAL_PATHSPECS=1")
	c.boxed, c.writable, c.shown, c.hidden, c.Thrifty = g.risky || g.Boxed, g.Dir, g.shown, g.hidden, true
	return c
}

// settings are what a view copies from a repository's configuration.
type settings struct {
	text  string // in the format of git's configuration
	risky bool   // the configuration has settings that may run something
}

// settings reads the configuration of the repository at p and of its worktree.
// git parses our copy from standard input, so that it follows no include.
func (v *Views) settings(ctx context.Context, p Dirs, submodule bool) (settings, error) {
	text, err := readNamed(filepath.Join(p.CommonDir, "config"))
	if err != nil {
		return settings{}, fmt.Errorf("read configuration: %w", err)
	}
	own, err := readNamed(filepath.Join(p.GitDir, "config.worktree"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return settings{}, fmt.Errorf("read configuration: %w", err)
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%t%s\x00%s", submodule, text, own))
	if known, ok := v.known.Get(key); ok {
		return known, nil
	}
	var s settings
	filter := filterSettings{out: &s, submodule: submodule, worktree: configures(text, "worktreeconfig")}
	if err := filter.read(ctx, p.CommonDir, text); err != nil {
		return settings{}, err
	}
	if filter.worktree { // git reads that file only if the extension is set
		if err := filter.read(ctx, p.CommonDir, own); err != nil {
			return settings{}, err
		}
	}
	v.known.Put(key, s)
	return s, nil
}

// configures reports whether a configuration may contain a key.
func configures(text []byte, key string) bool {
	return strings.Contains(strings.ToLower(string(text)), key)
}

// filterSettings copies the harmless settings.
type filterSettings struct {
	out       *settings
	worktree  bool
	submodule bool // where git itself has set core.worktree
}

func (f *filterSettings) read(ctx context.Context, dir string, text []byte) error {
	c := Command{Dir: dir, Args: []string{"config", "--file", "-", "--no-includes", "--null", "--list"}, Stdin: strings.NewReader(string(text))}
	c.Each = f.take
	_, err := c.Run(ctx)
	return err
}

// take handles one "key\nvalue" record. A key alone means true.
func (f *filterSettings) take(record string) {
	key, value, has := strings.Cut(record, "\n")
	if !has {
		value = "true"
	}
	section, _, _ := strings.Cut(key, ".")
	name := key[strings.LastIndexByte(key, '.')+1:]
	switch {
	case f.submodule && key == "core.worktree":
		return
	case slices.Contains(harmless, key):
	case section == "branch" && (name == "merge" || name == "remote" || name == "rebase"):
	case section == "remote" && name == "fetch":
	case section == "remote" && name == "url":
		value = "none:" // git needs some URL to know the remote; reading never uses the real one
	case key == "core.bare", key == "core.logallrefupdates", key == "extensions.worktreeconfig", section == "user", section == "remote",
		section == "branch", section == "submodule", section == "gc", section == "advice", section == "lfs":
		return // reading needs none of these, and none runs anything
	default:
		f.out.risky = true
		return
	}
	f.out.text += settingLine(key, value)
}

// settingLine formats a setting with a section header of its own.
func settingLine(key, value string) string {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	head := "[" + key[:first] + "]"
	if first < last {
		head = "[" + key[:first] + " " + quoteSetting(key[first+1:last]) + "]"
	}
	return head + "\n\t" + key[last+1:] + " = " + quoteSetting(value) + "\n"
}

// quoteSetting quotes a value for git's configuration.
func quoteSetting(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(s) + `"`
}
