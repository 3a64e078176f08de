package private

import "path/filepath"

// Part are files below a root in which Survey judges by another rule than that of state.
type Part struct {
	Root string
	// Pattern is what filepath.Match matches with their paths below Root.
	Pattern string
	// Opaque: nothing that is in them is judged. Else programs of the user write there
	// too, with any umask: no other user may own or write what is in them.
	Opaque bool
}

// partOf returns the part that a file is, or nil.
func partOf(parts []Part, path string) *Part {
	for i := range parts {
		rel, err := filepath.Rel(parts[i].Root, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if is, _ := filepath.Match(parts[i].Pattern, rel); is { // a bad pattern only makes the survey stricter
			return &parts[i]
		}
	}
	return nil
}
