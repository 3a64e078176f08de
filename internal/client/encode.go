package client

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// encode encodes a request as JSON. A text in it that is not valid UTF-8 is an error
// which names that text: encoding/json would change it silently, and the server would
// act on another file, directory or argument than the caller named.
func encode(in any) ([]byte, error) {
	if text, wrong := notUTF8(reflect.ValueOf(in)); wrong {
		return nil, fmt.Errorf("%q is not valid UTF-8, so it cannot be sent to the server", text)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return raw, nil
}

// notUTF8 returns the first text in v that is not valid UTF-8, among those that
// encoding/json writes as texts: bytes, and what has a form of its own, it keeps.
func notUTF8(v reflect.Value) (text string, wrong bool) {
	if v.IsValid() && v.CanInterface() {
		switch v.Interface().(type) {
		case json.Marshaler, encoding.TextMarshaler:
			return "", false
		}
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return notUTF8(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return "", false // written as base64
		}
		for i := range v.Len() {
			if text, wrong = notUTF8(v.Index(i)); wrong {
				return text, true
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if text, wrong = notUTF8(key); wrong {
				return text, true
			}
			if text, wrong = notUTF8(v.MapIndex(key)); wrong {
				return text, true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == "-" || !f.IsExported() {
				continue
			}
			if text, wrong = notUTF8(v.Field(i)); wrong {
				return text, true
			}
		}
	}
	return "", false
}
