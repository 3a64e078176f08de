package house

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Tables of the pages name files and folders that exist. Where a column is
// headed "files of `PACKAGE`", the table names each file of that package once:
// without the suffix .go, and one name for a file and its variants for single
// systems (`base` is base.go, base_unix.go and base_windows.go). The package's
// comment in doc.go and its tests are left out.
func TestTablesOfPages(t *testing.T) {
	report(t, checkTables(ourTree(t), pages(t)))
}

// pages are the pages of this repository.
func pages(t *testing.T) []string {
	t.Helper()
	all, err := fs.Glob(rootFS(t), "*.md")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := fs.Glob(rootFS(t), "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 5 || len(docs) < 2 {
		t.Fatalf("pages are missing: %v and %v", all, docs)
	}
	return append(all, docs...)
}

func checkTables(t tree, pages []string) (problems []string) {
	for _, page := range pages {
		tables, err := readTables(t.files, page)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, table := range tables {
			problems = append(problems, checkPaths(t, table)...)
			problems = append(problems, checkFileLists(t, table)...)
		}
	}
	return problems
}

// checkPaths finds paths that a table names and that do not exist. A path is
// what begins with a folder at the top of the tree.
func checkPaths(t tree, table table) (problems []string) {
	for _, row := range table.rows {
		for _, word := range quotedIn(strings.Join(row, " ")) {
			top, _, deep := strings.Cut(word, "/")
			if info, err := fs.Stat(t.files, top); !deep || err != nil || !info.IsDir() {
				continue
			}
			if found, err := fs.Glob(t.files, strings.TrimSuffix(word, "/")); err != nil || len(found) == 0 {
				problems = append(problems, fmt.Sprintf("%s: `%s` does not exist", table.page, word))
			}
		}
	}
	return problems
}

var filesOf = regexp.MustCompile("^files of `([^`]+)`$")

// checkFileLists compares the columns that list the files of a package with its
// files.
func checkFileLists(t tree, table table) (problems []string) {
	for column, head := range table.rows[0] {
		of := filesOf.FindStringSubmatch(head)
		if of == nil {
			continue
		}
		p := t.packages[of[1]]
		if p == nil {
			problems = append(problems, fmt.Sprintf("%s: %s, which is no package", table.page, head))
			continue
		}
		missing := map[string]bool{}
		for _, f := range p.files {
			missing[topic(f.name)] = true
		}
		delete(missing, "doc")
		for _, row := range table.rows[1:] {
			if column >= len(row) {
				continue
			}
			for _, word := range quotedIn(row[column]) {
				if !missing[word] {
					problems = append(problems, fmt.Sprintf("%s: `%s` is no file of `%s`, or named twice", table.page, word, of[1]))
				}
				delete(missing, word)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(missing)) {
			problems = append(problems, fmt.Sprintf("%s: no row names `%s` of `%s`", table.page, name, of[1]))
		}
	}
	return problems
}

// forSystem is the end of a file's name that is for some systems only.
var forSystem = regexp.MustCompile(`_(linux|darwin|windows|unix|other)$`)

// topic is how tables name a file.
func topic(file string) string {
	return forSystem.ReplaceAllString(strings.TrimSuffix(file, path.Ext(file)), "")
}

// hop is a row of the tables "Where do I" and "Follow a keystroke":
// | what | `file` | `function` |.
var hop = regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`|]+)` \\| `([^`|]+)` \\|$")

// Each function that ARCHITECTURE.md names in these tables is in its file, and
// the keystroke table has at least eight hops.
func TestKeystrokeTable(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Follow a keystroke\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if hops := len(hop.FindAllString(section, -1)); hops < 8 {
		t.Fatalf("ARCHITECTURE.md has %d hops below \"Follow a keystroke\", want 8 or more", hops)
	}
	for _, row := range hop.FindAllStringSubmatch(string(page), -1) {
		source, err := os.ReadFile(filepath.Join(root(t), row[1]))
		if err != nil {
			t.Errorf("hop %s: %v", row[2], err)
			continue
		}
		defined := regexp.MustCompile(`(?m)(func (\([^)]*\) )?|function |const |^\s+)` + regexp.QuoteMeta(row[2]) + `\b\s*[(=]`)
		if !defined.Match(source) {
			t.Errorf("%s does not define %s", row[1], row[2])
		}
	}
}

// Each test that SECURITY.md names for what holds is there.
func TestSecurityNamesTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+|[\\w-]+\\.txtar|[\\w.]+\\.test\\.mjs)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 20 {
		t.Fatalf("SECURITY.md names %d tests, want 20 or more", len(named))
	}
	there := map[string]bool{}
	test := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err = filepath.WalkDir(root(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == ".git" || name == "node_modules") { // .git is a file in a worktree
			return fs.SkipDir
		}
		there[entry.Name()] = true
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, found := range test.FindAllSubmatch(source, -1) {
			there[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range named {
		if !there[name[1]] {
			t.Errorf("SECURITY.md names %s, which is not there", name[1])
		}
	}
}

// Every file and directory that the pages link to is there.
func TestPagesLinkToWhatExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, page := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(root(t), page))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root(t), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}
