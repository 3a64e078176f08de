package manual

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is a page of the manual.
type Page struct {
	// Name and Section are those of the man page: "middleman-attach" and 1 for
	// a command, 5 for a configuration file.
	Name    string
	Section int
	// Title heads the page in Markdown: "middleman attach".
	Title string
	// Summary is one line.
	Summary  string
	Synopsis []string
	Parts    []Part
	SeeAlso  []string // as "middleman(1)"
}

// Part is a part of a page under a title: text, then items. The text has
// paragraphs, examples that are indented by four spaces, and `code`.
type Part struct {
	Title, Text string
	Items       []Item
}

// Item describes a flag, a command or a key.
type Item struct {
	Name string // bold in a man page
	Args string // what follows the name, or ""
	Text string
	Link bool // Name is the title of a page
}

// Commands returns the page of each command that the help lists, that of root
// first. Help topics are parts of root's page.
func Commands(root *cobra.Command) []Page {
	pages := []Page{rootPage(root)}
	for _, group := range root.Groups() {
		for _, cmd := range children(root) {
			if cmd.GroupID == group.ID {
				pages = append(pages, commandPages(cmd)...)
			}
		}
	}
	return pages
}

// commandPages returns the page of cmd, and those of its commands.
func commandPages(cmd *cobra.Command) []Page {
	pages := []Page{commandPage(cmd)}
	for _, sub := range children(cmd) {
		pages = append(pages, commandPages(sub)...)
	}
	return pages
}

// children returns the commands of cmd, without hidden ones and without help,
// which the library adds when a command line is run.
func children(cmd *cobra.Command) []*cobra.Command {
	list := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(sub *cobra.Command) bool {
		return !sub.IsAvailableCommand() || sub.Name() == "help"
	})
	slices.SortFunc(list, func(a, b *cobra.Command) int { return cmp.Compare(a.Name(), b.Name()) })
	return list
}

func rootPage(root *cobra.Command) Page {
	page := Page{
		Name: root.Name(), Section: 1, Title: root.Name(), Summary: root.Short,
		Synopsis: []string{root.Name() + " COMMAND [ARGUMENT...]", root.Name() + " help [COMMAND...]"},
		Parts:    []Part{{Title: "Description", Text: root.Long}},
	}
	for _, group := range root.Groups() {
		part := Part{Title: strings.TrimSuffix(group.Title, ":")}
		for _, cmd := range children(root) {
			if cmd.GroupID == group.ID {
				part.Items = append(part.Items, Item{Name: cmd.CommandPath(), Text: cmd.Short, Link: true})
			}
		}
		page.Parts = append(page.Parts, part)
	}
	page.Parts = append(page.Parts, options("Options of every command", root.PersistentFlags()))
	for _, topic := range root.Commands() {
		if topic.IsAdditionalHelpTopicCommand() && !topic.Hidden {
			page.Parts = append(page.Parts, Part{Title: topic.Short, Text: topic.Long})
		}
	}
	return page
}

func commandPage(cmd *cobra.Command) Page {
	page := Page{
		Name: name(cmd), Section: 1, Title: cmd.CommandPath(), Summary: cmd.Short, Synopsis: synopsis(cmd),
		SeeAlso: []string{name(cmd.Parent()) + "(1)"},
		Parts:   []Part{{Title: "Description", Text: cmp.Or(cmd.Long, cmd.Short+".")}},
	}
	if subs := children(cmd); len(subs) > 0 {
		part := Part{Title: "Commands"}
		for _, sub := range subs {
			page.SeeAlso = append(page.SeeAlso, name(sub)+"(1)")
			part.Items = append(part.Items, Item{Name: sub.CommandPath(), Text: sub.Short, Link: true})
		}
		page.Parts = append(page.Parts, part)
	}
	if own := options("Options", cmd.LocalNonPersistentFlags()); len(own.Items) > 0 {
		page.Parts = append(page.Parts, own)
	}
	if cmd.Example != "" {
		page.Parts = append(page.Parts, Part{Title: "Examples", Text: cmd.Example})
	}
	if len(cmd.Aliases) > 0 {
		page.Parts = append(page.Parts, Part{Title: "Other names", Text: "`" + strings.Join(cmd.Aliases, "`, `") + "`"})
	}
	return page
}

// name returns the name of cmd's page.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// synopsis returns a line for each form of cmd. Its usage separates them by
// " | NAME ". A command that has commands is used by those alone.
func synopsis(cmd *cobra.Command) (lines []string) {
	for _, sub := range children(cmd) {
		lines = append(lines, synopsis(sub)...)
	}
	if len(lines) > 0 {
		return lines
	}
	for form := range strings.SplitSeq(cmd.Use, " | "+cmd.Name()+" ") {
		form = strings.TrimSpace(strings.TrimPrefix(form, cmd.Name()))
		lines = append(lines, strings.TrimSpace(cmd.CommandPath()+" "+form))
	}
	missing := false
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		named := strings.Contains(cmd.Use, "--"+f.Name) || f.Shorthand != "" && strings.Contains(cmd.Use, "-"+f.Shorthand)
		missing = missing || shown(f) && !named
	})
	if missing {
		for i, line := range lines {
			lines[i] = cmd.CommandPath() + " [OPTION...]" + strings.TrimPrefix(line, cmd.CommandPath())
		}
	}
	return lines
}

// shown reports whether f is in the manual: --help, which every command has, and
// what is hidden are not.
func shown(f *pflag.Flag) bool {
	return !f.Hidden && f.Name != "help" && f.Name != "version"
}

// options describes flags, as the help does.
func options(title string, flags *pflag.FlagSet) Part {
	part := Part{Title: title}
	flags.VisitAll(func(f *pflag.Flag) {
		if !shown(f) {
			return
		}
		item := Item{Name: "--" + f.Name}
		if f.Shorthand != "" {
			item.Name = "-" + f.Shorthand + ", " + item.Name
		}
		item.Args, item.Text = pflag.UnquoteUsage(f)
		if !strings.Contains(item.Text, "(default") {
			switch f.DefValue {
			case "", "0", "false", "[]", "0s":
			default:
				item.Text += " (default " + f.DefValue + ")"
			}
		}
		part.Items = append(part.Items, item)
	})
	return part
}
