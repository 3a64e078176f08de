// Package tomlfile decodes TOML strictly, and tells what is wrong with it on one
// line, which a terminal can show whatever the file holds.
package tomlfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Decode decodes content into v, a pointer. A key that v lacks is an error, whose
// text ends with hint. An error names its line.
func Decode(content []byte, v any, hint string) error {
	err := toml.NewDecoder(bytes.NewReader(content)).DisallowUnknownFields().Decode(v)
	if e, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(e.Errors) > 0 {
		row, _ := e.Errors[0].Position()
		return fmt.Errorf("line %d: there is no setting %q%s", row, strings.Join(e.Errors[0].Key(), "."), hint)
	}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := e.Position()
		return fmt.Errorf("line %d: %s", row, strings.TrimPrefix(e.Error(), "toml: "))
	}
	return err
}
