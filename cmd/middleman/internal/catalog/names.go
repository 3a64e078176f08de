package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxNear is how many names an error proposes.
const maxNear = 3

// Choose returns the name that target means: the one that it is, or the only one
// that begins with it. It returns "" for none.
func Choose(target string, names []string) string {
	if slices.Contains(names, target) {
		return target
	}
	found := ""
	for _, name := range names {
		if target == "" || !strings.HasPrefix(name, target) || name == found {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// index is Choose for the index of the name, -1 for none. If exact the
// beginning of a name means none.
func index(target string, names []string, exact bool) int {
	if !exact {
		if name := Choose(target, names); name != "" {
			target = name
		}
	}
	return slices.Index(names, target)
}

// Unknown returns the error for a name that none of what is called kind has. It
// proposes those of names that may have been meant.
func Unknown(kind, target string, names []string) error {
	near := nearest(target, names)
	if len(near) == 0 {
		return fmt.Errorf("there is no %s %q; `middleman ls --all` lists them", kind, target)
	}
	return fmt.Errorf("there is no %s %q; did you mean %s?", kind, target, strings.Join(near, " or "))
}

// nearest returns up to maxNear of the names that begin with target or differ
// from it by one slip for each three letters, two at most. The nearest is first.
func nearest(target string, names []string) []string {
	typed := strings.ToLower(target)
	slips := min(2, (len(typed)+1)/3)
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	for _, name := range names {
		lower := strings.ToLower(name)
		far := slips + 1
		if typed != "" && strings.HasPrefix(lower, typed) {
			far = 0
		} else if len(lower) <= len(typed)+slips && len(typed) <= len(lower)+slips {
			far = distance(typed, lower)
		}
		if far <= slips && name != target {
			found = append(found, candidate{name, far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.far-b.far, strings.Compare(a.name, b.name)) })
	found = slices.Compact(found)
	near := make([]string, 0, maxNear)
	for _, c := range found[:min(len(found), maxNear)] {
		near = append(near, c.name)
	}
	return near
}

// distance counts the slips between two names: a letter too many, one too few,
// a wrong one, or two in the wrong order.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
