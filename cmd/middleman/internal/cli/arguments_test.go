package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestNameArguments(t *testing.T) {
	root := &cobra.Command{Use: "p"}
	cmd := &cobra.Command{Use: "sub", Run: func(*cobra.Command, []string) {}}
	root.AddCommand(cmd)
	var grace time.Duration
	cmd.Flags().Uint16("cols", 0, "columns")
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long")
	cmd.Flags().String("base", "", "where from")
	cmd.Flags().String("some-thing", "x", "what")
	cmd.Flags().StringArray("key", nil, "press it")
	cmd.Flags().String("to", "", "write to `FILE`")
	cmd.Flags().Bool("all", false, "all")
	NameArguments(root)
	NameArguments(root) // again changes nothing
	text := cmd.Flags().FlagUsages()
	for _, want := range []string{"--cols N ", "--grace DURATION ", "--base REF ", "--some-thing SOME_THING ", "what (default x)", "--key KEY ", "--to FILE ", "--all "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "0s") || strings.Contains(text, "[]") || strings.Count(text, "default") != 1 {
		t.Errorf("a default that is none:\n%s", text)
	}
	if err := cmd.ParseFlags([]string{"--grace", "3s"}); err != nil || grace != 3*time.Second {
		t.Errorf("%s, %v", grace, err)
	}
	if err := plainFlag(cmd.ParseFlags([]string{"--cols", "many"})); err == nil || !strings.Contains(err.Error(), "whole number from 0 to 65535") {
		t.Error(err)
	}
}
