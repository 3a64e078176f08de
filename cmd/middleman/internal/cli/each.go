package cli

import (
	"context"
	"fmt"

	"middleman/internal/plaintext"
)

// Each calls do for each of names. If there is one, it returns do's error. Of
// several, one that fails does not keep the others from being done: Each prints
// what became of each to standard error, and returns an error if any failed. done
// says what do has done, such as "deleted".
func (c *CLI) Each(ctx context.Context, names []string, done string, do func(name string) error) error {
	if len(names) == 1 {
		return do(names[0])
	}
	return c.EachTold(ctx, names, done, do)
}

// EachTold is Each that prints what became of one alone, too.
func (c *CLI) EachTold(ctx context.Context, names []string, done string, do func(name string) error) error {
	failed := 0
	for _, name := range names {
		err := do(name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed++
			fmt.Fprintf(c.Errs, "middleman: %s\n", Message(err)) // it names its target
			continue
		}
		fmt.Fprintf(c.Errs, "%s: %s\n", plaintext.Line(name), done)
	}
	if failed > 0 {
		return fmt.Errorf("not %s: %d of %d", done, failed, len(names))
	}
	return nil
}
