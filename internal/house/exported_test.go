package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// lonely are the names that are exported although no other package uses them, and
// why.
var lonely = map[string]string{}

// An exported name of an internal package is a promise to other packages. A name
// that none of them uses is not exported, except methods and fields, which may
// serve an interface, a template or JSON. Tests count as users.
func TestExportedNamesAreUsed(t *testing.T) {
	report(t, checkExported(ourTree(t), lonely))
}

func checkExported(t tree, except map[string]string) (problems []string) {
	used, err := usedElsewhere(t)
	if err != nil {
		return []string{err.Error()}
	}
	found := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		if !slices.Contains(strings.Split(dir, "/"), "internal") {
			continue
		}
		p := t.packages[dir]
		mentioned := mentions(p)
		isUsed := func(name string) bool { return used[dir+"."+name] || mentioned[name] }
		for _, file := range p.files {
			for _, names := range declared(file.ast) {
				if len(names) == 0 || slices.ContainsFunc(names, isUsed) {
					continue
				}
				name := dir + "." + names[0]
				found[name] = true
				if except[name] == "" {
					problems = append(problems, fmt.Sprintf("%s/%s: no other package uses %s: do not export it", dir, file.name, strings.Join(names, ", ")))
				}
			}
		}
	}
	return append(problems, needless(except, found)...)
}

// declared lists the exported names that a file declares at package level, one
// by one; the constants of one declaration are together.
func declared(file *ast.File) (all [][]string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				all = append(all, []string{d.Name.Name})
			}
		case *ast.GenDecl:
			var constants []string
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					all = append(all, exportedOf(spec.Name))
				case *ast.ValueSpec:
					if d.Tok == token.CONST {
						constants = append(constants, exportedOf(spec.Names...)...)
						continue
					}
					all = append(all, exportedOf(spec.Names...))
				}
			}
			all = append(all, constants)
		}
	}
	return all
}

func exportedOf(names ...*ast.Ident) (exported []string) {
	for _, name := range names {
		if name.IsExported() {
			exported = append(exported, name.Name)
		}
	}
	return exported
}

// mentions returns the names that a package's exported declarations mention in
// signatures, fields and types, and the types that its structs embed: others meet
// them without naming them.
func mentions(p *goFolder) map[string]bool {
	found := map[string]bool{}
	add := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				found[name.Name] = true
			}
			return true
		})
	}
	for _, file := range p.files {
		for _, d := range file.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() {
				add(f.Type)
			}
			d, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && v.Type != nil && len(exportedOf(v.Names...)) > 0 {
					add(v.Type)
				}
				if t, ok := spec.(*ast.TypeSpec); ok {
					for _, part := range shownParts(t) {
						add(part)
					}
				}
			}
		}
	}
	return found
}

// shownParts returns what others see of a type: the whole, or of a struct the
// exported fields. What a struct embeds they see even if its type has no exported
// name.
func shownParts(t *ast.TypeSpec) (parts []ast.Expr) {
	s, ok := t.Type.(*ast.StructType)
	if !ok && t.Name.IsExported() {
		return []ast.Expr{t.Type}
	}
	if !ok {
		return nil
	}
	for _, field := range s.Fields.List {
		if len(field.Names) == 0 || t.Name.IsExported() && len(exportedOf(field.Names...)) > 0 {
			parts = append(parts, field.Type)
		}
	}
	return parts
}

// usedElsewhere returns the names, each after its folder, that files of other
// packages use: on all systems, with all build tags, in tests and in the modules
// below this one.
func usedElsewhere(t tree) (map[string]bool, error) {
	used := map[string]bool{}
	mod, err := fs.ReadFile(t.files, "go.mod")
	if err != nil {
		return nil, err
	}
	module := string(moduleLine.FindSubmatch(mod)[1]) + "/"
	err = fs.WalkDir(t.files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && ignored(name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		source, err := fs.ReadFile(t.files, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		addUses(used, file, module)
		return nil
	})
	return used, err
}

// addUses adds the names of this module's packages that a file uses.
func addUses(used map[string]bool, file *ast.File, module string) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		of, err := strconv.Unquote(spec.Path.Value)
		dir, ok := strings.CutPrefix(of, module)
		if err != nil || !ok {
			continue
		}
		name := path.Base(dir)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = dir
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] != "" {
				used[imports[x.Name]+"."+s.Sel.Name] = true
			}
		}
		return true
	})
}

func TestExportedGuardCanFail(t *testing.T) {
	const user = "package b\n\nimport \"small/internal/a\"\n\n"
	tests := []struct {
		name, a, b string
		except     map[string]string
		want       string // "" for no problem
	}{
		{"a function that is used", "func Do() {}", user + "var _ = a.Do", nil, ""},
		{"one that is not", "func Do() {}", user + "var _ = a.Other", nil, "uses Do"},
		{"one that its own package uses", "func Do() {}\n\nvar _ = Do", "package b", nil, "uses Do"},
		{"a use that is another thing's", "func Do() {}", "package b\n\nvar a struct{ Do int }\n\nvar _ = a.Do", nil, "uses Do"},
		{"an import by another name", "func Do() {}", "package b\n\nimport c \"small/internal/a\"\n\nvar _ = c.Do", nil, ""},
		{"a type of a result", "type T int\n\nfunc Do() T { return 0 }", user + "var _ = a.Do", nil, ""},
		{"a type of a field", "type T int\n\ntype S struct{ F T }", user + "var _ a.S", nil, ""},
		{"a type of a hidden field", "type T int\n\ntype S struct{ f T }", user + "var _ a.S", nil, "uses T"},
		{"an embedded type", "type T struct{}\n\ntype s struct{ T }", "package b", nil, ""},
		{"a constant of a group", "const (\n\tA = 1\n\tB = 2\n)", user + "var _ = a.A", nil, ""},
		{"a group that nobody uses", "const (\n\tA = 1\n\tB = 2\n)", "package b", nil, "uses A, B"},
		{"a method", "type t int\n\nfunc (t) Do() {}", "package b", nil, ""},
		{"an exception", "func Do() {}", "package b", map[string]string{"internal/a.Do": "why"}, ""},
		{"an exception that is not needed", "func Do() {}", user + "var _ = a.Do", map[string]string{"internal/a.Do": "why"}, "remove its exception"},
	}
	for _, tt := range tests {
		for _, name := range []string{"b/b.go", "b/b_test.go", "b/own/go.mod"} { // the module below has the same file
			files := fstest.MapFS{
				"go.mod":          {Data: []byte("module small\n")},
				"internal/a/a.go": {Data: []byte("package a\n\n" + tt.a + "\n")},
			}
			if name == "b/own/go.mod" {
				files[name] = &fstest.MapFile{Data: []byte("module own\n")}
				name = "b/own/b.go"
			}
			files[name] = &fstest.MapFile{Data: []byte(tt.b + "\n")}
			small, err := readTree(files)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(checkExported(small, tt.except), "\n")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%s, in %s: %q, want %q", tt.name, name, got, tt.want)
			}
		}
	}
}
