package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// files makes a tree of what is in the files.
func files(of map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range of {
		m[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return m
}

func mustMeasure(t *testing.T, of map[string]string) *tree {
	t.Helper()
	measured, err := measure(files(of))
	if err != nil {
		t.Fatal(err)
	}
	return measured
}

func TestPackages(t *testing.T) {
	tree := mustMeasure(t, map[string]string{
		"a/a.go":                 "// Package a.\npackage a\n\nfunc F() {}\n",
		"a/a_test.go":            "package a\n\nfunc TestF(t *testing.T) {}\nfunc Testing() {}\nfunc ExampleF() {}\n",
		"a/testdata/x.go":        "broken",
		"a/testdata/run.txtar":   "exec x\n",
		"suite/suite.go":         "package suite\n\nimport \"testing\"\n\nvar _ testing.T\n\nfunc testOne() {}\nfunc Run() {}\n",
		"scripts/s/main.go":      "package main\n",
		"scripts/e2e/x.test.mjs": "",
		"node_modules/x/x.go":    "broken",
		".git/x.go":              "broken",
		"README.md":              "",
	})
	want := []pkg{
		{path: "a", kind: product, files: 1, lines: 4, code: 2, testLines: 5, exported: names{funcs: 1}, tests: []string{"ExampleF", "TestF", "run.txtar"}},
		{path: "scripts/e2e", kind: script, tests: []string{"x.test.mjs"}},
		{path: "scripts/s", kind: script, files: 1, lines: 1, code: 1},
		{path: "suite", kind: helper, files: 1, lines: 8, code: 5, tests: []string{"testOne"}},
	}
	if len(tree.packages) != len(want) {
		t.Fatalf("%d packages, want %d", len(tree.packages), len(want))
	}
	for i, w := range want {
		got := *tree.packages[i]
		if !slices.Equal(got.tests, w.tests) {
			t.Errorf("%s has the tests %v, want %v", w.path, got.tests, w.tests)
		}
		got.tests, w.tests = nil, nil
		if got.path != w.path || got.kind != w.kind || got.files != w.files || got.lines != w.lines || got.code != w.code ||
			got.testLines != w.testLines || got.exported != w.exported {
			t.Errorf("measured %+v, want %+v", got, w)
		}
	}
}

func TestABrokenFileIsAnError(t *testing.T) {
	if _, err := measure(files(map[string]string{"a/a.go": "package"})); err == nil || !strings.Contains(err.Error(), "a/a.go") {
		t.Errorf("a file that cannot be parsed is the error %v", err)
	}
}

func TestExported(t *testing.T) {
	tests := []struct {
		name, in string
		want     names
	}{
		{"function", "func F() {}\nfunc f() {}", names{funcs: 1}},
		{"method", "type T struct{}\nfunc (*T) M() {}\nfunc (t T) m() {}", names{types: 1, methods: 1}},
		{"method of a type that is not exported", "type t struct{}\nfunc (t) M() {}", names{}},
		{"method of a generic type", "type T[K any] struct{}\nfunc (*T[K]) M() {}", names{types: 1, methods: 1}},
		{"fields", "type T struct {\n\tA, B int\n\tc int\n}", names{types: 1, fields: 2}},
		{"fields of a field", "type T struct {\n\tA struct { B, c int }\n}", names{types: 1, fields: 2}},
		{"fields of a type that is not exported", "type t struct { A int }", names{}},
		{"interface", "type T interface {\n\tM()\n\tn()\n}", names{types: 1, methods: 1}},
		{"values", "const A, b = 1, 2\nvar (\n\tC int\n\td int\n)", names{consts: 1, vars: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := mustMeasure(t, map[string]string{"a/a.go": "package a\n" + test.in + "\n"})
			if got := tree.packages[0].exported; got != test.want {
				t.Errorf("exported %+v, want %+v", got, test.want)
			}
		})
	}
	command := mustMeasure(t, map[string]string{"a/a.go": "package main\nfunc F() {}\n"})
	if n := command.packages[0].exported.total(); n != 0 {
		t.Errorf("a command exports %d names", n)
	}
}

func TestFunctions(t *testing.T) {
	tree := mustMeasure(t, map[string]string{
		"a/a.go":      "package a\n\nfunc one() {}\n\nfunc (a *A[K]) two(\n\tx int,\n) {\n\tx++\n\tx++\n}\n\nfunc external()\n",
		"a/a_test.go": "package a\nfunc test() {}\n",
	})
	want := []function{{"a/a.go:3", "one", 1}, {"a/a.go:5", "A.two", 2}}
	if !slices.Equal(tree.functions, want) {
		t.Errorf("functions %v, want %v", tree.functions, want)
	}
}

func TestPercentile(t *testing.T) {
	var ten []function
	for i := range 10 {
		ten = append(ten, function{lines: i + 1})
	}
	tests := []struct {
		name string
		of   []function
		p    int
		want int
	}{
		{"median of ten", ten, 50, 5},
		{"90 of ten", ten, 90, 9},
		{"median of one", ten[:1], 50, 1},
		{"median of three", ten[:3], 50, 2},
		{"90 of eleven", append(slices.Clone(ten), function{lines: 11}), 90, 10},
	}
	for _, test := range tests {
		if got := percentile(test.of, test.p); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestPairs(t *testing.T) {
	const six = "a1\na2\na3\na4\na5\na6\n"
	body := func(lines string) string { return "package p\n\nvar _ = `\n" + lines + "`\n" }
	tests := []struct {
		name string
		a, b string
		want []pair
	}{
		{"six lines", body("x\n" + six), body(six), []pair{{place{"a/a.go", 5}, place{"a/b.go", 4}, 7}}},
		{"five lines", body("x\na1\na2\na3\na4\na5\ny\n"), body("z\na1\na2\na3\na4\na5\nw\n"), nil},
		{"blank lines, comments and indentation do not count", body("x\n" + six + "y\n"), body("\ta1\n\n// c\n  a2\na3\na4\na5\na6\nz\n"),
			[]pair{{place{"a/a.go", 5}, place{"a/b.go", 4}, 6}}},
		{"a longer run is one pair", body("x\n" + six + "a7\na8\ny\n"), body("z\n" + six + "a7\na8\nw\n"), []pair{{place{"a/a.go", 5}, place{"a/b.go", 5}, 8}}},
		{"braces are not enough", body("x\n}\n}\na1\na2\n}\n}\n\ny\n"), body("z\n}\n}\na1\na2\n}\n}\nw\n"), nil},
		{"twice in a file", body(six + "x\n" + six + "y\n"), "package p\n", []pair{{place{"a/a.go", 4}, place{"a/a.go", 11}, 6}}},
		{"imports", "package p\n\nimport (\n\t\"a\"\n\t\"b\"\n\t\"c\"\n\t\"d\"\n\t\"e\"\n)\n", "package p\n\nimport (\n\t\"a\"\n\t\"b\"\n\t\"c\"\n\t\"d\"\n\t\"e\"\n)\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := mustMeasure(t, map[string]string{"a/a.go": test.a, "a/b.go": test.b, "a/a_test.go": test.a})
			if !slices.Equal(tree.pairs, test.want) {
				t.Errorf("pairs %v, want %v", tree.pairs, test.want)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	all := []pair{{place{"a", 1}, place{"b", 1}, 6}, {place{"b", 9}, place{"b", 20}, 6}, {place{"c", 9}, place{"b", 20}, 6}}
	files, count := worst(all, 2)
	if !slices.Equal(files, []string{"b", "a"}) || count["b"] != 3 || count["a"] != 1 {
		t.Errorf("the worst are %v of %v", files, count)
	}
}

func TestDiffer(t *testing.T) {
	test := func(names ...string) string {
		var b strings.Builder
		b.WriteString("package p\n")
		for _, n := range names {
			b.WriteString("func " + n + "() {}\n")
		}
		return b.String()
	}
	tests := []struct {
		name       string
		a, b       map[string]string
		went, came []string
	}{
		{"a move is no difference",
			map[string]string{"a/x_test.go": test("TestOne")},
			map[string]string{"b/y_test.go": test("TestOne")}, nil, nil},
		{"a rename is both",
			map[string]string{"a/x_test.go": test("TestOne")},
			map[string]string{"a/x_test.go": test("TestTwo")}, []string{"a TestOne"}, []string{"a TestTwo"}},
		{"one of two of a name",
			map[string]string{"a/x_test.go": test("TestMain"), "b/x_test.go": test("TestMain")},
			map[string]string{"b/x_test.go": test("TestMain")}, []string{"a TestMain"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := mustMeasure(t, test.a), mustMeasure(t, test.b)
			if went, came := differ(a, b), differ(b, a); !slices.Equal(went, test.went) || !slices.Equal(came, test.came) {
				t.Errorf("went %v, came %v; want %v, %v", went, came, test.went, test.came)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	tree := mustMeasure(t, map[string]string{
		"a/a.go": "package a\n\nfunc F() {\n}\n", "a/a_test.go": "package a\nfunc TestF() {}\n", "scripts/s/s.go": "package main\n",
	})
	var out bytes.Buffer
	if err := printTree(&out, tree); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a          product  1      4      3     2           1\n", "\nall        product         4      3                 1\n",
		"functions 1: median 1 lines, p90 1, maximum 1 (F a/a.go:3)\n", "exported names 1: 0 types, 1 funcs,", "pairs of 6 equal lines 0\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	out.Reset()
	if err := printTests(&out, tree); err != nil || out.String() != "a TestF\n" {
		t.Errorf("the tests are %q, %v", &out, err)
	}
	out.Reset()
	if err := printComparison(&out, "A", "B", tree, mustMeasure(t, nil)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"product lines                 4           0\n", "tests that only A has: 1\n  a TestF\n", "tests that only B has: 0\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

func TestArchive(t *testing.T) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"a/a.go", "README.md", "../b.go", "a/testdata/x.txtar"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte("text"))
	}
	w.Close()
	root := filepath.Join(t.TempDir(), "root")
	if err := untar(&archive, root); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a/a.go": true, "README.md": false, "../b.go": false, "a/testdata/x.txtar": true} {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != want {
			t.Errorf("%s is extracted: %v, want %v", name, err == nil, want)
		}
	}
}

func TestArguments(t *testing.T) {
	tests := []struct {
		name           string
		rev            string
		tests, compare bool
		args           []string
	}{
		{"a word too many", "", false, false, []string{"x"}},
		{"one commit to compare", "", false, true, []string{"x"}},
		{"a revision to compare", "y", false, true, []string{"x", "z"}},
		{"an option as a commit", "--output=x", false, false, nil},
	}
	for _, test := range tests {
		var out bytes.Buffer
		if err := run(&out, t.TempDir(), test.rev, test.tests, test.compare, test.args); err == nil {
			t.Errorf("%s is no error, and prints %q", test.name, &out)
		}
	}
}
