package house

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// smallTree is a tree that keeps every rule. The tests below break it.
func smallTree() map[string]string {
	return map[string]string{
		"go.mod":                "module small\n\ngo 1.26\n",
		"Makefile":              "FAULTS  := ./a/... ./b\n",
		"a/doc.go":              "// Package a.\npackage a\n",
		"a/base.go":             "package a\n\nimport \"small/b\"\n\nvar _ = b.B\n",
		"a/base_windows.go":     "package a\n\nimport \"small/c\"\n\nvar _ = c.C\n",
		"a/run.go":              "package a\n\nfunc run() {\n\tone()\n\ttwo()\n\tthree()\n}\n",
		"a/run_test.go":         "package a\n\nimport \"small/d\"\n",
		"b/b.go":                "package b\n\nimport \"fmt\"\n\nvar B = fmt.Sprint()\n",
		"c/c.go":                "package c\n\nvar C int\n",
		"c/testdata/x.go":       "package x\n\nimport \"small/a\"\n",
		"c/bench/go.mod":        "module bench\n",
		"c/bench/b.go":          "package bench\n\nimport \"small/a\"\n",
		"node_modules/x/broken": "",
		"ARCHITECTURE.md": "# Map\n\n| folder | what | imports of ours |\n|---|---|---|\n" +
			"| `a` | all | `b`, `c` |\n| `b` | half | nothing |\n| `c` | half | nothing |\n\nText.\n\n" +
			"| hop | where |\n|---|---|\n| `key` | `a/run.go`, `c/testdata/*.go`, `/dev/null`, `text/html` |\n",
		"docs/a.md": "| topic | files of `a` |\n|---|---|\n| ground | `base`; |\n| running | `run` |\n",
	}
}

// checkSmall returns what all rules find in a tree.
func checkSmall(t *testing.T, files map[string]string, except map[string]string) []string {
	t.Helper()
	m := fstest.MapFS{}
	for name, content := range files {
		m[name] = &fstest.MapFile{Data: []byte(content)}
	}
	small, err := readTree(m)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(checkMap(small, "ARCHITECTURE.md"), checkTables(small, []string{"ARCHITECTURE.md", "docs/a.md"}),
		checkFunctions(small, 3, except), checkFiles(small, 4, nil), checkFaults(small))
}

func TestGuardsCanFail(t *testing.T) {
	replace := func(file, old, new string) func(map[string]string) {
		return func(files map[string]string) {
			if !strings.Contains(files[file], old) {
				panic(file + " has no " + old)
			}
			files[file] = strings.Replace(files[file], old, new, 1)
		}
	}
	add := func(file, content string) func(map[string]string) {
		return func(files map[string]string) { files[file] = content }
	}
	const page = "ARCHITECTURE.md"
	tests := []struct {
		name   string
		spoil  func(map[string]string)
		except map[string]string
		want   []string // each is in the problem of its place
	}{
		{"nothing", func(map[string]string) {}, nil, nil},
		{"an import that the map lacks", replace("b/b.go", `"fmt"`, "(\n\"fmt\"\n_ \"small/c\"\n)"), nil,
			[]string{"`b` imports `c`; the map says nothing"}},
		{"an import on one system", replace("a/base_windows.go", "small/c", "small/b"), nil, []string{"`a` imports `b`; the map says `b`, `c`"}},
		{"an import that is gone", replace(page, "| `b` | half | nothing |", "| `b` | half | `c` |"), nil, []string{"`b` imports nothing; the map says `c`"}},
		{"an order of its own", replace(page, "`b`, `c`", "`c`, `b`"), nil, []string{"`a` imports `b`, `c`; the map says `c`, `b`"}},
		{"words in the imports", replace(page, "half | nothing |", "half | nothing (yet) |"), nil, []string{"the map says nothing (yet)"}},
		{"a package without a row", add("e/e.go", "package e\n\nimport _ \"small/a\"\n"), nil, []string{"no row for this package: | `e` | ... | `a` |"}},
		{"a row without a folder", replace(page, "| `c` | half", "| `gone` | x | nothing |\n| `c` | half"), nil, []string{"the map has `gone`, which is no folder"}},
		{"a row twice", replace(page, "| `c` | half", "| `b` | x | nothing |\n| `c` | half"), nil, []string{"`b` is in the map twice"}},
		{"two folders in a row", replace(page, "| `c` | half", "| `b`, `c` | x | nothing |\n| `c` | half"), nil, []string{"is not one folder"}},
		{"a cell too few", replace(page, "half | nothing |", "half |"), nil, []string{"has 2 cells, want 3"}},
		{"no map", replace(page, "imports of ours", "may import"), nil, []string{"no table with the heads"}},

		{"a path that is gone", replace(page, "a/run.go", "a/walk.go"), nil, []string{"`a/walk.go` does not exist"}},
		{"a file that no row names", replace("docs/a.md", "`run`", "run"), nil, []string{"no row names `run` of `a`"}},
		{"a file that is gone", replace("docs/a.md", "`run`", "`run` `walk`"), nil, []string{"`walk` is no file of `a`, or named twice"}},
		{"a file twice", replace("docs/a.md", "`run`", "`run` `base`"), nil, []string{"`base` is no file of `a`, or named twice"}},
		{"a suffix", replace("docs/a.md", "`run`", "`run.go`"), nil, []string{"`run.go` is no file of `a`", "no row names `run` of `a`"}},
		{"files of no package", replace("docs/a.md", "files of `a`", "files of `gone`"), nil, []string{"files of `gone`, which is no package"}},
		{"no page", func(files map[string]string) { delete(files, "docs/a.md") }, nil, []string{"docs/a.md"}},

		{"a long function", replace("a/run.go", "three()", "three()\n\tfour()"), nil, []string{"run has 4 lines, want 3 at most: a/run.go:3"}},
		{"a long function with an exception", replace("a/run.go", "three()", "three()\n\tfour()"), map[string]string{"a run": "being split"}, nil},
		{"an exception that nothing needs", func(map[string]string) {}, map[string]string{"a run": "being split"}, []string{"a run keeps the rule: remove its exception"}},
		{"a long function with a reason", replace("a/run.go", "func run() {", "// run is long\n// because it counts.\nfunc run() {\n\tzero()"), nil, nil},
		{"a long function in generated code", replace("a/run.go", "package a\n\nfunc run() {", "// Code generated by x. DO NOT EDIT.\npackage a\n\nfunc run() {\n\tzero()"), nil, nil},
		{"a table in a function", replace("a/run.go", "three()", "x := []int{\n\t1,\n\t2,\n\t3,\n\t}"), nil, []string{"run has 5 lines"}},
		{"nothing but a table", replace("a/run.go", "one()\n\ttwo()\n\tthree()", "x := []int{\n\t1,\n\t2,\n\t3,\n\t}"), nil, nil},
		{"functions in a table", replace("a/run.go", "one()\n\ttwo()\n\tthree()", "x := []func(){\n\tfunc() {},\n\tfunc() {},\n\t}"), nil, []string{"run has 4 lines"}},

		{"too many files", add("a/e.go", "package a\n"), nil, []string{"no row names `e` of `a`", "a has 5 files, tests aside, want 4 at most"}},
		{"a place that no test visits", replace("a/run.go", "three()", "fault.Here(\"x/y\")"), nil, []string{"a/run.go: no test visits the place x/y"}},
		{"a place that a test visits with faults", func(files map[string]string) {
			replace("a/run.go", "three()", "fault.Error(\"x/y\")")(files)
			files["b/fault_test.go"] = "//go:build faults\n\npackage b\n\nvar _ = \"x/y\"\n"
		}, nil, nil},
		{"a place whose name a test puts together", func(files map[string]string) {
			replace("a/run.go", "three()", "fault.Error(\"x/y\")")(files)
			files["a/c/fault_test.go"] = "//go:build faults && unix\n\npackage b\n\nvar _ = \"x/\"+\"y\"\n"
		}, nil, nil},
		{"tests with faults that nothing runs", add("c/fault_test.go", "//go:build faults\n\npackage c\n"), nil, []string{"FAULTS lacks ./c"}},
		{"a place that only another test names", func(files map[string]string) {
			replace("a/run.go", "three()", "fault.Error(\"x/y\")")(files)
			files["b/b_test.go"] = "package b\n\nvar _ = \"x/y\"\n"
		}, nil, []string{"no test visits the place x/y"}},
		{"many tests", add("a/e_test.go", "package a\n"), nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := smallTree()
			test.spoil(files)
			got := checkSmall(t, files, test.except)
			if len(got) != len(test.want) {
				t.Fatalf("found %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("found %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestOverBudget(t *testing.T) {
	small := tree{packages: map[string]*goFolder{"a": {lines: 5}, "b": {lines: 6}}}
	if got, want := overBudget(small, 5), []string{"b has 6 lines, 1 over the budget of a package"}; !slices.Equal(got, want) {
		t.Errorf("over budget: %q, want %q", got, want)
	}
}

// A file that cannot be parsed, and a tree that is no module, are errors.
func TestReadTreeErrors(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"no module":    {"a/a.go": {Data: []byte("package a\n")}},
		"no name":      {"go.mod": {Data: []byte("go 1.26\n")}},
		"broken":       {"go.mod": {Data: []byte("module small\n")}, "a/a.go": {Data: []byte("package")}},
		"no go.mod up": {"a/go.mod": {Data: []byte("module small\n")}},
	} {
		if _, err := readTree(files); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}
