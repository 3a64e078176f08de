package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// tree is the source of a module: each package by its folder, with tests aside.
type tree struct {
	files    fs.FS
	packages map[string]*goFolder
}

// goFolder is what one folder has of Go, for all systems and build tags.
type goFolder struct {
	files   []goFile
	imports []string // folders of this module; sorted
	lines   int
}

type goFile struct {
	name string // without the folder
	ast  *ast.File
	fset *token.FileSet
}

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// readTree reads the module whose go.mod is at the top of files. Folders that
// the go command ignores and modules below this one are left out.
func readTree(files fs.FS) (tree, error) {
	t := tree{files, map[string]*goFolder{}}
	mod, err := fs.ReadFile(files, "go.mod")
	if err != nil {
		return t, err
	}
	module := moduleLine.FindSubmatch(mod)
	if module == nil {
		return t, fmt.Errorf("go.mod names no module")
	}
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return t.skip(name)
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		return t.add(name, string(module[1])+"/")
	})
	for _, p := range t.packages {
		slices.Sort(p.imports)
		p.imports = slices.Compact(p.imports)
	}
	return t, err
}

// ignored reports whether the go command ignores a folder.
func ignored(dir string) bool {
	base := path.Base(dir)
	return dir != "." && (base == "testdata" || base == "vendor" || base == "node_modules" || base[0] == '.' || base[0] == '_')
}

func (t tree) skip(dir string) error {
	if dir == "." {
		return nil
	}
	if ignored(dir) {
		return fs.SkipDir
	}
	if _, err := fs.Stat(t.files, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t tree) add(name, module string) error {
	source, err := fs.ReadFile(t.files, name)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir, base := path.Split(name)
	dir = path.Clean(dir)
	p := t.packages[dir]
	if p == nil {
		p = &goFolder{}
		t.packages[dir] = p
	}
	p.files = append(p.files, goFile{base, file, fset})
	p.lines += strings.Count(string(source), "\n")
	for _, spec := range file.Imports {
		if of, err := strconv.Unquote(spec.Path.Value); err == nil && strings.HasPrefix(of, module) {
			p.imports = append(p.imports, strings.TrimPrefix(of, module))
		}
	}
	return nil
}

// table is a table of a page: its rows, the heads of the columns first.
type table struct {
	page string
	rows [][]string
}

var ruler = regexp.MustCompile(`^\|[-| :]+\|$`)

// readTables reads the tables of a page.
func readTables(files fs.FS, page string) (all []table, err error) {
	text, err := fs.ReadFile(files, page)
	if err != nil {
		return nil, err
	}
	inTable := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inTable = false
			continue
		}
		if !inTable {
			all = append(all, table{page: page})
			inTable = true
		}
		if ruler.MatchString(line) {
			continue
		}
		var row []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		last := &all[len(all)-1]
		last.rows = append(last.rows, row)
	}
	return all, nil
}

// quoted is what stands between backticks.
var quoted = regexp.MustCompile("`([^`]+)`")

// quotedIn lists what stands between backticks in a cell.
func quotedIn(cell string) (words []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}

var readOurs = sync.OnceValues(func() (tree, error) { return readTree(os.DirFS("../..")) })

// ourTree is the tree of this repository.
func ourTree(t *testing.T) tree {
	t.Helper()
	ours, err := readOurs()
	if err != nil {
		t.Fatal(err)
	}
	return ours
}

// report makes each problem an error of the test.
func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}
