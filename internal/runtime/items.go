package runtime

// maxItems bounds the objects, and the items of lists, in one answer: an item of five
// bytes can become a session of a thousand.
const maxItems = 100_000

// items counts the objects and the items of lists in JSON. Of what is no JSON it counts
// something.
func items(raw []byte) (n int) {
	var lists []bool // the open brackets: whether each is that of a list
	text := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '[' || c == '{':
			n++
			lists = append(lists, c == '[')
		case c == ']' || c == '}':
			lists = lists[:max(0, len(lists)-1)]
		case c == ',' && len(lists) > 0 && lists[len(lists)-1]:
			n++
		}
	}
	return n
}
