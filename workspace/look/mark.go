package look

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"middleman/workspace/model"
)

// Mark stands for all that a status of w depends on and that can be seen
// without git: HEAD, index, refs, operation, the top of the checkout. Where
// two marks differ, something has changed in between; where they do not, files
// may still have changed. upstream is Status.Upstream.Of, or "".
func Mark(w model.Workspace, upstream string) string {
	if w.Mode != model.ModeWorktree {
		return stamp(w.Root) + stamp(filepath.Join(w.Root, ".git")) + stamp(filepath.Join(w.Root, ".git", "index"))
	}
	entry := filepath.Join(w.GitDir, "worktrees", w.ID)
	var b strings.Builder
	for _, path := range []string{
		w.Root,
		filepath.Join(w.Root, ".git"),
		entry, // every change to HEAD, index and operation puts a file in place here
		filepath.Join(entry, "index"),
		filepath.Join(w.GitDir, "config"),
		filepath.Join(w.GitDir, "packed-refs"),
		filepath.Join(w.GitDir, "reftable", "tables.list"),
		filepath.Join(w.GitDir, "refs", "heads", w.Branch),
		filepath.Join(w.GitDir, "refs", "heads", w.Base),
		filepath.Join(w.GitDir, "refs", "remotes", w.Base),
		filepath.Join(w.GitDir, "refs", "remotes", upstream),
	} {
		b.WriteString(stamp(path))
	}
	return b.String()
}

// stamp is when a file was changed last, and how long it is; "-" for none.
func stamp(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "-;"
	}
	return fmt.Sprintf("%x,%x;", info.ModTime().UnixNano(), info.Size())
}
