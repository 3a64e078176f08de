package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Canonical returns the canonical form: JSON whose names are sorted by their bytes, with
// no space between its parts; a text has \" and \\ for these two characters and all
// others as they are; numbers are integers; kinds of references are written out; a field
// with an empty value (no text, no item, false) is left out, and so are digest and
// stored. Lists keep their order.
func (b Bundle) Canonical() []byte { return encode(nil, b.tree()) }

// Sum returns the digest of the bundle: the SHA-256 of its canonical form, in
// hexadecimal. Digest and Stored do not count.
func (b Bundle) Sum() string {
	sum := sha256.Sum256(b.Canonical())
	return hex.EncodeToString(sum[:])
}

func (b Bundle) tree() map[string]any {
	profiles := map[string]any{}
	for name, p := range b.Profiles {
		profiles[name] = map[string]any{
			"command": items(p.Command), "prompt": items(p.Prompt), "identify": items(p.Identify), "resume": items(p.Resume),
			"env": items(p.Env), "spawn": items(p.Spawn), "uses": items(p.Uses), "stop": items(p.Stop),
			"like": p.Like, "submit": p.Submit, "sandbox": p.Sandbox, "grace": p.Grace, "approvals": p.Approvals,
		}
	}
	var declarations []any
	for _, d := range b.Declarations {
		declarations = append(declarations, map[string]any{"ref": d.Ref.String(), "env": d.Env, "write": d.Write, "optional": d.Optional})
	}
	return map[string]any{
		"schema": int64(schemaVersion), "id": b.ID, "revision": b.Revision, "workspace": b.Workspace, "created": b.Created,
		"provenance":   map[string]any{"author": b.Provenance.Author, "tool": b.Provenance.Tool, "source": b.Provenance.Source, "commit": b.Provenance.Commit},
		"profiles":     profiles,
		"declarations": declarations,
	}
}

func items(texts []string) []any {
	var all []any
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

// isEmpty reports whether a field with this value is left out.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, item := range v {
			if !isEmpty(item) {
				return false
			}
		}
		return true
	}
	return false
}

func encode(out []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return quote(out, v)
	case int64:
		return strconv.AppendInt(out, v, 10)
	case bool:
		return strconv.AppendBool(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = encode(out, item)
		}
		return append(out, ']')
	}
	m := value.(map[string]any)
	out = append(out, '{')
	begin := len(out)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if isEmpty(m[key]) {
			continue
		}
		if len(out) > begin {
			out = append(out, ',')
		}
		out = append(quote(out, key), ':')
		out = encode(out, m[key])
	}
	return append(out, '}')
}

func quote(out []byte, text string) []byte {
	out = append(out, '"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			out = append(out, '\\')
		}
		out = append(out, text[i])
	}
	return append(out, '"')
}

// Change is one difference between two bundles.
type Change struct {
	Field string `json:"field"`
	Old   string `json:"old,omitempty" doc:"Unset if the older content does not have the field"`
	New   string `json:"new,omitempty" doc:"Unset if the newer content does not have the field"`
}

// Diff returns what differs between two contents, by field.
func Diff(old, now Bundle) []Change {
	was, is := map[string]string{}, map[string]string{}
	flatten(was, "", old.tree())
	flatten(is, "", now.tree())
	var changes []Change
	for field, text := range was {
		if is[field] != text {
			changes = append(changes, Change{field, text, is[field]})
		}
	}
	for field, text := range is {
		if _, both := was[field]; !both {
			changes = append(changes, Change{Field: field, New: text})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Field, b.Field) })
	return changes
}

// flatten adds each value of a tree to a table. Declarations are named by what they
// refer to, so that one more is one difference.
func flatten(into map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if !isEmpty(item) {
				flatten(into, join(path, key), item)
			}
		}
	case []any:
		for i, item := range v {
			if d, ok := item.(map[string]any); ok {
				into[join(path, d["ref"].(string))] = string(encode(nil, d))
				continue
			}
			flatten(into, fmt.Sprintf("%s[%d]", path, i), item)
		}
	default:
		into[path] = string(encode(nil, v))
	}
}
