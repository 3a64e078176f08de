package approve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// object decodes a JSON object. It refuses names that occur twice, in another case too,
// because decoders differ in which of the two counts; what is not text, because they
// differ in what they make of it; and anything after the object.
func object(raw []byte) (map[string]json.RawMessage, error) {
	if !isText(raw) {
		return nil, errors.New("it has characters that are no text")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	values, folded := map[string]json.RawMessage{}, map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, errors.New("not a JSON object")
		}
		name, _ := t.(string)
		if folded[fold(name)] {
			return nil, fmt.Errorf("%.80q occurs twice", name)
		}
		folded[fold(name)] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.New("not a JSON object")
		}
		values[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("not a JSON object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more follows the JSON object")
	}
	return values, nil
}

// fold returns a name in a form that is the same for all of its cases.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// isText reports whether JSON is UTF-8, and spells out no half of a character.
func isText(raw []byte) bool {
	if !utf8.Valid(raw) {
		return false
	}
	unit := func(at int) rune { // the one that \uXXXX at this place spells out
		if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
			return -1
		}
		n, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(n)
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if r := unit(i); utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, unit(i+6)) == unicode.ReplacementChar {
				return false
			}
			i += 6
		}
		i++
	}
	return true
}

// maxDepth bounds the objects and lists in one another in which paths are looked for.
const maxDepth = 32

// places returns the values of the names for paths that stand anywhere in raw, which is
// itself in depth others.
func places(raw json.RawMessage, depth int) (paths []string, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d objects or lists are in one another", maxDepth)
	}
	switch trimmed := bytes.TrimSpace(raw); {
	case bytes.HasPrefix(trimmed, []byte("[")):
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		for _, item := range list {
			more, err := places(item, depth+1)
			if paths = append(paths, more...); err != nil {
				return nil, err
			}
		}
	case bytes.HasPrefix(trimmed, []byte("{")):
		values, err := object(raw)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			more, err := places(values[name], depth+1)
			if slices.Contains([]string{"file_path", "notebook_path", "path"}, strings.ToLower(name)) {
				more = append(more, "")
				err = json.Unmarshal(values[name], &more[len(more)-1])
			}
			if paths = append(paths, more...); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}

// arguments are a tool's. They note which of them were read.
type arguments struct {
	values map[string]json.RawMessage
	used   map[string]bool
	err    error
}

// text returns a string, and notes an error if there is none.
func (a *arguments) text(name string) string {
	if _, has := a.values[name]; !has && a.err == nil {
		a.err = fmt.Errorf("%s is missing", name)
	}
	return a.optional(name)
}

// optional returns a string, or "" if there is none.
func (a *arguments) optional(name string) (text string) {
	a.used[name] = true
	raw, has := a.values[name]
	if !has || string(raw) == "null" {
		return ""
	}
	if err := json.Unmarshal(raw, &text); err != nil && a.err == nil {
		a.err = fmt.Errorf("%s is not a string", name)
	}
	return text
}

// truth returns a truth value, false if there is none.
func (a *arguments) truth(name string) (yes bool) {
	a.decode(name, &yes)
	return yes
}

// decode decodes an argument into what to points to, and notes an error if that
// does not hold all of it. It leaves to as it is if there is none.
func (a *arguments) decode(name string, to any) {
	a.used[name] = true
	raw, has := a.values[name]
	if !has {
		return
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil && a.err == nil {
		a.err = fmt.Errorf("%s cannot be read", name)
	}
}

// kinds are how the arguments of tools begin as JSON: text, a number, a list, true or false.
// Of an argument that is not here nothing is known.
var kinds = sync.OnceValue(func() map[string]string {
	kinds := map[string]string{}
	for begins, names := range map[string]string{
		`"`:           "cell_id cell_type description edit_mode glob mode new_source new_str new_string old_str old_string output_mode pages pattern shellId type",
		"-0123456789": "-A -B -C head_limit initial_wait insert_line limit offset timeout",
		"[":           "edits ignore view_range",
		"tf":          "-i -n multiline replace_all run_in_background",
	} {
		for _, name := range strings.Fields(names) {
			kinds[name] = begins
		}
	}
	return kinds
})

// ignore notes arguments whose value does not change the decision. One of another kind
// than it must have is an error: who knows what the tool makes of it.
func (a *arguments) ignore(names []string) {
	for _, name := range names {
		a.used[name] = true
		raw := bytes.TrimSpace(a.values[name])
		if begins := kinds()[name]; begins == "" || len(raw) == 0 || string(raw) == "null" || strings.IndexByte(begins, raw[0]) >= 0 {
			continue
		}
		if a.err == nil {
			a.err = fmt.Errorf("%s is of another type than it must be", name)
		}
	}
}

// problem returns the first error, or one for an argument that is not known: it
// may change what the tool does.
func (a *arguments) problem() error {
	if a.err != nil {
		return a.err
	}
	var unknown []string
	for name := range a.values {
		if !a.used[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%.80q is not an argument that is known here", slices.Min(unknown))
	}
	return nil
}
