package names

import (
	"cmp"
	"slices"
	"strings"
)

// maxNear is how many labels an error proposes.
const maxNear = 3

// Similar returns up to three of the known names that may be meant by what was typed,
// the most similar one first.
func Similar(typed string, known []string) []string { return nearest(typed, known, known) }

// nearest returns up to maxNear of the shown texts whose name begins with target
// or differs from it by one slip for each three letters, two at most. The
// nearest is first. shown has a text for each of the names.
func nearest(target string, names, shown []string) []string {
	typed := strings.ToLower(target)
	slips := min(2, (len(typed)+1)/3)
	type candidate struct {
		text string
		far  int
	}
	var found []candidate
	for i, name := range names {
		lower := strings.ToLower(name)
		far := slips + 1
		if typed != "" && strings.HasPrefix(lower, typed) {
			far = 0
		} else if len(lower) <= len(typed)+slips && len(typed) <= len(lower)+slips {
			far = distance(typed, lower)
		}
		if far <= slips && name != target {
			found = append(found, candidate{shown[i], far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.far-b.far, strings.Compare(a.text, b.text)) })
	found = slices.Compact(found)
	near := make([]string, 0, maxNear)
	for _, c := range found[:min(len(found), maxNear)] {
		near = append(near, c.text)
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
