package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// optional begins a value of the type pathname that counts only if the file is there.
const optional = ":(optional)"

// pathname returns what a value of the type pathname in git's settings means
// (git-config(1)), for a user with this home directory: "" where git finds nothing. What
// %(prefix)/ and ~user/ mean, git alone knows: it is asked. The result may be relative.
func pathname(ctx context.Context, value, home string) (string, error) {
	below, isHome := strings.CutPrefix(value, "~/")
	switch {
	case value == "~", isHome:
		if home == "" {
			return "", nil
		}
		return home + "/" + below, nil
	case !strings.HasPrefix(value, "~") && !strings.HasPrefix(value, "%(prefix)/"):
		return value, nil
	}
	c := Command{
		Dir: string(filepath.Separator), Limit: namedTime, Config: map[string]string{"middleman.path": value},
		Args: []string{"config", "--null", "--type=path", "--get", "middleman.path"},
		Env:  []string{"GIT_DIR=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + home},
	}
	out, err := c.Run(ctx)
	if ExitCode(err) > 0 || errors.Is(err, exec.ErrNotFound) { // there is no such user, or no git
		return "", nil
	}
	return strings.TrimSuffix(out, "\x00"), err
}

// IncludedPaths returns what a setting that includes another file may mean, in file: none
// where git finds none, and two where versions of git differ, in :(optional). A ".." leads
// up from where a link before it has led to.
func IncludedPaths(ctx context.Context, value, file, home string) (paths []string, err error) {
	values := []string{value}
	if rest, is := strings.CutPrefix(value, optional); is {
		values = append(values, rest)
	}
	for _, value := range values {
		path, err := pathname(ctx, value, home)
		if err != nil {
			return nil, err
		}
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Dir(file) + "/" + path
		}
		paths = append(paths, straight(path))
	}
	return paths, nil
}

// straight returns path without its "..": each leads up from where a link before it has
// led to.
func straight(path string) string {
	at := strings.LastIndex(path, "/..")
	if at < 0 {
		return filepath.Clean(path)
	}
	if real, err := filepath.EvalSymlinks(path[:at+len("/..")]); err == nil {
		return filepath.Join(real, path[at+len("/.."):])
	}
	return filepath.Clean(path)
}
