package admin

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/audit"
	"middleman/terminal"
)

func (c commands) auditCommand() *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "audit [--since DUR]",
		Short: "Print the audit log: logins, refused requests and deletes",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			from := time.Time{}
			if since != "" {
				age, err := cli.Span("since", since)
				if err != nil {
					return err
				}
				from = time.Now().Add(-age)
			}
			return c.printAudit(from)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "only the last `DUR`, such as 12h or 7d")
	return cmd
}

// printAudit reads the log files directly, so it needs no server.
func (c commands) printAudit(since time.Time) error {
	list, damaged, err := audit.Read(c.Dirs.Data, since)
	if err != nil {
		return err
	}
	if damaged > 0 {
		fmt.Fprintf(c.Errs, "middleman: %d lines of the audit log cannot be read\n", damaged)
	}
	lines := []json.RawMessage{}
	for _, r := range list {
		line, err := r.Marshal()
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	return c.Print(map[string]any{"records": lines}, func() error {
		for _, r := range list {
			fmt.Fprintln(c.Out, oneLine(auditLine(r)))
		}
		return nil
	})
}

// oneLine turns any text into one harmless line for a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, terminal.Plain(text))
}

// auditLine formats a record for people.
func auditLine(r audit.Record) string {
	words := []string{r.Time.Local().Format(time.DateTime), r.Event, r.Outcome}
	if r.Times > 1 {
		words = append(words, strconv.Itoa(r.Times)+" times more")
	}
	if r.What != "" {
		words = append(words, r.What)
	}
	words = append(words, "by", byWords(r.By))
	if r.From != "" {
		words = append(words, "from", r.From)
	}
	line := strings.Join(words, " ")
	if r.Detail != "" {
		line += ": " + r.Detail
	}
	return line
}

// byWords formats who did it for people.
func byWords(by audit.By) string {
	words := []string{}
	for _, word := range []string{by.Kind, by.ID} {
		if word != "" {
			words = append(words, word)
		}
	}
	if by.Name != "" {
		words = append(words, "("+by.Name+")")
	}
	if by.UID != nil {
		words = append(words, "uid", strconv.Itoa(*by.UID))
	}
	if by.SID != "" {
		words = append(words, "user", by.SID)
	}
	if by.PID != 0 {
		words = append(words, "pid", strconv.Itoa(by.PID))
	}
	if len(words) == 0 {
		return "unknown"
	}
	return strings.Join(words, " ")
}
