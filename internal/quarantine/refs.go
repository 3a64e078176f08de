package quarantine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"middleman/internal/git"
)

// refsFormat is what git prints for a ref: a name has neither spaces nor line feeds.
const refsFormat = "--format=%(objectname) %(refname) %(symref)"

// maxRefs bounds how many refs the private directory may have.
const maxRefs = 1 << 20

// refs are the refs of one side.
type refs struct {
	objects  map[string]string // ref to object, without symbolic refs
	symbolic map[string]string // ref to the ref that it names
}

// readRefs reads what command, a for-each-ref with refsFormat, prints. The output may be
// hostile: a line of another form is an error.
func readRefs(ctx context.Context, command git.Command) (refs, error) {
	r := refs{objects: map[string]string{}, symbolic: map[string]string{}}
	var bad error
	command.Lines = true
	command.Again = func() { clear(r.objects); clear(r.symbolic) }
	command.Each = func(line string) {
		if err := r.take(line); err != nil && bad == nil {
			bad = err
		}
	}
	if _, err := command.Run(ctx); err != nil {
		return r, err
	}
	return r, bad
}

// take adds one line of for-each-ref.
func (r *refs) take(line string) error {
	fields := strings.Split(line, " ")
	if len(fields) != 3 || !git.IsObjectID(fields[0]) || !plainRef(fields[1]) || fields[2] != "" && !plainRef(fields[2]) {
		return fmt.Errorf("git printed %.200q in place of a ref", line)
	}
	if len(r.objects)+len(r.symbolic) >= maxRefs {
		return fmt.Errorf("more than %d refs", maxRefs)
	}
	if fields[2] != "" {
		r.symbolic[fields[1]] = fields[2]
		return nil
	}
	r.objects[fields[1]] = fields[0]
	return nil
}

// plainRef reports whether s has the form of a ref's full name, as git-check-ref-format(1)
// says.
func plainRef(s string) bool {
	rest, ok := strings.CutPrefix(s, "refs/")
	if !ok || len(s) > 4096 || strings.Contains(s, "..") || strings.Contains(s, "@{") || strings.HasSuffix(s, ".") {
		return false
	}
	for _, part := range strings.Split(rest, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`~^:?*[\`, c) })
}

// hostRefs reads the refs of the repository, less those that are ours, the stash, which is
// the user's, and those of single checkouts.
func (s site) hostRefs(ctx context.Context) (refs, error) {
	all, err := readRefs(ctx, git.Whole(s.CommonDir).Look("for-each-ref", refsFormat))
	for ref := range all.objects {
		if !shared(ref) {
			delete(all.objects, ref)
		}
	}
	for ref, to := range all.symbolic {
		if !shared(ref) || !shared(to) {
			delete(all.symbolic, ref)
		}
	}
	return all, err
}

// shared reports whether both sides have a ref in common.
func shared(ref string) bool {
	for _, own := range []string{"refs/middleman/", "refs/bisect/", "refs/worktree/", "refs/rewritten/", "refs/prefetch/"} {
		if strings.HasPrefix(ref, own) {
			return false
		}
	}
	return ref != "refs/stash"
}

// packed returns the refs as the content of a packed-refs file.
func (r refs) packed() string {
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, ref := range sortedKeys(r.objects) {
		b.WriteString(r.objects[ref] + " " + ref + "\n")
	}
	return b.String()
}

// distinct returns the objects that the refs name, each once, sorted.
func (r refs) distinct() []string {
	var all []string
	for _, object := range r.objects {
		all = append(all, object)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
