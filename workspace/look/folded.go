package look

import (
	"fmt"
	"strings"

	"middleman/workspace/model"
)

// maxOfDirectory is how many files of one directory at the top are listed. Of more, the
// directory is: else one with the files of a package manager would fill the list, and hide
// what follows.
const maxOfDirectory = 20

// folded collects paths, in the order of git, by their directory at the top. It keeps the
// names of a few of each.
type folded struct{ groups []*group }

// group are the paths below one directory, or one path that is in none.
type group struct {
	top   string // "" for a file at the top
	count int
	first []string
}

func (f *folded) add(path string) {
	top, _, below := strings.Cut(path, "/")
	if !below {
		top = ""
	}
	last := len(f.groups) - 1
	if last < 0 || top == "" || f.groups[last].top != top {
		if len(f.groups) > model.MaxListed {
			return // the list is cut before
		}
		f.groups = append(f.groups, &group{top: top})
		last++
	}
	g := f.groups[last]
	if g.count++; g.count <= maxOfDirectory {
		g.first = append(g.first, path)
	}
}

// unfold adds the paths to what is untracked.
func (l *collector) unfold(f folded) {
	for _, g := range f.groups {
		if g.count > maxOfDirectory {
			l.add(&l.loss.Untracked, fmt.Sprintf("%s/ (%d files)", g.top, g.count))
			l.loss.UntrackedMore += g.count - 1
			continue
		}
		for _, path := range g.first {
			l.add(&l.loss.Untracked, path)
		}
	}
}
