package look

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plaintext"
)

// Diff lists the differences between a workspace and what it is compared with.
type Diff struct {
	Against Against      `json:"against"`
	Of      string       `json:"of" doc:"What it was compared with"`
	Commit  string       `json:"commit" doc:"The commit of that"`
	Files   []FileChange `json:"files"`
	More    int          `json:"more,omitempty" doc:"Files beyond those that are listed"`
	Added   int          `json:"added" doc:"Lines, in all files that are listed"`
	Deleted int          `json:"deleted"`
	LeftOut []string     `json:"left_out,omitempty" doc:"What was not compared, and why"`
	AsOf    time.Time    `json:"as_of"`
}

// FileChange is one file that differs. A name that a terminal does not show as
// it is is quoted.
type FileChange struct {
	Path      string `json:"path"`
	From      string `json:"from,omitempty" doc:"Its earlier name, if it was renamed"`
	Change    string `json:"change" enum:"added,deleted,changed,renamed,type,conflict"`
	Untracked bool   `json:"untracked,omitempty"`
	Added     int    `json:"added" doc:"Lines; 0 for a binary file"`
	Deleted   int    `json:"deleted"`
	Binary    bool   `json:"binary,omitempty" doc:"Whether it is binary, or too large to be compared line by line"`
}

// Files lists the files that differ.
func (c *Comparison) Files(ctx context.Context) (Diff, error) {
	p := &filesParser{diff: Diff{Against: c.Against, Of: c.Of, Commit: c.Commit, Files: []FileChange{}, LeftOut: c.LeftOut, AsOf: time.Now().UTC()},
		untracked: c.untracked, conflicts: map[string]bool{}, at: map[string]int{}}
	if err := c.conflicts(ctx, p); err != nil {
		return Diff{}, err
	}
	cmd := c.diff("--raw", "--numstat", "-z")
	cmd.Each = p.take
	if _, err := cmd.Once(ctx); err != nil {
		return Diff{}, git.Blame(err, c.g.WorkTree)
	}
	return p.diff, p.err
}

// conflicts collects the files with unresolved conflicts. A comparison with a
// commit would show them as changed only.
func (c *Comparison) conflicts(ctx context.Context, p *filesParser) error {
	list := c.look("ls-files", "--unmerged", "-z")
	list.Each = func(record string) {
		_, path, _ := strings.Cut(record, "\t")
		p.conflicts[path] = true
	}
	_, err := list.Run(ctx)
	return err
}

// filesParser reads "git diff --raw --numstat -z". First comes, for each file,
// ":<modes> <objects> <change>" and its path, then
// "<added>\t<deleted>\t<path>". A renamed file has both paths after it.
type filesParser struct {
	diff      Diff
	untracked map[string]bool
	conflicts map[string]bool
	at        map[string]int // index in diff.Files by path; -1 if it is beyond maxFiles
	err       error

	wait  int    // how many paths are still to come
	kind  string // the kind of change; "" in a numstat record
	lines [2]string
	from  string
}

func (p *filesParser) take(record string) {
	switch {
	case p.wait > 0:
		p.path(record)
	case strings.HasPrefix(record, ":"):
		p.kind, p.wait, p.from = record[strings.LastIndexByte(record, ' ')+1:], 1, ""
		if p.kind != "" && strings.Contains("RC", p.kind[:1]) {
			p.wait = 2
		}
	default:
		fields := strings.SplitN(record, "\t", 3)
		if len(fields) != 3 {
			p.err = fmt.Errorf("git diff --numstat printed %s, which middleman does not understand", plaintext.Quoted(record))
			return
		}
		p.kind, p.lines, p.wait = "", [2]string{fields[0], fields[1]}, 1
		if fields[2] == "" {
			p.wait = 2
			return
		}
		p.path(fields[2])
	}
}

// path takes a path that a record announced. The last one is the file's.
func (p *filesParser) path(path string) {
	if p.wait--; p.wait > 0 {
		p.from = path
		return
	}
	if p.kind != "" {
		p.file(path)
		return
	}
	if i, ok := p.at[path]; ok && i >= 0 {
		p.count(&p.diff.Files[i])
	}
}

var changes = map[byte]string{'A': "added", 'D': "deleted", 'M': "changed", 'R': "renamed", 'C': "added", 'T': "type", 'U': "conflict"}

func (p *filesParser) file(path string) {
	change := changes[p.kind[0]]
	if _, known := p.at[path]; known {
		return // a conflict may have a second record
	}
	if p.conflicts[path] {
		change = "conflict"
	}
	if len(p.diff.Files) == maxFiles {
		p.at[path] = -1
		p.diff.More++
		return
	}
	p.at[path] = len(p.diff.Files)
	f := FileChange{Path: plaintext.Quoted(path), Change: change, Untracked: p.untracked[path]}
	if change == "renamed" {
		f.From = plaintext.Quoted(p.from)
	}
	p.diff.Files = append(p.diff.Files, f)
}

func (p *filesParser) count(f *FileChange) {
	if p.lines[0] == "-" {
		f.Binary = true
		return
	}
	added, err1 := strconv.Atoi(p.lines[0])
	deleted, err2 := strconv.Atoi(p.lines[1])
	if err1 != nil || err2 != nil {
		p.err = fmt.Errorf("git diff --numstat printed %s and %s lines, which middleman does not understand", plaintext.Quoted(p.lines[0]), plaintext.Quoted(p.lines[1]))
		return
	}
	f.Added, f.Deleted = added, deleted
	p.diff.Added += added
	p.diff.Deleted += deleted
}
