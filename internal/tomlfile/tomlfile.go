// Package tomlfile decodes TOML strictly, and tells what is wrong with it on one
// line, which a terminal can show whatever the file holds.
package tomlfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"middleman/internal/names"
)

// Decode decodes content into v, a pointer. A key that v lacks is an error, whose
// text ends with hint, or with the key of v that is nearest. An error names its line. It
// passes over a byte order mark, which editors of Windows put at the beginning.
func Decode(content []byte, v any, hint string) error {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) {
		return errors.New("it is in UTF-16: save it as UTF-8")
	}
	err := toml.NewDecoder(bytes.NewReader(content)).DisallowUnknownFields().Decode(v)
	if e, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(e.Errors) > 0 {
		row, _ := e.Errors[0].Position()
		key := e.Errors[0].Key()
		if near := nearest(reflect.TypeOf(v), key); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return fmt.Errorf("line %d: there is no setting %q%s", row, strings.Join(key, "."), hint)
	}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := e.Position()
		return fmt.Errorf("line %d: %s", row, explain(reflect.TypeOf(v), e))
	}
	return err
}

// nearest returns key up to its first part that a value of type t lacks, with the most
// similar one that it has instead. It is "" if there is none.
func nearest(t reflect.Type, key []string) string {
	known := 0
	for known < len(key) && typeAt(t, key[:known+1]) != nil {
		known++
	}
	if known == len(key) {
		return ""
	}
	near := names.Similar(key[known], keysOf(typeAt(t, key[:known])))
	if len(near) == 0 {
		return ""
	}
	return strings.Join(append(key[:known:known], near[0]), ".")
}
