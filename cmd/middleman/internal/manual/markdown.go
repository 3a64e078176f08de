package manual

import (
	"bytes"
	"fmt"
	"strings"
)

// generated is the first line of each Markdown page.
const generated = "<!-- Made by `make docs`, from the texts that the commands print. Do not edit. -->\n\n"

// Reference returns the pages of commands as one Markdown page.
func Reference(pages []Page) []byte {
	var b bytes.Buffer
	b.WriteString(generated + "# Commands\n\nWhat `middleman help COMMAND` prints. `middleman man COMMAND` shows the same as a man page.\n")
	for _, page := range pages {
		page.markdown(&b)
	}
	return b.Bytes()
}

// Markdown returns the page alone.
func (p Page) Markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s# %s\n", generated, plain(p.Title))
	for _, part := range p.Parts {
		if part.Title != "Description" {
			fmt.Fprintf(&b, "\n## %s\n", plain(part.Title))
		}
		part.markdown(&b)
	}
	return b.Bytes()
}

func (p Page) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\n    %s\n", plain(p.Title), strings.Join(p.Synopsis, "\n    "))
	for _, part := range p.Parts {
		if part.Title != "Description" {
			fmt.Fprintf(b, "\n**%s**\n", plain(part.Title))
		}
		part.markdown(b)
	}
}

func (p Part) markdown(b *bytes.Buffer) {
	for _, block := range blocks(p.Text) {
		b.WriteString("\n" + block.markdown() + "\n")
	}
	if len(p.Items) > 0 {
		b.WriteString("\n")
	}
	for _, item := range p.Items {
		var texts []string
		for _, block := range blocks(item.Text) {
			texts = append(texts, strings.ReplaceAll(block.markdown(), "\n", "\n  "))
		}
		name := "`" + strings.TrimSpace(item.Name+" "+item.Args) + "`"
		if item.Link {
			name = fmt.Sprintf("[%s](#%s)", name, strings.ReplaceAll(item.Name, " ", "-"))
		}
		fmt.Fprintf(b, "- %s: %s\n", name, strings.Join(texts, "\n\n  "))
	}
}

func (k block) markdown() string {
	if k.example {
		return strings.ReplaceAll("    "+strings.ReplaceAll(k.text, "\n", "\n    "), "\n    \n", "\n\n")
	}
	return prose(k.text)
}

// prose returns text with its `code` kept, and nothing else that Markdown would
// take for markup.
func prose(text string) string {
	var b strings.Builder
	for _, s := range spans(text) {
		if s.code {
			b.WriteString("`" + s.text + "`")
			continue
		}
		b.WriteString(plain(s.text))
	}
	return b.String()
}

var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`, "|", `\|`)

// plain returns text that Markdown shows as it is.
func plain(text string) string { return markup.Replace(text) }
