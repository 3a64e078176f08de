package client

import (
	"fmt"
	"reflect"

	"middleman/internal/api"
	"middleman/terminal"
)

// checkIDs returns an error where an answer of the server's has an id that is
// none, anywhere in it: ids become names of files and parts of addresses.
func checkIDs(answer any) error { return checkValue(reflect.ValueOf(answer)) }

func checkValue(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkValue(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			if err := checkValue(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for _, id := range idsOf(v.Interface()) {
			if err := terminal.CheckID(id); id != "" && err != nil {
				return err
			}
		}
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if err := checkValue(v.Field(i)); err != nil {
				return fmt.Errorf("%s: %w", v.Type().Field(i).Name, err)
			}
		}
	}
	return nil
}

// idsOf are the ids that a part of an answer names; "" where it has none.
func idsOf(part any) []string {
	switch x := part.(type) {
	case api.Workspace:
		return []string{x.ID, x.Parent, x.ParentSession}
	case api.Session:
		return []string{x.ID, x.WorkspaceID, x.Parent}
	case api.Worker:
		return []string{x.ID, x.WorkspaceID, x.ParentSession, x.ParentWorkspace}
	}
	return nil
}
