package confine

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"middleman/internal/git"
)

// commandVariables name commands for a shell, and programVariables one program without
// arguments: what git, ssh, man, tmux and what opens a browser take from the environment of
// this process, of the user's login or of the caller. "BROWSER" may be a list.
var (
	commandVariables = []string{"GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER"}
	programVariables = []string{"GIT_SSH", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "SHELL"}
	pathVariables    = []string{"GIT_EXEC_PATH", "GIT_CONFIG_SYSTEM"}
)

const maxGitSettings = 1000 // by GIT_CONFIG_COUNT

// namedByVariables returns what variables name that programs outside run or read.
func (b *builder) namedByVariables(ctx context.Context) ([]reading, error) {
	var named []git.Named
	for _, name := range commandVariables {
		for _, value := range b.values(name) {
			if name == "BROWSER" {
				value = strings.ReplaceAll(value, string(filepath.ListSeparator), "\n")
			}
			named = append(named, thatMatter(git.NamedByScript(name, value, "", b.Home))...)
		}
	}
	for _, name := range programVariables {
		for _, value := range b.values(name) {
			named = append(named, thatMatter(git.NamedByArguments(name, []string{value}, "", b.Home))...)
		}
	}
	for _, name := range pathVariables {
		for _, value := range b.values(name) {
			if filepath.IsAbs(value) && value != os.DevNull {
				named = append(named, git.Named{Setting: name, Path: filepath.Clean(value)})
			}
		}
	}
	for n := range maxGitSettings {
		keys := b.values("GIT_CONFIG_KEY_" + strconv.Itoa(n))
		if len(keys) == 0 {
			break
		}
		for _, value := range b.values("GIT_CONFIG_VALUE_" + strconv.Itoa(n)) {
			for _, key := range keys {
				more, err := git.NamedBySetting(ctx, key, value, b.Home)
				if err != nil {
					return nil, err
				}
				named = append(named, more...)
			}
		}
	}
	return b.readings("your shell", "your environment", named), nil
}
