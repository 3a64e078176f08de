package tomlfile

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// The library's messages about a value that does not fit. They name types of Go.
var (
	misfit = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^cannot decode TOML ([a-z ]+) into (?:.* of type )?(.+)$`)
	})
	tableIn    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^cannot store an? (table|array table) in an? `) })
	outOfRange = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:negative )?integer value (-?[0-9]+) cannot be stored in `)
	})
)

// explain says what is wrong with a file for a value of type t, in words for somebody
// who has not seen our types, and names the key if the library does.
func explain(t reflect.Type, e *toml.DecodeError) string {
	said := strings.TrimPrefix(e.Error(), "toml: ")
	if strings.Contains(said, "escape") {
		said += `: in "..." a backslash begins an escape; in '...', which fits paths of Windows, it is one`
	}
	if len(e.Key()) == 0 {
		return said
	}
	path := []string(e.Key())
	for len(path) > 0 && typeAt(t, path) == nil {
		path = path[:len(path)-1] // what has a part after it is a table
	}
	if len(path) == 0 {
		return written(e.Key()) + ": " + said
	}
	key, want := written(path), typeAt(t, path)
	if m := misfit().FindStringSubmatch(said); m != nil {
		if has := element(want); has != nil && m[2] == has.String() {
			return fmt.Sprintf("%s has %s: each must be %s", key, kindOf(m[1]), wanted(has))
		}
		return fmt.Sprintf("%s is %s: it must be %s", key, kindOf(m[1]), wanted(want))
	}
	if m := tableIn().FindStringSubmatch(said); m != nil {
		return fmt.Sprintf("%s is %s: it must be %s", key, kindOf(m[1]), wanted(want))
	}
	if m := outOfRange().FindStringSubmatch(said); m != nil {
		return fmt.Sprintf("%s is %s: it must be %s", key, m[1], wanted(want))
	}
	return key + ": " + said
}

// typeAt returns the type of the value that key names in one of type t, nil if there is
// none.
func typeAt(t reflect.Type, key []string) reflect.Type {
	for _, part := range key {
		t = direct(t)
		for t.Kind() == reflect.Slice {
			t = direct(t.Elem())
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			field, ok := fieldOf(t, part)
			if !ok {
				return nil
			}
			t = field
		default:
			return nil
		}
	}
	return direct(t)
}

// direct returns what pointers of type t lead to.
func direct(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fieldOf returns the type of the field that name means in a TOML table, as the library
// finds it: by its tag, or by its name in any case.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if f.IsExported() && tag != "-" && (strings.EqualFold(tag, name) || tag == "" && strings.EqualFold(f.Name, name)) {
			return f.Type, true
		}
	}
	return nil, false
}

// keysOf returns the keys that a table of type t may have by their tags, none for what is
// no such table.
func keysOf(t reflect.Type) (keys []string) {
	for t.Kind() == reflect.Slice {
		t = direct(t.Elem())
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("toml"), ","); tag != "" && tag != "-" {
			keys = append(keys, tag)
		}
	}
	return keys
}

// element returns the type of what is in a list or table of type t, nil for other types.
func element(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		return direct(t.Elem())
	}
	return nil
}

// kindOf says what kind of value a file has.
func kindOf(kind string) string {
	switch kind {
	case "boolean":
		return "true or false"
	case "integer":
		return "an integer"
	case "float":
		return "a number with a fraction"
	case "array":
		return "a list"
	case "table", "inline table":
		return "a table"
	case "array table":
		return "a list of tables"
	}
	return "a " + strings.TrimPrefix(kind, "local ") // string, date, time, datetime
}

// wanted says what kind of value one of type t takes.
func wanted(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer from 0 to " + strconv.FormatUint(1<<t.Bits()-1, 10)
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "a table"
}

var bare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })

// written returns a key as a file has it.
func written(key []string) string {
	parts := make([]string, len(key))
	for i, part := range key {
		if parts[i] = part; !bare().MatchString(part) {
			parts[i] = strconv.Quote(part)
		}
	}
	return strings.Join(parts, ".")
}
