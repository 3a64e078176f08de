package manual

import "strings"

// block is a paragraph, or an example, which keeps its lines.
type block struct {
	example bool
	text    string
}

// blocks splits the text of a Part.
func blocks(text string) (list []block) {
	const indent = "    "
	var lines []string
	example := false
	end := func() {
		if joined := strings.Trim(strings.Join(lines, "\n"), "\n"); joined != "" {
			list = append(list, block{example, joined})
		}
		lines = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		inside := strings.HasPrefix(line, indent)
		switch blank := strings.TrimSpace(line) == ""; {
		case blank && example:
			lines = append(lines, "") // the example may go on
			continue
		case blank:
			end()
			continue
		case inside != example:
			end()
			example = inside
		}
		lines = append(lines, strings.TrimPrefix(line, indent))
	}
	end()
	return list
}

// span is a part of a line, as it is or `code`.
type span struct {
	code bool
	text string
}

// spans splits text at its backquotes. One without a partner is a character.
func spans(text string) (list []span) {
	for text != "" {
		before, rest, opened := strings.Cut(text, "`")
		code, after, closed := strings.Cut(rest, "`")
		if !opened || !closed {
			return append(list, span{text: text})
		}
		if before != "" {
			list = append(list, span{text: before})
		}
		list = append(list, span{code: true, text: code})
		text = after
	}
	return list
}
