package client

import (
	"fmt"
	"reflect"

	"middleman/internal/api"
	"middleman/internal/bundle"
	"middleman/terminal"
)

// checkIDs returns an error if any part of a server's answer has an invalid id:
// ids become file names and parts of URLs.
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
		if err := checkBundle(v.Interface()); err != nil {
			return err
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

// checkBundle refuses a bundle whose id or digest is not valid, if part is one.
func checkBundle(part any) error {
	id, digest := "", ""
	switch x := part.(type) {
	case api.Bundle:
		id, digest = x.ID, x.Digest
	case api.Availability:
		id, digest = x.ID, x.Digest
	}
	if id != "" && !bundle.ValidID(id) || digest != "" && !bundle.ValidDigest(digest) {
		return fmt.Errorf("%q@%q does not name a bundle", id, digest)
	}
	return nil
}

// idsOf returns the ids in a part of an answer; "" for one that is not set.
func idsOf(part any) []string {
	switch x := part.(type) {
	case api.Workspace:
		return []string{x.ID, x.Parent, x.ParentSession}
	case api.Session:
		return []string{x.ID, x.WorkspaceID, x.Parent}
	case api.Approval:
		return []string{x.ID, x.SessionID, x.WorkspaceID}
	case api.Match:
		return []string{x.SessionID}
	case api.Transcripts:
		return []string{x.WorkspaceID}
	case api.Event:
		return []string{x.ID}
	case api.NoticeItem:
		return []string{x.Session, x.Workspace}
	case api.Worker:
		return []string{x.ID, x.WorkspaceID, x.ParentSession, x.ParentWorkspace}
	}
	return nil
}
