package cli

import "testing"

func TestFitText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"fits", "One line\nand another.\n", "One line\nand another.\n"},
		{"a paragraph is filled", "It was broken elsewhere: after forty\ncolumns and more.\n\nNext.\n", "It was broken elsewhere: after\nforty columns and more.\n\nNext.\n"},
		{"a flag", "  -a, --all   list all of them, however many there are\n", "  -a, --all   list all of them,\n              however many there\n              are\n"},
		{"a long flag", "      --a-flag-with-a-long-name VALUE   takes a value\n", "      --a-flag-with-a-long-name\n      VALUE takes a value\n"},
		{"an example", "    middleman new fix-login      # a worktree\n", "    middleman new fix-login # a\n    worktree\n"},
		{"a long word", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nb\n"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fitText(tt.in, 34); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
