package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"middleman/internal/plaintext"
)

// suggestFlag adds the flags with a similar name to the error for a flag that cmd has not.
func suggestFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	names := &cobra.Command{SuggestionsMinimumDistance: 2} // it knows how to find similar names
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	near := names.SuggestionsFor(unknown.GetSpecifiedName())
	if len(near) == 0 {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, strings.Join(near, " or --"))
}

// plainFlag replaces the parser's error for a number, truth value or duration by one that
// says which values the flag accepts.
func plainFlag(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	takes := ""
	switch kindOf(invalid.GetFlag()) {
	case "uint64":
		takes = "a whole number, 0 or more"
	case "uint16":
		takes = "a whole number from 0 to 65535"
	case "int64", "int":
		takes = "a whole number"
	case "bool":
		takes = "true or false"
	case "duration":
		takes = "a duration such as 30s or 5m"
	default:
		return err
	}
	return fmt.Errorf("--%s is %q: it must be %s", invalid.GetFlag().Name, invalid.GetValue(), takes)
}

// Args makes the errors of check usage errors, which say whether an argument is
// missing or one too many.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		err := check(cmd, given)
		switch {
		case err == nil:
			return nil
		case cmd.HasSubCommands() && len(given) > 0 || len(cmd.ValidArgs) > 0:
			return Usagef("%w; usage: %s", err, cmd.UseLine())
		}
		const most = 3 // arguments that a command can lack
		more := slices.Clone(given)
		for range most {
			if more = append(more, "argument"); check(cmd, more) == nil {
				return Usagef("an argument is missing; usage: %s", cmd.UseLine())
			}
		}
		for n := len(given) - 1; n >= 0; n-- {
			if check(cmd, given[:n]) == nil {
				return Usagef("argument %q is one too many; usage: %s", given[n], cmd.UseLine())
			}
		}
		return Usagef("%w; usage: %s", err, cmd.UseLine())
	}
}

// Absolute returns the absolute path of dir for the server. A path that is not
// valid UTF-8 is an error, because JSON would change it silently.
func Absolute(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find directory %s: %w", plaintext.Line(dir), err)
	}
	if !utf8.ValidString(abs) {
		return "", fmt.Errorf("the path %q is not valid UTF-8, so it cannot be sent to the server; rename the directory", abs)
	}
	return abs, nil
}

// Span parses a flag's duration above zero that may begin with days, such as 30d
// or 1d12h.
func Span(flag, text string) (time.Duration, error) {
	wrong := Usagef("--%s is %q: it must be a duration such as 12h, 7d or 1d12h", flag, text)
	var total time.Duration
	rest := text
	if days, after, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n > 36500 {
			return 0, wrong
		}
		total, rest = time.Duration(n)*24*time.Hour, after
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 {
			return 0, wrong
		}
		total += d
	}
	if total <= 0 {
		return 0, wrong
	}
	return total, nil
}
