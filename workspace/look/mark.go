package look

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"middleman/workspace/model"
)

// Mark returns a string that depends on everything which influences a status of
// w and shows without git: HEAD, index, refs, operation, the top of the
// checkout. If two marks differ something has changed. If they are equal, files
// may still have changed. upstream is Status.Upstream.Of, or "".
func Mark(w model.Workspace, upstream string) string {
	if w.Mode != model.ModeWorktree {
		_, err := os.Lstat(w.GitDir)
		return fmt.Sprint(err == nil) + stamp(w.Root) + stamp(filepath.Join(w.Root, ".git")) + stamp(filepath.Join(w.Root, ".git", "index")) +
			stamp(filepath.Join(w.GitDir, "info", "exclude"))
	}
	entry := filepath.Join(w.GitDir, "worktrees", w.ID)
	var b strings.Builder
	for _, path := range []string{
		w.Root,
		filepath.Join(w.Root, ".git"),
		entry, // every change of HEAD, index or operation renames a file into it
		filepath.Join(entry, "index"),
		filepath.Join(w.GitDir, "config"),
		filepath.Join(w.GitDir, "info", "exclude"),
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

// stamp returns a file's modification time and size, or "-" if it is missing.
func stamp(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "-;"
	}
	return fmt.Sprintf("%x,%x;", info.ModTime().UnixNano(), info.Size())
}
