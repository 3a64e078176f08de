package approve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"middleman/internal/plaintext"
)

// maxLinks bounds the symbolic links of one path, as the kernel does.
const maxLinks = 40

// file decides on reading or writing the file at path, as a program in dir would
// find it. A path with ".." must be allowed in both readings: programs differ in
// whether they drop the name before ".." or follow its link.
func (p Place) file(dir, path string, write bool) Verdict {
	switch {
	case path == "", strings.ContainsRune(path, 0), !utf8.ValidString(path):
		return ask("bad-path", "the path is empty, or is not text")
	case strings.HasPrefix(path, "~"):
		return ask("home", "%s is in a home directory", path)
	case expands(path):
		return ask("bad-path", "%s may be another path to the tool", path)
	}
	path = join(dir, path)
	v := p.place(path, write)
	if clean := filepath.Clean(path); clean != path {
		v = worse(v, p.place(clean, write))
	}
	return v
}

// scheme is the beginning of an address, such as file:/.
var scheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:/`) })

// expands reports whether a tool may take text for another path than it says: by
// leaving out white space at its ends, as an address, or by a variable.
func expands(text string) bool {
	blank := func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }
	return strings.TrimFunc(text, blank) != text || strings.HasPrefix(text, "$") || filepath.VolumeName(text) == "" && scheme().MatchString(text)
}

// join returns path, or path below dir if it is relative. It keeps "..".
func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + string(filepath.Separator) + path
}

// place decides on an absolute path.
func (p Place) place(path string, write bool) Verdict {
	real, info, err := resolve(path)
	if err != nil {
		return ask("unresolved", "%s cannot be followed: %v", path, err)
	}
	holds := func(dir string) bool { return within(real, dir) }
	// The session's directory may contain others that are not its own.
	inner := func(dir string) bool { return holds(dir) && within(dir, p.Root) && !same(dir, p.Root) }
	switch {
	case slices.ContainsFunc(p.Others, inner):
		return ask("other-worktree", "%s is in another workspace", real)
	case slices.ContainsFunc(p.Private, inner):
		return Verdict{Deny, "middleman", "it belongs to middleman itself"}
	case within(real, p.Root):
		if p.Home != "" && within(p.Home, p.Root) {
			return ask("wide-root", "the session's directory contains your home directory")
		}
		return p.inside(real, info, p.Root, write, allow("worktree", "it is in the session's worktree"))
	case slices.ContainsFunc(p.Others, holds):
		return ask("other-worktree", "%s is in another workspace", real)
	case slices.ContainsFunc(p.Private, holds):
		return Verdict{Deny, "middleman", "it belongs to middleman itself"}
	}
	for _, temp := range p.Temp {
		if within(real, temp) && (within(temp, p.Home) || !within(real, p.Home)) {
			return p.inside(real, info, temp, write, allow("temp", "it is a temporary file"))
		}
	}
	return ask("outside", "%s is outside of the worktree", real)
}

// inside decides on a path below top that may be used unless it is special.
func (p Place) inside(real string, info fs.FileInfo, top string, write bool, yes Verdict) Verdict {
	names := namesBelow(real, top)
	switch {
	case slices.ContainsFunc(names, isGitName):
		return ask("git-directory", "%s is git's own", real)
	case slices.ContainsFunc(names, hides):
		return ask("bad-path", "%s has characters that do not show", real)
	case write && len(names) == 0:
		return ask("whole-directory", "it is the whole directory %s", real)
	case write && controls(names):
		return ask("settings", "%s tells programs what to run", real)
	case info == nil:
		return yes
	case !info.Mode().IsRegular() && !info.IsDir():
		return ask("special-file", "%s is no plain file", real)
	case write && info.Mode().IsRegular() && links(info) != 1:
		return ask("hard-link", "%s may be a file elsewhere too: it has %d names", real, links(info))
	}
	return yes
}

// resolve follows all symbolic links of an absolute path, those of a last name
// too. What does not exist stays as it is; then info is nil.
func resolve(path string) (real string, info fs.FileInfo, err error) {
	top := filepath.VolumeName(path) + string(filepath.Separator)
	real = top
	rest := split(path[len(filepath.VolumeName(path)):])
	missing := false
	for followed := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == ".." && missing:
			return "", nil, errors.New("a name before .. does not exist")
		case name == "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, name)
		if missing {
			real = next
			continue
		}
		if next == "/proc" || next == "/dev" {
			return "", nil, errors.New("it means something else to each process")
		}
		info, err = os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing, real, info = true, next, nil
			continue
		case err != nil:
			return "", nil, errors.Unwrap(err)
		case info.Mode()&fs.ModeSymlink == 0:
			if real = next; !info.IsDir() && len(rest) > 0 {
				return "", nil, errors.New("a file is used as a directory")
			}
			continue
		}
		if followed++; followed > maxLinks {
			return "", nil, errors.New("too many links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, errors.Unwrap(err)
		}
		if filepath.IsAbs(target) {
			real, target = top, target[len(filepath.VolumeName(target)):]
		}
		rest = append(split(target), rest...)
	}
	if missing {
		return real, nil, nil
	}
	info, err = os.Lstat(real)
	return real, info, err
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r)) })
}

// within reports whether path is dir or below it. It compares directories, not
// their names: so neither the case of a name nor a link in dir matters.
func within(path, dir string) bool {
	if dir == "" {
		return false
	}
	top, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, top) {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	y, other := os.Stat(b)
	return err == nil && other == nil && os.SameFile(x, y)
}

// namesBelow returns the names of a path below dir, which contains it.
func namesBelow(path, dir string) (names []string) {
	for !same(path, dir) && filepath.Dir(path) != path {
		names = append(names, filepath.Base(path))
		path = filepath.Dir(path)
	}
	slices.Reverse(names)
	return names
}

// ignored are the characters that HFS+ leaves out when it compares names.
const ignored = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"

// plain returns a name in the form in which file systems that fold case, leave
// characters out or know short names compare it.
func plain(name string) string {
	name = strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(ignored, r) {
			return -1
		}
		return r
	}, name))
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimRight(name, ". ")
}

// isGitName reports whether some file system takes a name for .git.
func isGitName(name string) bool {
	name = plain(name)
	return name == ".git" || strings.HasPrefix(name, "git~")
}

// A file or directory of controlled tells agents, editors, debuggers or hooks what to
// run or what to do, without anybody asking for it by name: a program reads it because
// it starts, or changes into the directory, or git commits there. Builds and tests run
// what they are told too, but somebody starts these.
var controlled = map[string]bool{}

// controlledStarts are the beginnings of such names.
var controlledStarts = []string{".aider", ".envrc.", ".huskyrc", ".lefthook", ".lintstagedrc", ".mise", ".simple-git-hooks", "lefthook-local.", "lefthook.", "lint-staged.config.", "mise."}

// controlledEnds are their ends.
var controlledEnds = []string{".code-workspace", ".sublime-project"}

func init() {
	for _, names := range []string{
		// agents
		".agent .agents .amp .augment .claude .claude.json .clinerules .codex .continue .copilot .cursor .cursorrules .gemini .factory .goose .goosehints",
		".junie .kilocode .kimi .kimi-code .kiro .mcp.json .middleman.toml .opencode .pi .qwen .roo .roomodes .roorules .trae .windsurf .windsurfrules .worktreeinclude",
		"agent.md agents.md agents.override.md claude.md claude.local.md crush.json .crush.json gemini.md opencode.json opencode.jsonc qwen.md",
		// editors
		".devcontainer .devcontainer.json .dir-locals.el .dir-locals-2.el .emacs.d .exrc .fleet .gvimrc .helix .idea .kakrc .lapce .lvimrc",
		".local.vimrc .nova .nvim .nvim.lua .nvimrc .projections.json .rules .vim .vimrc .vimspector.json .vs .vscode .ycm_extra_conf.py .zed _exrc _vimrc",
		// debuggers and interpreters at a prompt
		".gdbearlyinit .gdbinit .ghci .iex.exs .irbrc .lldbinit .ocamlinit .octaverc .pdbrc .pryrc .radare2rc .renviron .rprofile",
		// shells that change into the directory
		".autoenv .autoenv.zsh .autoenv_leave.zsh .env.leave .envrc .in .out .rtx.toml .tool-versions",
		// hooks, and what other version control runs
		".bzr .gitconfig .githooks .gitmodules .hg .husky .jj .overcommit.yml .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml",
		".sl .svn _darcs captainhook.json",
	} {
		for _, name := range strings.Fields(names) {
			controlled[name] = true
		}
	}
}

// underGithub are the names in .github that agents read. What a forge runs is not among
// them: it runs elsewhere, after a push.
var underGithub = []string{"agents", "chatmodes", "copilot-instructions.md", "hooks", "instructions", "prompts", "skills"}

// controls reports whether a path below a worktree is such a file.
func controls(names []string) bool {
	for i, name := range names {
		name = plain(name)
		starts := func(start string) bool { return strings.HasPrefix(name, start) }
		ends := func(end string) bool { return strings.HasSuffix(name, end) }
		next := ""
		if i+1 < len(names) {
			next = plain(names[i+1])
		}
		switch {
		case controlled[name], slices.ContainsFunc(controlledStarts, starts), slices.ContainsFunc(controlledEnds, ends):
			return true
		case name == ".github" && slices.Contains(underGithub, next), name == ".config" && (next == "mise" || next == "mise.toml" || strings.HasPrefix(next, "lefthook")):
			return true
		}
	}
	return false
}

// hides reports whether a name has characters that do not show, so that it looks like
// another: control characters, formatting, fillers, marks without a letter of their own.
func hides(name string) bool {
	return plaintext.Line(name) != name || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.IsSpace(r) && r != ' '
	})
}
