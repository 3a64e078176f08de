package approve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// object decodes a JSON object. It refuses names that occur twice, because
// decoders differ in which of the two counts, and anything after the object.
func object(raw []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	values := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, errors.New("not a JSON object")
		}
		name, _ := t.(string)
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("%q occurs twice", name)
		}
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

// ignore notes arguments that do not change the decision.
func (a *arguments) ignore(names []string) {
	for _, name := range names {
		a.used[name] = true
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
