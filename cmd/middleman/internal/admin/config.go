package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/manual"
	"middleman/internal/client"
	"middleman/internal/config"
	"middleman/internal/keydoc"
	"middleman/internal/plaintext"
	"middleman/internal/repoconfig"
)

func (c commands) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config [KEY...]",
		Short: "Print the settings: their values, and what they mean",
		Long: `Print the settings that config.toml makes, or else their defaults. With KEY it says
what the setting means; KEY may also be a table, which stands for all its keys.

    middleman config
    middleman config terminal.grace env

To change settings, edit the file; standard error names its path.`,
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			var keys []string
			for _, s := range config.Default().Settings() {
				keys = append(keys, s.Key)
			}
			return keys, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, given []string) error { return c.config(cmd.Context(), given) },
	}
}

// setting is a setting as --json prints it.
type setting struct {
	Key     string   `json:"key"`
	Value   any      `json:"value"`
	Default any      `json:"default"`
	Set     bool     `json:"set"` // config.toml has it
	Type    string   `json:"type"`
	Values  []string `json:"values,omitempty"`
	About   string   `json:"about"`
	Restart bool     `json:"needs_server_restart"`
	Waits   bool     `json:"waits_for_restart"` // it was changed since the server read it
	takes   string
}

func (c commands) config(ctx context.Context, given []string) error {
	file := c.Dirs.File()
	raw, err := os.ReadFile(file) // prepare has checked it, and read it with limits
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	set, err := config.SetIn(raw)
	if err != nil {
		return fmt.Errorf("read configuration %s: %w", file, err)
	}
	list, err := chosen(c.settings(set, c.waitingThere(ctx)), given)
	if err != nil {
		return err
	}
	return c.Print(map[string]any{"file": file, "settings": list}, func() error {
		note := ""
		if missing {
			note = ", which does not exist yet"
		}
		fmt.Fprintf(c.Errs, "settings of %s%s:\n", plaintext.Line(file), note)
		if len(given) > 0 {
			c.describe(list)
			return nil
		}
		t := c.Table("KEY", "VALUE", "FROM")
		for _, s := range list {
			t.Row(s.Key, keydoc.TOML(s.Value), s.from())
		}
		return t.Flush()
	})
}

// waitingThere returns the settings that wait for a restart of the running server,
// none if no server runs or answers.
func (c commands) waitingThere(ctx context.Context) []string {
	server, err := client.Connect(ctx, c.Dirs)
	if err != nil {
		return nil
	}
	defer server.Close()
	now, _ := server.Server(ctx) // an older server does not tell
	return now.Waiting
}

// settings returns all settings; set has the keys that config.toml sets.
func (c commands) settings(set map[string]bool, waiting []string) []setting {
	defaults := config.Default().Settings()
	list := make([]setting, len(defaults))
	for i, k := range c.Config.Settings() {
		list[i] = setting{
			Key: k.Key, Value: k.Value, Default: defaults[i].Value, Set: set[k.Key], Type: k.Type, Values: k.Values,
			About: k.About, Restart: !k.Live, Waits: slices.Contains(waiting, k.Key), takes: k.Takes(),
		}
	}
	return list
}

// chosen returns those of list that the arguments name, or for none all that
// have a value: not those of a NAME.
func chosen(list []setting, given []string) (found []setting, err error) {
	if len(given) == 0 {
		return slices.DeleteFunc(list, func(s setting) bool { return strings.Contains(s.Key, ".NAME") }), nil
	}
	for _, name := range given {
		n := len(found)
		for _, s := range list {
			if s.Key == name || strings.HasPrefix(s.Key, name+".") {
				found = append(found, s)
			}
		}
		if len(found) == n {
			return nil, fmt.Errorf("there is no setting %q; `middleman config` lists them", name)
		}
	}
	return found, nil
}

func (s setting) from() string {
	from := "default"
	if s.Set {
		from = "config.toml"
	}
	if s.Waits {
		from += "; waits for `middleman server restart`"
	}
	return from
}

func (c commands) describe(list []setting) {
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		fmt.Fprintf(c.Out, "%s = %s\n    %s\n", s.Key, keydoc.TOML(s.Value), s.About)
		fmt.Fprintf(c.Out, "    Type: %s. Default: %s. %s\n", s.takes, keydoc.TOML(s.Default), effect(!s.Restart))
	}
}

// effect says when a changed value is used.
func effect(live bool) string {
	if live {
		return "The next command uses a changed value."
	}
	return "A changed value waits for a restart of the server."
}

// settingsPage is the manual's page of config.toml.
func settingsPage() manual.Page {
	page := manual.Page{
		Name: "middleman-settings", Section: 5, Title: "Settings: config.toml", Summary: "the settings file config.toml",
		Parts:   []manual.Part{{Title: "Description", Text: settingsText}, {Title: "Keys"}},
		SeeAlso: []string{"middleman(1)", "middleman-config(1)"},
	}
	for _, k := range config.Default().Settings() {
		page.Parts[1].Items = append(page.Parts[1].Items, manual.Item{
			Name: k.Key, Args: "= " + k.Takes(), Text: k.About + " Default: `" + keydoc.TOML(k.Value) + "`. " + effect(k.Live),
		})
	}
	return page
}

const settingsText = "Your settings are in config.toml in the configuration directory, which" + `
` + "`middleman config`" + ` names. It is a TOML file. A key with a dot, such as terminal.grace, is
in a table:

    backend = "pty-owner"

    [terminal]
    grace = "10s"

What the file leaves out has its default. A key that is not in this list is an error,
which names the line. While there is one, commands that show, reach or stop what runs
go on without the settings, and say so; all others refuse.`

// repositoryPage is the manual's page of .middleman.toml.
func repositoryPage() manual.Page {
	page := manual.Page{
		Name: "middleman-toml", Section: 5, Title: "Repositories: .middleman.toml", Summary: "what a repository wants for its workspaces: the file .middleman.toml",
		Parts:   []manual.Part{{Title: "Description", Text: repositoryText}, {Title: "Keys"}},
		SeeAlso: []string{"middleman(1)", "middleman-trust(1)"},
	}
	for _, k := range repoconfig.Keys() {
		page.Parts[1].Items = append(page.Parts[1].Items, manual.Item{Name: k.Key, Args: "= " + k.Takes(), Text: k.About})
	}
	return page
}

const repositoryText = `What a repository wants for its workspaces is in .middleman.toml at the top of a
checkout. It is a TOML file:

    setup = ["npm ci"]
    teardown = ["docker compose down"]
    copy = [".env"]
    ports = 3

    [env]
    NODE_ENV = "development"

Nothing in it is used before you have agreed to exactly its content: ` + "`middleman trust`" + `
shows it and asks. After a change it asks again. Commands run as you, outside of any
sandbox, in the directory of the workspace. A key that is not in this list is an error.`
