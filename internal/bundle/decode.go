package bundle

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// Decode reads one bundle, of MaxBytes at most, and stops at the first fault. If the
// document says what its digest is, that must match. The error is an *Error.
func Decode(raw []byte) (Bundle, error) {
	tree, err := parse(bytes.NewReader(raw))
	if err != nil {
		return Bundle{}, err
	}
	top, ok := tree.(map[string]any)
	if !ok {
		return Bundle{}, invalid("document", "must be an object")
	}
	b, err := read(top)
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return Bundle{}, err
	}
	if sum := b.Sum(); b.Digest != "" && b.Digest != sum {
		return Bundle{}, &Error{Kind: ErrDigest, Field: "digest", Text: "it says " + b.Digest + ", and the content has " + sum}
	}
	return b, nil
}

func read(top map[string]any) (b Bundle, err error) {
	var schema int64
	var provenance map[string]any
	var profiles map[string]any
	var declarations []any
	f := fields{"", top, nil}
	f.integer("schema", &schema)
	if f.err == nil && schema != schemaVersion {
		return b, invalid("schema", "is %d, and this version of middleman reads %d: use a newer version, or make the bundle again", schema, schemaVersion)
	}
	f.text("id", &b.ID)
	f.integer("revision", &b.Revision)
	f.text("workspace", &b.Workspace)
	f.text("created", &b.Created)
	f.object("provenance", &provenance)
	f.object("profiles", &profiles)
	f.list("declarations", &declarations)
	f.text("digest", &b.Digest)
	f.text("stored", &b.Stored)
	if err := f.done(); err != nil {
		return b, err
	}
	if b.Provenance, err = readProvenance(provenance); err != nil {
		return b, err
	}
	for i, item := range declarations {
		d, err := readDeclaration(fmt.Sprintf("declarations[%d]", i), item)
		if err != nil {
			return b, err
		}
		b.Declarations = append(b.Declarations, d)
	}
	b.Profiles = map[string]Profile{}
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		if b.Profiles[name], err = readProfile(join("profiles", name), profiles[name]); err != nil {
			return b, err
		}
	}
	return b, nil
}

func readProvenance(m map[string]any) (p Provenance, err error) {
	f := fields{"provenance", m, nil}
	f.text("author", &p.Author)
	f.text("tool", &p.Tool)
	f.text("source", &p.Source)
	f.text("commit", &p.Commit)
	return p, f.done()
}

func readDeclaration(field string, item any) (d Declaration, err error) {
	m, ok := item.(map[string]any)
	if !ok {
		return d, invalid(field, "must be an object with ref")
	}
	var ref string
	f := fields{field, m, nil}
	f.text("ref", &ref)
	f.text("env", &d.Env)
	f.flag("write", &d.Write)
	f.flag("optional", &d.Optional)
	if err := f.done(); err != nil {
		return d, err
	}
	d.Ref, err = ParseRef(ref)
	return d, inField(field+".ref", err)
}

func readProfile(field string, item any) (p Profile, err error) {
	m, ok := item.(map[string]any)
	if !ok {
		return p, invalid(field, "must be an object with command")
	}
	f := fields{field, m, nil}
	for key, into := range map[string]*[]string{
		"command": &p.Command, "prompt": &p.Prompt, "identify": &p.Identify, "resume": &p.Resume, "env": &p.Env, "spawn": &p.Spawn, "uses": &p.Uses,
		"stop": &p.Stop,
	} {
		f.texts(key, into)
	}
	f.text("like", &p.Like)
	f.text("submit", &p.Submit)
	f.text("sandbox", &p.Sandbox)
	f.text("grace", &p.Grace)
	f.flag("approvals", &p.Approvals)
	if err := f.done(); err != nil {
		return p, err
	}
	for i, use := range p.Uses {
		ref, err := ParseRef(use)
		if err != nil {
			return p, inField(fmt.Sprintf("%s.uses[%d]", field, i), err)
		}
		p.Uses[i] = ref.String()
	}
	return p, nil
}

// fields takes the values out of an object. It keeps the first error.
type fields struct {
	path string
	m    map[string]any
	err  error
}

// take returns the value of a key and removes it, nil if there is none.
func take[T any](f *fields, key, kind string, into *T) {
	value, there := f.m[key]
	delete(f.m, key)
	if !there || f.err != nil {
		return
	}
	typed, ok := value.(T)
	if !ok {
		f.err = invalid(join(f.path, key), "must be %s", kind)
		return
	}
	*into = typed
}

func (f *fields) text(key string, into *string)           { take(f, key, "a text", into) }
func (f *fields) integer(key string, into *int64)         { take(f, key, "an integer", into) }
func (f *fields) flag(key string, into *bool)             { take(f, key, "true or false", into) }
func (f *fields) list(key string, into *[]any)            { take(f, key, "a list", into) }
func (f *fields) object(key string, into *map[string]any) { take(f, key, "an object", into) }

func (f *fields) texts(key string, into *[]string) {
	var items []any
	f.list(key, &items)
	for i, item := range items {
		text, ok := item.(string)
		if !ok && f.err == nil {
			f.err = invalid(fmt.Sprintf("%s[%d]", join(f.path, key), i), "must be a text")
		}
		*into = append(*into, text)
	}
}

// done returns the first error. What was not taken is a field that this version does
// not know.
func (f *fields) done() error {
	if f.err != nil {
		return f.err
	}
	for _, key := range slices.Sorted(maps.Keys(f.m)) {
		return invalid(join(f.path, key), "is not a field that schema %d has", schemaVersion)
	}
	return nil
}
