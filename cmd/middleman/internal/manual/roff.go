package manual

import (
	"bytes"
	"fmt"
	"strings"
)

// Man returns the page as the source of a man page, with the macros of man(7).
// program is the name and version of what it is about.
func (p Page) Man(program string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH \"%s\" \"%d\" \"\" \"%s\" \"middleman manual\"\n", roff(strings.ToUpper(p.Name)), p.Section, roff(program))
	fmt.Fprintf(&b, ".SH \"NAME\"\n%s \\- %s\n", roff(p.Name), inline(p.Summary))
	if len(p.Synopsis) > 0 {
		b.WriteString(".SH \"SYNOPSIS\"\n")
		for i, line := range p.Synopsis {
			if i > 0 {
				b.WriteString(".br\n")
			}
			b.WriteString(atStart(roff(line)) + "\n")
		}
	}
	for _, part := range p.Parts {
		part.man(&b)
	}
	if len(p.SeeAlso) > 0 {
		fmt.Fprintf(&b, ".SH \"SEE ALSO\"\n%s\n", roff(strings.Join(p.SeeAlso, ", ")))
	}
	return b.Bytes()
}

func (p Part) man(b *bytes.Buffer) {
	if p.Text == "" && len(p.Items) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH \"%s\"\n", roff(strings.ToUpper(p.Title)))
	for i, block := range blocks(p.Text) {
		if i > 0 && !block.example {
			b.WriteString(".PP\n")
		}
		block.man(b)
	}
	for _, item := range p.Items {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roff(item.Name))
		if item.Args != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(item.Args))
		}
		b.WriteString("\n")
		for i, block := range blocks(item.Text) {
			if i > 0 && !block.example {
				b.WriteString(".IP\n")
			}
			block.man(b)
		}
	}
}

func (k block) man(b *bytes.Buffer) {
	if !k.example {
		for line := range strings.SplitSeq(inline(k.text), "\n") {
			b.WriteString(atStart(line) + "\n")
		}
		return
	}
	b.WriteString(".sp\n.RS 4\n.nf\n")
	for line := range strings.SplitSeq(k.text, "\n") {
		b.WriteString(atStart(roff(line)) + "\n")
	}
	b.WriteString(".fi\n.RE\n")
}

// inline returns text with `code` in bold.
func inline(text string) string {
	var b strings.Builder
	for _, s := range spans(text) {
		if s.code {
			b.WriteString("\\fB" + roff(s.text) + "\\fR")
			continue
		}
		b.WriteString(roff(s.text))
	}
	return b.String()
}

// atStart keeps a line from being read as a request.
func atStart(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return "\\&" + line
	}
	return line
}

var special = strings.NewReplacer(`\`, `\(rs`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`)

// roff returns text that is shown as it is, in ASCII.
func roff(text string) string {
	var b strings.Builder
	for _, r := range special.Replace(text) {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "\\[u%04X]", r)
	}
	return b.String()
}
