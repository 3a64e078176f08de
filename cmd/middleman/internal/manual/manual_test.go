package manual

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What would be markup is shown as it is.
func TestMarkup(t *testing.T) {
	for _, tt := range []struct{ name, in, man, markdown string }{
		{"words", "one word", "one word", "one word"},
		{"code", "see `ls -a`, then go", `see \fBls \-a\fR, then go`, "see `ls -a`, then go"},
		{"one backquote", "a ` b", `a \(ga b`, "a \\` b"},
		{"request", ".so /etc/passwd\n'br", `\&.so /etc/passwd` + "\n" + `\(aqbr`, ".so /etc/passwd\n'br"},
		{"backslash", `ctrl-\`, `ctrl\-\(rs`, `ctrl-\\`},
		{"names", "_NAME <DIR> [x] *y*", "_NAME <DIR> [x] *y*", `\_NAME \<DIR\> \[x\] \*y\*`},
		{"beyond ASCII", "a – b", `a \[u2013] b`, "a – b"},
		{"example", "so:\n\n    a  b\n\n    .c\n\nend", "so:\n.sp\n.RS 4\n.nf\na  b\n\n\\&.c\n.fi\n.RE\n.PP\nend", "so:\n\n    a  b\n\n    .c\n\nend"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page := Page{Name: "p", Section: 1, Parts: []Part{{Title: "T", Text: tt.in}}}
			_, man, _ := strings.Cut(string(page.Man("x")), ".SH \"T\"\n")
			if man = strings.TrimSuffix(man, "\n"); man != tt.man {
				t.Errorf("man: %q, want %q", man, tt.man)
			}
			_, markdown, _ := strings.Cut(string(page.Markdown()), "## T\n\n")
			if markdown = strings.TrimRight(markdown, " \n"); markdown != tt.markdown {
				t.Errorf("Markdown: %q, want %q", markdown, tt.markdown)
			}
		})
	}
}

// A page shows what the help shows, and nothing that is hidden.
func TestCommandPages(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "p", Short: "A program"}
	root.PersistentFlags().Bool("json", false, "print JSON")
	root.AddGroup(&cobra.Group{ID: "g", Title: "Things:"})
	get := &cobra.Command{Use: "get NAME [-a] | get --all", Short: "Get it", Run: run, GroupID: "g", Aliases: []string{"fetch"}}
	get.Flags().BoolP("all", "a", false, "get all")
	set := &cobra.Command{Use: "set", Short: "Set it", GroupID: "g"}
	one := &cobra.Command{Use: "one NAME", Short: "Set one", Run: run}
	one.Flags().Int("size", 7, "at most `N` bytes")
	one.Flags().String("secret", "", "hidden")
	if err := one.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	set.AddCommand(one)
	root.AddCommand(get, set, &cobra.Command{Use: "hidden", Run: run, Hidden: true, GroupID: "g"},
		&cobra.Command{Use: "words", Short: "What words mean", Long: "They mean this."})

	pages := Commands(root)
	var names []string
	for _, page := range pages {
		names = append(names, page.Name)
	}
	if got := strings.Join(names, " "); got != "p p-get p-set p-set-one" {
		t.Fatalf("pages %q", got)
	}
	text := string(Reference(pages))
	for _, want := range []string{
		"**Things**\n\n- [`p get`](#p-get): Get it\n- [`p set`](#p-set): Set it\n",
		"- `--json`: print JSON\n", "**What words mean**\n\nThey mean this.\n",
		"## p get\n\n    p get NAME [-a]\n    p get --all\n", "- `-a, --all`: get all\n", "**Other names**\n\n`fetch`\n",
		"## p set\n\n    p set one [OPTION...] NAME\n", "- `--size N`: at most N bytes (default 7)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "hidden") {
		t.Errorf("it shows what is hidden:\n%s", text)
	}
}
