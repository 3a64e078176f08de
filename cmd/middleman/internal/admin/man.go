package admin

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/build"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/manual"
	"middleman/internal/config"
	"middleman/internal/scratch"
)

func (c commands) manCommand() *cobra.Command {
	var dir, markdown string
	cmd := &cobra.Command{
		Use:   "man [COMMAND...] | man --dir DIR | man --markdown DIR",
		Short: "Show the manual, or write its pages",
		Long: `Show the manual's page of a command with man. Without COMMAND it is the page of
middleman itself, which lists the others.

    middleman man attach
    middleman man token create
    middleman man settings      # config.toml
    middleman man toml          # .middleman.toml of a repository

The pages have the texts that ` + "`middleman help`" + ` prints. To read them with ` + "`man middleman-attach`" + `,
write them to where man looks:

    middleman man --dir ~/.local/share/man`,
		ValidArgsFunction: completePage,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // needs no directories and no settings
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case dir != "" && markdown != "", dir+markdown != "" && len(given) > 0:
				return cli.Usagef("give only one of COMMAND, --dir and --markdown")
			case dir != "":
				return writeMan(dir, cmd.Root())
			case markdown != "":
				return writeMarkdown(markdown, cmd.Root())
			}
			return c.showMan(cmd, strings.Join(given, "-"))
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages below `DIR`, in man1 and man5")
	cmd.Flags().StringVar(&markdown, "markdown", "", "write the reference as Markdown to `DIR`")
	return cmd
}

// completePage proposes what follows in the name of a page. No command has a hyphen in
// its name.
func completePage(cmd *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := strings.Join(append([]string{"middleman"}, given...), "-") + "-"
	var words []cobra.Completion
	for _, page := range pages(cmd.Root()) {
		if rest, ok := strings.CutPrefix(page.Name, before); ok && strings.HasPrefix(rest, begun) && !strings.Contains(rest, "-") {
			words = append(words, cobra.CompletionWithDesc(rest, page.Summary))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// pages returns all pages of the manual.
func pages(root *cobra.Command) []manual.Page {
	list := append(manual.Commands(root), settingsPage(), repositoryPage())
	for _, page := range list {
		if page.Section == 5 {
			list[0].SeeAlso = append(list[0].SeeAlso, page.Name+"(5)")
		}
	}
	return list
}

func writeMan(dir string, root *cobra.Command) error {
	for _, page := range pages(root) {
		section := filepath.Join(dir, fmt.Sprintf("man%d", page.Section))
		if err := os.MkdirAll(section, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(section, fileName(page)), source(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func fileName(page manual.Page) string { return fmt.Sprintf("%s.%d", page.Name, page.Section) }

func source(page manual.Page) []byte { return page.Man("middleman " + build.Version()) }

func writeMarkdown(dir string, root *cobra.Command) error {
	for name, text := range map[string][]byte{
		"commands.md":       manual.Reference(manual.Commands(root)),
		"settings.md":       settingsPage().Markdown(),
		"middleman-toml.md": repositoryPage().Markdown(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// showMan shows the page of a command with man, which finds it in a temporary
// file. name has the words of the command, joined by dashes.
func (c commands) showMan(cmd *cobra.Command, name string) error {
	page, found := find(pages(cmd.Root()), strings.TrimSuffix("middleman-"+name, "-"))
	if !found {
		return cli.Usagef("the manual has no page %q; `middleman man` lists the commands", strings.ReplaceAll(name, "-", " "))
	}
	man, err := exec.LookPath("man")
	if err != nil {
		return fmt.Errorf("man is not installed: use `%s`", strings.TrimSpace("middleman help "+strings.TrimPrefix(page.Title, "middleman ")))
	}
	if dirs, err := config.FindDirs(); err == nil && dirs.Check() == nil {
		scratch.Use(dirs.Scratch()) // else in TMPDIR: man needs no directories of ours
	}
	dir, err := scratch.Make("man")
	if err != nil {
		return err
	}
	defer dir.Close()
	file := filepath.Join(dir.Path, fileName(page))
	if err := writeNew(file, source(page)); err != nil {
		return err
	}
	show := exec.CommandContext(cmd.Context(), man, file)
	show.Stdin, show.Stdout, show.Stderr = c.In, c.BytesOut, c.BytesErrs
	if err := show.Run(); err != nil {
		return errors.Join(cmd.Context().Err(), fmt.Errorf("man %s: %w", file, err))
	}
	return nil
}

// writeNew writes a file that must not exist.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

func find(pages []manual.Page, name string) (manual.Page, bool) {
	for _, page := range pages {
		if page.Name == name {
			return page, true
		}
	}
	return manual.Page{}, false
}
