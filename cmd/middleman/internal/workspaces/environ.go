package workspaces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/internal/api"
	"middleman/internal/environ"
	"middleman/internal/plaintext"
	"middleman/terminal"
)

// addEnvironments adds the names of each session's variables, from its state
// directory. A session that did not start has none.
func (c commands) addEnvironments(ctx context.Context, sessions []api.Session) {
	for i, s := range sessions {
		t, err := catalog.Direct(c.CLI, s)
		if err == nil {
			sessions[i].Environment, err = t.Session.Environment(ctx)
		}
		if err != nil && !errors.Is(err, terminal.ErrNotFound) {
			fmt.Fprintf(c.Errs, "middleman: environment of %s: %v\n", catalog.Label(s), err)
		}
	}
}

// tellEnvironment prints the names of a session's variables, by where their
// values came from.
func (c commands) tellEnvironment(s api.Session) {
	bySource := map[string][]string{}
	for _, v := range s.Environment {
		source := cmp.Or(v.Source, "an unknown source")
		bySource[source] = append(bySource[source], plaintext.Line(v.Name))
	}
	for _, source := range slices.Sorted(maps.Keys(bySource)) {
		names := strings.Join(bySource[source], " ")
		if n := len(bySource[source]); source == environ.Caches && n > 1 {
			names = fmt.Sprintf("%s and %d more, which --json lists", bySource[source][0], n-1)
		}
		fmt.Fprintf(c.Out, "environment of %s from %s: %s\n", plaintext.Line(catalog.Label(s)), plaintext.Line(source), names)
	}
}
