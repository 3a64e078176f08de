package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// unreachable lists what a package must not reach at all: an owner pulls
// neither a web server nor a database into its memory by its own imports.
var unreachable = map[string][]string{
	"terminal":         {"net/http", "database/sql"},
	"terminal/vt":      {"net/http", "database/sql", "net"},
	"ptyowner/wire":    {"net/http", "database/sql"},
	"ptyowner":         {"net/http", "database/sql"},
	"ptyowner/owner":   {"net/http", "database/sql"},
	"ptyowner/state":   {"net/http", "database/sql"},
	"internal/app":     {"net/http"},
	"internal/private": {"net/http", "database/sql"},
	"tmux":             {"net/http", "database/sql"},
	"internal/systemd": {"net/http", "database/sql"},
}

// mapHead are the columns of the map in ARCHITECTURE.md.
var mapHead = []string{"folder", "what", "imports of ours"}

// The map in ARCHITECTURE.md has a row for each package. Its last column names
// what of ours the package imports, on any system, sorted and each in
// backticks, or says "nothing". So a new import is a change of the page, which
// a reader sees.
func TestMapNamesImports(t *testing.T) {
	report(t, checkMap(ourTree(t), "ARCHITECTURE.md"))
}

// checkMap compares the map in a page with the imports.
func checkMap(t tree, page string) (problems []string) {
	rows, err := mapRows(t, page)
	if err != nil {
		return []string{err.Error()}
	}
	missing := map[string]bool{}
	for name := range t.packages {
		missing[name] = true
	}
	seen := map[string]bool{}
	for _, row := range rows {
		words := quotedIn(row[0])
		if len(words) != 1 || row[0] != "`"+words[0]+"`" {
			problems = append(problems, fmt.Sprintf("%s: %q is not one folder in backticks", page, row[0]))
			continue
		}
		name := words[0]
		if seen[name] {
			problems = append(problems, fmt.Sprintf("%s: `%s` is in the map twice", page, name))
		}
		seen[name] = true
		if info, err := fs.Stat(t.files, name); err != nil || !info.IsDir() {
			problems = append(problems, fmt.Sprintf("%s: the map has `%s`, which is no folder", page, name))
			continue
		}
		delete(missing, name)
		if want := importCell(t.packages[name]); row[2] != want {
			problems = append(problems, fmt.Sprintf("%s: `%s` imports %s; the map says %s", page, name, want, row[2]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		problems = append(problems, fmt.Sprintf("%s: the map has no row for this package: | `%s` | ... | %s |", page, name, importCell(t.packages[name])))
	}
	return problems
}

// mapRows are the rows of the map without its heads.
func mapRows(t tree, page string) ([][]string, error) {
	tables, err := readTables(t.files, page)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		if !slices.Equal(table.rows[0], mapHead) {
			continue
		}
		for _, row := range table.rows {
			if len(row) != len(mapHead) {
				return nil, fmt.Errorf("%s: the row %q has %d cells, want %d", page, row, len(row), len(mapHead))
			}
		}
		return table.rows[1:], nil
	}
	return nil, fmt.Errorf("%s has no table with the heads %q", page, mapHead)
}

// importCell is what the map has to say of a package's imports. A folder
// without Go files has none.
func importCell(p *goFolder) string {
	if p == nil || len(p.imports) == 0 {
		return "nothing"
	}
	return "`" + strings.Join(p.imports, "`, `") + "`"
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func listPackages(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	packages := make(map[string]goPackage)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[strings.TrimPrefix(p.ImportPath, module)] = p
	}
}

func TestImportsPointDown(t *testing.T) {
	packages := listPackages(t)
	for name, never := range unreachable {
		p, ok := packages[name]
		if !ok {
			t.Errorf("package %s is not there", name)
			continue
		}
		for _, path := range never {
			if slices.Contains(p.Deps, path) {
				t.Errorf("%s reaches %s", name, path)
			}
		}
	}
}

// Nobody but the binary knows both backends.
func TestBackendsMeetInTheBinary(t *testing.T) {
	for name, p := range listPackages(t) {
		if strings.HasPrefix(name, "cmd/") {
			continue
		}
		if slices.Contains(p.Imports, module+"ptyowner") && slices.Contains(p.Imports, module+"tmux") {
			t.Errorf("%s imports both backends", name)
		}
	}
}
