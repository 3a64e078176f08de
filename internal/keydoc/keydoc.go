// Package keydoc describes the keys that a TOML file may have. Which keys there are,
// and of which types, comes from the struct into which the file is decoded; a
// package that decodes a file adds a text for each.
package keydoc

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Text says what a key means.
type Text struct {
	Key    string   // as "terminal.grace"; NAME stands for any name
	About  string   // whole sentences
	Values []string // all values that it takes, if these are a few words
	Live   bool     // the next command uses a changed value; else a restarted server does
}

// Key describes one key.
type Key struct {
	Text
	Type  string // such as "number"
	Value any    // what the struct has
}

// Kind is what a type implements that is written as a string of a certain form.
type Kind interface{ Kind() string }

// Of returns the keys of v, a struct with toml tags, in the order of its fields.
// A key without a text has none in About.
func Of(v any, texts []Text) []Key {
	list := walk("", reflect.ValueOf(v))
	for i := range list {
		for _, text := range texts {
			if text.Key == list[i].Key {
				list[i].Text = text
			}
		}
	}
	return list
}

func walk(prefix string, v reflect.Value) (list []Key) {
	for i := range v.NumField() {
		field, name := v.Field(i), prefix+v.Type().Field(i).Tag.Get("toml")
		switch {
		case field.Kind() == reflect.Struct:
			list = append(list, walk(name+".", field)...)
		case field.Kind() == reflect.Map && field.Type().Elem().Kind() == reflect.Struct:
			list = append(list, walk(name+".NAME.", reflect.Zero(field.Type().Elem()))...)
		case field.Kind() == reflect.Map:
			list = append(list, Key{Text: Text{Key: name + ".NAME"}, Type: kind(field.Type().Elem())})
		default:
			list = append(list, Key{Text: Text{Key: name}, Type: kind(field.Type()), Value: field.Interface()})
		}
	}
	return list
}

func kind(t reflect.Type) string {
	if own, is := reflect.Zero(t).Interface().(Kind); is {
		return own.Kind()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kind(t.Elem())
	case reflect.Slice:
		return "list of " + kind(t.Elem()) + "s"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "string"
	}
	return "number"
}

// Takes says which values the key takes: its type, or the words that there are.
func (k Key) Takes() string {
	if len(k.Values) == 0 {
		return k.Type
	}
	quoted := make([]string, len(k.Values))
	for i, value := range k.Values {
		quoted[i] = TOML(value)
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

// TOML returns a value as one writes it into a file.
func TOML(value any) string {
	if own, is := value.(encoding.TextMarshaler); is {
		text, err := own.MarshalText()
		if err != nil {
			return err.Error()
		}
		return TOML(string(text))
	}
	switch v := value.(type) {
	case string:
		if strings.Contains(v, `\`) && !strings.ContainsAny(v, "'\n") {
			return "'" + v + "'"
		}
		quoted, err := json.Marshal(v) // each JSON string is one of TOML
		if err != nil {
			return err.Error()
		}
		return string(quoted)
	case []string:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = TOML(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(value)
}
