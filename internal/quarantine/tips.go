package quarantine

import (
	"context"
	"fmt"
	"strings"

	"middleman/internal/git"
)

// tips are what the private side has that could be new.
type tips struct {
	refs
	head    position // commit only if HEAD is detached
	stashes []string
	others  map[string]string // a name below RefsOf to an object: what else git is at work with
	staged  string            // the tree of the index; "" if it has conflicts
}

// pointers are files of a checkout that name a commit which may be in no ref.
var pointers = []string{"MERGE_HEAD", "MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"}

// maxStashes bounds how many stashes are read.
const maxStashes = 1000

// tips reads the private side.
func (in *inside) tips(ctx context.Context) (tips, error) {
	t := tips{others: map[string]string{}}
	var err error
	if t.refs, err = readRefs(ctx, in.look("for-each-ref", refsFormat)); err != nil {
		return t, in.damaged(err)
	}
	t.head.branch, t.head.commit = in.pointer("HEAD")
	if t.head == (position{}) {
		return t, fmt.Errorf("its HEAD names neither a branch nor a commit: %w", ErrUnreadable)
	}
	for _, name := range pointers {
		if _, object := in.pointer(name); object != "" {
			t.others[pinName(name)] = object
		}
	}
	if t.objects["refs/stash"] != "" {
		if t.stashes, err = in.stashes(ctx); err != nil {
			return t, in.damaged(err)
		}
	}
	t.staged, err = in.staged(ctx)
	return t, err
}

// stashes lists the commits of the stash, the newest first.
func (in *inside) stashes(ctx context.Context) (found []string, err error) {
	c := in.look("rev-list", "--walk-reflogs", fmt.Sprintf("--max-count=%d", maxStashes), "refs/stash")
	c.Lines = true
	c.Again = func() { found, err = nil, nil }
	c.Each = func(line string) {
		if !git.IsObjectID(line) {
			err = fmt.Errorf("git printed %.200q in place of a stash: %w", line, ErrUnreadable)
			return
		}
		found = append(found, line)
	}
	if _, failed := c.Run(ctx); failed != nil {
		return nil, failed
	}
	return found, err
}

// kinds tells which of the objects the private side has, and of what kind they are.
func (in *inside) kinds(ctx context.Context, objects []string) (map[string]string, error) {
	found := map[string]string{}
	if len(objects) == 0 {
		return found, nil
	}
	c := in.look("cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer")
	c.Env = append(c.Env, in.objects())
	c.Stdin, c.Lines = strings.NewReader(strings.Join(objects, "\n")+"\n"), true
	c.Again = func() { clear(found) }
	c.Each = func(line string) {
		switch object, kind, _ := strings.Cut(line, " "); kind {
		case "commit", "tree", "blob", "tag":
			found[object] = kind
		}
	}
	_, err := c.Run(ctx)
	return found, in.damaged(err)
}

// pins returns what the private side has besides branch that the repository, which had
// known, does not: names below RefsOf and their objects.
func (t tips) pins(branch string, known map[string]string) map[string]string {
	want := map[string]string{}
	for ref, object := range t.objects {
		if !shared(ref) || ref == branch || strings.HasPrefix(ref, "refs/remotes/") || known[ref] == object {
			continue
		}
		want[pinOf(ref)] = object
	}
	for name, object := range t.others {
		want[name] = object
	}
	for _, object := range t.stashes {
		want["stash/"+object] = object
	}
	if t.head.commit != "" {
		want["HEAD"] = t.head.commit
	}
	return want
}

// pinOf returns the name below RefsOf for a ref of the private side.
func pinOf(ref string) string {
	kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "refs/"), "/")
	if kind == "heads" || kind == "tags" || kind == "notes" {
		return kind + "/" + pinName(name)
	}
	return "refs/" + pinName(strings.TrimPrefix(ref, "refs/"))
}

// maxPinName bounds the length of a part of a ref, which is the name of a file.
const maxPinName = 180

// pinName writes any text as one part of a ref's name. Two texts never have one name.
func pinName(text string) string {
	var b strings.Builder
	for i, c := range []byte(text) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' ||
			c == '.' && i > 0 && text[i-1] != '.' && i < len(text)-1 && !strings.HasPrefix(text[i:], ".lock")
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if b.Len() > maxPinName {
		return b.String()[:maxPinName-66] + "%-" + digest(text)
	}
	return b.String()
}
