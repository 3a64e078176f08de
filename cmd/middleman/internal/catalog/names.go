package catalog

import (
	"slices"
	"strings"
)

// choose returns the name that target means: the one that it is, or the only one
// that begins with it. It returns "" for none.
func choose(target string, names []string) string {
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

// index is choose for the index of the name, -1 for none. If exact the
// beginning of a name means none.
func index(target string, names []string, exact bool) int {
	if !exact {
		if name := choose(target, names); name != "" {
			target = name
		}
	}
	return slices.Index(names, target)
}
