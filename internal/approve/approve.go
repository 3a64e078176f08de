// Package approve decides whether a coding agent may use a tool without asking
// the user. It reads what the agent's permission hook gives, looks at the file
// system, and runs nothing: files of the session's worktree and of temporary
// directories are allowed, and git there; anything else asks. What it cannot read
// with certainty asks too, so an error never allows.
//
// It is no sandbox: between a decision and the tool's work another process may
// change what a path leads to.
package approve

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Decision is what becomes of a request.
type Decision string

// The decisions.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// Verdict is a decision with the rule that made it, and one line of reason.
type Verdict struct {
	Decision Decision
	Rule     string
	Reason   string
}

// Place is where a session works. Its paths are absolute.
type Place struct {
	// Root is the session's worktree or directory.
	Root string
	// Home is the user's home directory. A Root that contains it allows nothing.
	Home string
	// Temp are the directories for temporary files.
	Temp []string
	// Others are directories of other workspaces, and of all of them.
	Others []string
	// Private are middleman's own directories: nobody is asked, they are denied.
	Private []string
	// Path is the PATH by which the agent's shell finds programs, "" if it is not known.
	Path string
	// Git returns nil if git in Root is the git of its repository, and runs no
	// program that the repository's settings or hooks name. It is called for git
	// commands alone. Nil means that git always asks.
	Git func() error
	// Linked returns the paths of what is in Root instead of directories of tracked
	// files: git looks for the files behind a link there. It is called for git commands
	// that do so, after Git.
	Linked func() ([]string, error)
}

// Request is the use of a tool that an agent asks for.
type Request struct {
	// Tool is the agent's name for the tool, such as Bash.
	Tool string
	// Arguments is a JSON object.
	Arguments string
	// Directory is the agent's working directory.
	Directory string
	// Plans says that the user lets the agent plan and change nothing.
	Plans bool
	// Aside says that a subagent asks: the agent itself may go on meanwhile.
	Aside bool
}

// Decide decides on r. It reads the file system and the repository, and changes
// nothing.
func (p Place) Decide(r Request) Verdict {
	if !filepath.IsAbs(r.Directory) || !filepath.IsAbs(p.Root) {
		return ask("no-directory", "the agent's directory is not known")
	}
	args, err := object([]byte(r.Arguments))
	if err != nil {
		return ask("bad-arguments", "the arguments cannot be read: %v", err)
	}
	t, known := tools()[r.Tool]
	if !known {
		return ask("unknown-tool", "%s is not a tool that is known here", r.Tool)
	}
	a := arguments{values: args, used: map[string]bool{}}
	v := t(p.real(), r.Directory, &a)
	if err := a.problem(); err != nil && v.Decision == Allow {
		return ask("bad-arguments", "the arguments of %s cannot be read: %v", r.Tool, err)
	}
	if r.Plans && v.Decision == Allow {
		return ask("plan", "the agent is in plan mode, and this may change something")
	}
	return v
}

// real returns p with all symbolic links in its paths followed. A path that
// cannot be followed contains nothing.
func (p Place) real() Place {
	follow := func(path string) string {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return ""
		}
		return real
	}
	each := func(list []string) (out []string) {
		for _, path := range list {
			out = append(out, follow(path))
		}
		return out
	}
	p.Root, p.Home = follow(p.Root), follow(p.Home)
	p.Temp, p.Others, p.Private = each(p.Temp), each(p.Others), each(p.Private)
	return p
}

// OwnDialog reports whether a tool asks the user a question of its own, which only
// the agent's dialog can put.
func OwnDialog(tool string) bool {
	return tool == "AskUserQuestion" || tool == "ExitPlanMode"
}

// tool decides on the arguments of one tool, used in a directory.
type tool func(p Place, dir string, a *arguments) Verdict

// tools are the tools that are known, by the names that agents give them.
var tools = sync.OnceValue(func() map[string]tool {
	read := func(name string, more ...string) tool { return fileTool(name, false, more) }
	write := func(name string, more ...string) tool { return fileTool(name, true, more) }
	return map[string]tool{
		"Read":         read("file_path", "offset", "limit", "pages"),
		"NotebookRead": read("notebook_path", "cell_id"),
		"Write":        needs(write("file_path"), "content"),
		"Edit":         needs(write("file_path", "replace_all"), "old_string", "new_string"),
		"MultiEdit":    write("file_path", "edits"),
		"NotebookEdit": write("notebook_path", "cell_id", "cell_type", "edit_mode", "new_source"),
		"LS":           read("path", "ignore"),
		"Glob":         searchTool("path", "pattern"),
		"Grep": searchTool("path", "glob", "pattern", "output_mode", "type", "head_limit", "offset", "multiline",
			"-i", "-n", "-A", "-B", "-C"),
		"Bash":        shellTool("description", "timeout", "run_in_background"),
		"bash":        shellTool("description", "timeout", "mode", "shellId", "initial_wait"),
		"apply_patch": patchTool,
		"view":        read("path", "view_range"),
		"create":      needs(write("path"), "file_text"),
		"edit":        write("path", "old_str", "new_str"),
		"str_replace": needs(write("path", "new_str"), "old_str"),
		"insert":      write("path", "insert_line", "new_str"),
	}
})

// needs is a tool that has to have more arguments, which are text.
func needs(t tool, more ...string) tool {
	return func(p Place, dir string, a *arguments) Verdict {
		for _, name := range more {
			a.text(name)
		}
		return t(p, dir, a)
	}
}

// fileTool is a tool on the file that an argument names. more are arguments
// that name none.
func fileTool(name string, write bool, more []string) tool {
	return func(p Place, dir string, a *arguments) Verdict {
		path := a.text(name)
		a.ignore(more)
		if path == "" {
			return ask("bad-arguments", "the argument %s is missing", name)
		}
		verdict := p.file(dir, path, write)
		for _, argument := range slices.Sorted(maps.Keys(a.values)) {
			if !write {
				break
			}
			inner, err := places(a.values[argument], 0)
			if err != nil {
				return worse(verdict, ask("bad-arguments", "the argument %s cannot be read: %v", argument, err))
			}
			for _, path := range inner {
				verdict = worse(verdict, p.file(dir, path, write))
			}
		}
		return verdict
	}
}

// shellTool is a tool that runs a shell command.
func shellTool(more ...string) tool {
	return func(p Place, dir string, a *arguments) Verdict {
		command, note := a.text("command"), a.optional("description")
		a.ignore(more)
		if strings.HasPrefix(note, "network-access") { // codex asks so for a domain that the command wants
			return ask("network", "it wants to reach the network: %s", note)
		}
		return p.shell(dir, command)
	}
}

// patchTool is codex's apply_patch: a patch that names the files that it writes.
func patchTool(p Place, dir string, a *arguments) Verdict {
	patch, _ := a.text("command"), a.optional("description")
	paths, err := patched(patch)
	if err != nil {
		return ask("bad-arguments", "the patch cannot be read: %v", err)
	}
	verdict := ask("bad-arguments", "the patch names no file")
	for i, path := range paths {
		v := p.file(dir, path, true)
		if i == 0 {
			verdict = v
		}
		verdict = worse(verdict, v)
	}
	return verdict
}

// patched returns the paths that a patch in the form of apply_patch writes. Blanks
// around a header do not count, as codex reads it: a header is no content.
func patched(patch string) (paths []string, err error) {
	lines := strings.Split(strings.TrimSpace(patch), "\n")
	if len(lines) < 2 || lines[0] != "*** Begin Patch" || lines[len(lines)-1] != "*** End Patch" {
		return nil, fmt.Errorf("it does not begin and end as a patch does")
	}
	for _, line := range lines[1 : len(lines)-1] {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "***") {
			continue // content of a file begins with a space, +, - or @
		}
		if !strings.HasPrefix(line, "*** ") {
			return nil, fmt.Errorf("the line %.80q is not known", line)
		}
		verb, path, found := strings.Cut(line[len("*** "):], ": ")
		switch {
		case found && (verb == "Add File" || verb == "Update File" || verb == "Delete File" || verb == "Move to"):
			paths = append(paths, strings.TrimSpace(path))
		case line == "*** End of File":
		default:
			return nil, fmt.Errorf("the line %.80q is not known", line)
		}
	}
	return paths, nil
}

// ask returns the verdict that the user is to be asked.
func ask(rule, format string, args ...any) Verdict {
	return Verdict{Ask, rule, fmt.Sprintf(format, args...)}
}

// allow returns the verdict that the request is within what the session may do.
func allow(rule, reason string) Verdict { return Verdict{Allow, rule, reason} }

// worse returns the stricter of two verdicts, the first if they are equal.
func worse(a, b Verdict) Verdict {
	rank := map[Decision]int{Allow: 1, Ask: 2, Deny: 3}
	if rank[b.Decision] > rank[a.Decision] {
		return b
	}
	return a
}
