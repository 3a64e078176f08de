package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestSpan(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		in   string
		want time.Duration // 0: refused
	}{
		{"30d", 30 * day}, {"1d12h", 36 * time.Hour}, {"12h", 12 * time.Hour}, {"90s", 90 * time.Second}, {"36500d", 36500 * day},
		{"", 0}, {"0d", 0}, {"0s", 0}, {"soon", 0}, {"-1h", 0}, {"1d-1h", 0}, {"-1d", 0}, {"36501d", 0}, {"d", 0}, {"1.5d", 0}, {"1h1d", 0}, {"7", 0},
	} {
		got, err := Span("since", tt.in)
		if got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%q: %v, %v, want %v", tt.in, got, err, tt.want)
		}
		if err != nil && exitCode(err) != exitUsage {
			t.Errorf("%q: exit code %d", tt.in, exitCode(err))
		}
	}
}

func TestArgs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		check cobra.PositionalArgs
		given []string
		want  string
	}{
		{"as many as it takes", cobra.ExactArgs(1), []string{"a"}, ""},
		{"one too few", cobra.MinimumNArgs(1), nil, "an argument is missing; usage: p get NAME"},
		{"two too few", cobra.ExactArgs(2), nil, "an argument is missing; usage: p get NAME"},
		{"one too few for one with commands below it", cobra.ExactArgs(1), nil, "an argument is missing; usage: p get NAME"},
		{"one too many", cobra.MaximumNArgs(1), []string{"a", "b", "c"}, `argument "b" is one too many; usage: p get NAME`},
		{"none taken", cobra.NoArgs, []string{"a"}, `argument "a" is one too many; usage: p get NAME`},
		{"a wrong one", cobra.OnlyValidArgs, []string{"a"}, `invalid argument "a" for "p get"; usage: p get NAME`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, cmd := &cobra.Command{Use: "p"}, &cobra.Command{Use: "get NAME"}
			if tt.name == "a wrong one" {
				cmd.ValidArgs = []string{"b"}
			}
			if strings.Contains(tt.name, "below it") {
				cmd.AddCommand(&cobra.Command{Use: "sub"})
			}
			root.AddCommand(cmd)
			got := ""
			if err := Args(tt.check)(cmd, tt.given); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestSuggestFlag(t *testing.T) {
	cmd := &cobra.Command{Use: "ls"}
	cmd.Flags().Bool("sessions", false, "")
	cmd.Flags().Bool("secret", false, "")
	if err := cmd.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ given, want string }{
		{"--sesions", "unknown flag: --sesions; did you mean --sessions?"},
		{"--sess", "unknown flag: --sess; did you mean --sessions?"},
		{"--sekret", "unknown flag: --sekret"},
		{"--nothing", "unknown flag: --nothing"},
		{"-x", "unknown shorthand flag: 'x' in -x"},
	} {
		err := cmd.Flags().Parse([]string{tt.given})
		if got := suggestFlag(cmd, err); got.Error() != tt.want || !errors.Is(got, err) {
			t.Errorf("%s: %q, want %q", tt.given, got, tt.want)
		}
	}
}
