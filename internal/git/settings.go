package git

import (
	"context"
	"strings"
)

// CopySettings returns the settings of the repository at p, and those of its
// checkout alone, each in the format of git's configuration. It calls keep for each
// with its key, whose section and last part are in lower case, and leaves out those
// for which keep returns false. The value that keep returns is the one that is copied.
func (p Dirs) CopySettings(ctx context.Context, keep func(key, value string) (string, bool)) (common, own string, err error) {
	var all, checkout strings.Builder
	scope := ""
	list := p.Look("config", "--null", "--show-scope", "--list")
	list.Again = func() { all.Reset(); checkout.Reset(); scope = "" }
	list.Each = func(record string) { // alternates between a scope and "key\nvalue"
		if scope == "" {
			scope = record
			return
		}
		to := map[string]*strings.Builder{"local": &all, "worktree": &checkout}[scope]
		scope = ""
		if to == nil {
			return
		}
		key, value, has := strings.Cut(record, "\n")
		if !has {
			value = "true" // a key alone means that
		}
		if value, ok := keep(key, value); ok {
			to.WriteString(settingLine(key, value))
		}
	}
	_, err = list.Run(ctx)
	return all.String(), checkout.String(), err
}
