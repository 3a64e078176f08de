package cli

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/viewer"
)

// setHelp makes help fit the terminal, if standard output is one, and refuse what there
// is no help on.
func (c *CLI) setHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" {
			continue
		}
		help := cmd.Run
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
				return Usagef("there is no help on %q; `middleman help` lists what there is", strings.Join(args, " "))
			}
			help(cmd, args)
			return nil
		}
	}
	print := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cols := int(viewer.Size(c.BytesOut).Cols)
		if cols == 0 {
			print(cmd, args)
			return
		}
		var text bytes.Buffer
		root.SetOut(&text)
		print(cmd, args)
		root.SetOut(c.Out)
		cmd.Print(fitText(text.String(), cols))
	})
}

// described matches a line with what it describes, such as a flag, and the text, which
// goes on below its beginning.
var described = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(  +\S.{0,34}?  +)(\S.*)$`) })

// fitText breaks the lines of a help text between words, so that none has more than
// cols columns. Paragraphs that are too wide are filled anew.
func fitText(text string, cols int) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 && tooWide(paragraph, cols) {
			paragraph = fill("", strings.Fields(strings.Join(paragraph, " ")), cols)
		}
		out = append(out, paragraph...)
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		parts := described().FindStringSubmatch(line)
		switch {
		case !tooWide([]string{line}, cols):
			out = append(out, line)
		case parts != nil && uniseg.StringWidth(parts[1]) <= cols/2:
			filled := fill(strings.Repeat(" ", uniseg.StringWidth(parts[1])), strings.Fields(parts[2]), cols)
			filled[0] = parts[1] + strings.TrimLeft(filled[0], " ")
			out = append(out, filled...)
		default:
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			out = append(out, fill(indent, strings.Fields(line), cols)...)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

func tooWide(lines []string, cols int) bool {
	for _, line := range lines {
		if uniseg.StringWidth(line) > cols {
			return true
		}
	}
	return false
}

// fill puts words on lines that begin with indent and have at most cols columns, if no
// word is longer. There is at least one word.
func fill(indent string, words []string, cols int) (lines []string) {
	line := indent + words[0]
	for _, word := range words[1:] {
		if uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > cols {
			lines = append(lines, line)
			line = indent + word
			continue
		}
		line += " " + word
	}
	return append(lines, line)
}
