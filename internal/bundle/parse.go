package bundle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// parser reads JSON more strictly than encoding/json: a name that is there twice, null,
// a fraction, a lone surrogate, bytes that are not UTF-8 and anything behind the value
// are refused, and the limits hold before memory is taken.
type parser struct {
	in   *bufio.Reader
	left int // bytes that may still be read
	path string
}

// parse returns a tree of map[string]any, []any, string, int64 and bool.
func parse(r io.Reader) (any, error) {
	p := &parser{in: bufio.NewReader(r), left: MaxBytes}
	tree, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if c, err := p.token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = p.fault("there is %q behind the end of the bundle", c)
		}
		return nil, err
	}
	return tree, nil
}

// join returns the path of a field of an object.
func join(path, key string) string {
	if len(key) > 64 {
		key = key[:64] + "..."
	}
	if strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c == '.' || c == '[' || c > '~' || c == '"' }) {
		key = strconv.QuoteToASCII(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func (p *parser) fault(format string, args ...any) error {
	field := p.path
	if field == "" {
		field = "document"
	}
	return invalid(field, format, args...)
}

// next returns the next byte. The error is io.EOF at the end.
func (p *parser) next() (byte, error) {
	if p.left == 0 {
		return 0, p.fault("the bundle is larger than %d bytes", MaxBytes)
	}
	c, err := p.in.ReadByte()
	if err == nil {
		p.left--
		return c, nil
	}
	if errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	return 0, p.fault("it cannot be read: %v", err)
}

// must is next where the end is a fault.
func (p *parser) must() (byte, error) {
	c, err := p.next()
	if errors.Is(err, io.EOF) {
		return 0, p.fault("the bundle ends in the middle")
	}
	return c, err
}

func (p *parser) back() {
	_ = p.in.UnreadByte() // of the byte that was read last, which always succeeds
	p.left++
}

// token returns the next byte that is no space.
func (p *parser) token() (byte, error) {
	for {
		c, err := p.next()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

func (p *parser) mustToken() (byte, error) {
	c, err := p.token()
	if errors.Is(err, io.EOF) {
		return 0, p.fault("the bundle ends in the middle")
	}
	return c, err
}

func (p *parser) value(depth int) (any, error) {
	c, err := p.mustToken()
	switch {
	case err != nil:
		return nil, err
	case depth > maxDepth:
		return nil, p.fault("is nested more than %d levels deep", maxDepth)
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.list(depth)
	case c == '"':
		return p.text()
	case c == '-' || c >= '0' && c <= '9':
		return p.integer(c)
	case c == 't':
		return true, p.word("rue")
	case c == 'f':
		return false, p.word("alse")
	case c == 'n':
		return nil, p.fault("must not be null: leave the field out")
	}
	return nil, p.fault("is not JSON: unexpected %q", c)
}

func (p *parser) word(rest string) error {
	for i := range len(rest) {
		if c, err := p.must(); err != nil {
			return err
		} else if c != rest[i] {
			return p.fault("is not JSON: unexpected %q", c)
		}
	}
	return nil
}

func (p *parser) object(depth int) (any, error) {
	m, at := map[string]any{}, p.path
	for first := true; ; first = false {
		c, err := p.mustToken()
		if err != nil {
			return nil, err
		}
		if c == '}' && first {
			return m, nil
		}
		if !first {
			if c == '}' {
				return m, nil
			}
			if c != ',' {
				return nil, p.fault("is not JSON: unexpected %q", c)
			}
			if c, err = p.mustToken(); err != nil {
				return nil, err
			}
		}
		if c != '"' {
			return nil, p.fault("is not JSON: a name was expected, not %q", c)
		}
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		p.path = join(at, key)
		switch _, twice := m[key]; {
		case twice:
			return nil, p.fault("is there twice")
		case len(m) == maxItems:
			p.path = at
			return nil, p.fault("has more than %d fields", maxItems)
		}
		if c, err = p.mustToken(); err != nil {
			return nil, err
		}
		if c != ':' {
			return nil, p.fault("is not JSON: unexpected %q", c)
		}
		if m[key], err = p.value(depth + 1); err != nil {
			return nil, err
		}
		p.path = at
	}
}

func (p *parser) list(depth int) (any, error) {
	items, at := []any{}, p.path
	for {
		c, err := p.mustToken()
		switch {
		case err != nil:
			return nil, err
		case c == ']' && len(items) == 0:
			return items, nil
		case len(items) == 0:
			p.back()
		case c == ']':
			return items, nil
		case c != ',':
			return nil, p.fault("is not JSON: unexpected %q", c)
		}
		if len(items) == maxItems {
			return nil, p.fault("has more than %d items", maxItems)
		}
		p.path = fmt.Sprintf("%s[%d]", at, len(items))
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items, p.path = append(items, item), at
	}
}

// integer reads a number that begins with c.
func (p *parser) integer(c byte) (any, error) {
	digits := []byte{c}
	for {
		c, err := p.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			p.back()
			break
		}
		if digits = append(digits, c); len(digits) > 16 {
			return nil, p.fault("has more than 16 digits")
		}
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(digits) {
		return nil, p.fault("must be an integer, written plainly")
	}
	return n, nil
}

// text reads a text behind its first quotation mark.
func (p *parser) text() (string, error) {
	var out []byte
	for {
		c, err := p.must()
		switch {
		case err != nil:
			return "", err
		case c == '"':
			if !utf8.Valid(out) {
				return "", p.fault("is not UTF-8")
			}
			return string(out), nil
		case c < ' ':
			return "", p.fault("has a control character or an invisible one")
		case c == '\\':
			if out, err = p.escape(out); err != nil {
				return "", err
			}
		default:
			out = append(out, c)
		}
		if len(out) > maxString {
			return "", p.fault("is longer than %d bytes", maxString)
		}
	}
}

// escape reads what follows a backslash.
func (p *parser) escape(out []byte) ([]byte, error) {
	c, err := p.must()
	if err != nil {
		return nil, err
	}
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return append(out, "\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return nil, p.fault("is not JSON: \\%c in a text", c)
	}
	r, err := p.unit()
	if err != nil || !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r), err
	}
	if err := p.word(`\u`); err != nil {
		return nil, p.fault("has half of a character in a text")
	}
	low, err := p.unit()
	if err != nil {
		return nil, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return nil, p.fault("has half of a character in a text")
	}
	return utf8.AppendRune(out, r), nil
}

// unit reads the four digits of \u.
func (p *parser) unit() (rune, error) {
	var digits [4]byte
	for i := range digits {
		c, err := p.must()
		if err != nil {
			return 0, err
		}
		digits[i] = c
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil || strings.ContainsAny(string(digits[:]), "+-_") {
		return 0, p.fault("is not JSON: \\u%q in a text", digits)
	}
	return rune(n), nil
}
