package bundle_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/internal/bundle"
	"middleman/internal/testenv"
)

// The script shares no code with this package, and reads what other tools write: names
// in any order, escapes, spaces, short forms of kinds, empty fields.
func TestSecondEncoderAgrees(t *testing.T) {
	node := testenv.RequireTool(t, "node")
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var in bytes.Buffer
	var want []string
	for range 100 {
		text := generate(r)
		b, err := bundle.Decode([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		want = append(want, b.Sum())
		in.WriteString(text + "\n")
	}
	cmd := exec.CommandContext(t.Context(), node, "../../scripts/bundle-digest/digest.mjs")
	cmd.Stdin = bytes.NewReader(in.Bytes())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(out))
	if len(got) != len(want) {
		t.Fatalf("%d digests", len(got))
	}
	for i, line := range strings.Split(strings.TrimSpace(in.String()), "\n") {
		if got[i] != want[i] {
			t.Errorf("%s and %s\n%s", want[i], got[i], line)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(want)))) < 90 {
		t.Error("the bundles are too much alike")
	}
}

// generate writes a bundle at random, in any of the forms that are allowed.
func generate(r *rand.Rand) string {
	words := []string{"a", "fast", `say "x"`, "漢字", "é", "👩‍💻"[:4], "-v", "x,y", "q{}", "[1]", "Ω"}
	word := func() string { return words[r.IntN(len(words))] }
	short := []string{"secret", "vault", "keyring", "secret-ref"}
	var refs []string
	var declarations []any
	for i := range r.IntN(5) {
		name := fmt.Sprintf(":s%d", i)
		refs = append(refs, name)
		declarations = append(declarations, map[string]any{"ref": short[r.IntN(4)] + name, "env": fmt.Sprintf("S%d", i), "optional": r.IntN(2) == 0})
	}
	profiles := map[string]any{}
	for i := range 1 + r.IntN(6) {
		p := map[string]any{"command": []any{"tool", word(), word()}, "approvals": false, "grace": []string{"", "5s", "1m"}[r.IntN(3)], "prompt": []any{}, "stop": []any{"C-c", "Enter"}[:r.IntN(3)]}
		var uses []any
		for _, ref := range refs {
			if r.IntN(2) == 0 {
				uses = append(uses, short[r.IntN(4)]+ref)
			}
		}
		p["uses"] = append([]any{}, uses...)
		profiles[fmt.Sprintf("p%c%d", "z.-_a"[r.IntN(5)], i)] = p
	}
	return write(r, map[string]any{
		"schema": 1, "id": fmt.Sprintf("b%d", r.IntN(1e6)), "revision": 1 + r.Int64N(1e12), "created": time.Unix(r.Int64N(4e9), 0).UTC().Format(time.RFC3339),
		"provenance": map[string]any{"author": word() + " " + word()}, "profiles": profiles, "declarations": append([]any{}, declarations...), "stored": word(),
	})
}

func write(r *rand.Rand, value any) string {
	space := func() string { return []string{"", "", " ", "\t "}[r.IntN(4)] }
	switch v := value.(type) {
	case map[string]any:
		var parts []string
		for key, item := range v { // in any order
			parts = append(parts, space()+write(r, key)+space()+":"+write(r, item))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, write(r, item)+space())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		var out strings.Builder
		for _, c := range v {
			switch {
			case c == '"' || c == '\\':
				out.WriteString(`\` + string(c))
			case c < 0x10000 && r.IntN(4) == 0:
				fmt.Fprintf(&out, []string{`\u%04x`, `\u%04X`}[r.IntN(2)], c)
			default:
				out.WriteRune(c)
			}
		}
		return `"` + out.String() + `"`
	}
	return fmt.Sprint(value)
}
