package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "middleman/"

// allowed lists, for each package that others build upon, what of ours it may
// import directly.
var allowed = map[string][]string{
	"terminal":             {},
	"terminal/vt":          {},
	"terminal/host":        {"terminal"},
	"terminal/journal":     {},
	"terminal/recording":   {"terminal", "terminal/journal", "terminal/vt"},
	"terminal/ws":          {"terminal"},
	"ptyowner/wire":        {},
	"ptyowner/state":       {"internal/cgroup", "internal/fault", "internal/private", "internal/proc", "terminal", "terminal/host"},
	"internal/fault":       {},
	"internal/contain":     {"internal/plaintext"},
	"internal/proc":        {"internal/fault"},
	"internal/cgroup":      {"internal/systemd"},
	"internal/poll":        {},
	"ptyowner":             {"internal/cgroup", "internal/fault", "internal/plaintext", "internal/poll", "internal/private", "internal/systemd", "ptyowner/state", "ptyowner/wire", "terminal", "terminal/host", "terminal/journal", "terminal/recording", "terminal/vt"},
	"ptyowner/owner":       {"internal/cgroup", "internal/fault", "internal/poll", "internal/private", "internal/proc", "ptyowner/state", "ptyowner/wire", "terminal", "terminal/host", "terminal/journal", "terminal/recording", "terminal/vt"},
	"tmux":                 {"internal/fault", "internal/private", "internal/proc", "internal/systemd", "terminal", "terminal/host"},
	"workspace":            {"internal/contain", "internal/fault", "internal/git", "internal/plainfile", "internal/plaintext", "workspace/basedir", "workspace/keep", "workspace/leftover", "workspace/look", "workspace/model"},
	"workspace/leftover":   {"internal/fault", "internal/git", "internal/plaintext", "terminal", "workspace/basedir", "workspace/keep", "workspace/look", "workspace/model"},
	"workspace/keep":       {"internal/contain", "internal/fault", "internal/git", "internal/plainfile", "internal/plaintext", "workspace/basedir", "workspace/look", "workspace/model"},
	"workspace/look":       {"internal/git", "internal/memo", "internal/plaintext", "workspace/basedir", "workspace/model"},
	"workspace/basedir":    {"internal/plainfile", "internal/plaintext", "workspace/model"},
	"workspace/model":      {"internal/contain", "internal/git", "internal/plaintext"},
	"internal/git":         {"internal/contain", "internal/fault", "internal/memo", "internal/plainfile", "internal/plaintext"},
	"internal/memo":        {},
	"internal/plaintext":   {},
	"internal/store":       {"internal/fault", "internal/private", "terminal", "workspace"},
	"internal/api":         {"terminal", "workspace"},
	"internal/web":         {},
	"internal/config":      {"internal/plainfile", "internal/private"},
	"internal/private":     {},
	"internal/plainfile":   {},
	"internal/setup":       {"internal/contain", "internal/fault", "internal/private", "internal/proc"},
	"internal/repoconfig":  {"internal/plainfile"},
	"internal/systemd":     {},
	"terminal/backendtest": {"terminal", "terminal/vt"},

	"cmd/middleman/internal/cli":        {"cmd/middleman/internal/build", "cmd/middleman/internal/viewer", "internal/api", "internal/audit", "internal/client", "internal/config", "internal/plaintext", "ptyowner", "terminal", "terminal/host", "tmux", "workspace"},
	"cmd/middleman/internal/catalog":    {"cmd/middleman/internal/cli", "internal/api", "internal/client", "internal/server", "internal/store", "terminal", "workspace"},
	"cmd/middleman/internal/workers":    {"cmd/middleman/internal/catalog", "cmd/middleman/internal/cli", "internal/api", "internal/client", "internal/plaintext", "internal/server", "internal/store", "terminal"},
	"cmd/middleman/internal/sessions":   {"cmd/middleman/internal/catalog", "cmd/middleman/internal/cli", "cmd/middleman/internal/viewer", "cmd/middleman/internal/workers", "internal/api", "internal/audit", "internal/plaintext", "terminal", "terminal/recording", "tmux"},
	"cmd/middleman/internal/workspaces": {"cmd/middleman/internal/catalog", "cmd/middleman/internal/cli", "cmd/middleman/internal/viewer", "cmd/middleman/internal/workers", "internal/api", "internal/client", "internal/plaintext", "internal/server", "terminal", "workspace"},
	"cmd/middleman/internal/launch":     {"cmd/middleman/internal/catalog", "cmd/middleman/internal/cli", "cmd/middleman/internal/sessions", "cmd/middleman/internal/viewer", "cmd/middleman/internal/workers", "cmd/middleman/internal/workspaces", "internal/api", "internal/client", "internal/lease", "internal/plaintext", "terminal", "workspace"},
	"cmd/middleman/internal/admin":      {"cmd/middleman/internal/build", "cmd/middleman/internal/catalog", "cmd/middleman/internal/cli", "cmd/middleman/internal/service", "cmd/middleman/internal/workspaces", "internal/api", "internal/audit", "internal/certs", "internal/client", "internal/config", "internal/git", "internal/plaintext", "internal/private", "internal/server", "internal/store", "internal/systemd", "internal/web", "ptyowner", "terminal", "tmux", "workspace"},
	"cmd/middleman/internal/viewer":     {"internal/plaintext", "terminal", "terminal/vt"},
	"cmd/middleman/internal/service":    {"internal/systemd"},
	"cmd/middleman/internal/helper":     {"cmd/middleman/internal/build", "internal/heldport", "internal/private", "ptyowner", "tmux"},
	"cmd/middleman/internal/build":      {},
}

// unreachable lists what a package must not reach at all: an owner pulls
// neither a web server nor a database into its memory by its own imports.
var unreachable = map[string][]string{
	"terminal":         {"net/http", "database/sql"},
	"terminal/vt":      {"net/http", "database/sql", "net"},
	"ptyowner/wire":    {"net/http", "database/sql"},
	"ptyowner":         {"net/http", "database/sql"},
	"ptyowner/owner":   {"net/http", "database/sql"},
	"ptyowner/state":   {"net/http", "database/sql"},
	"internal/private": {"net/http", "database/sql"},
	"tmux":             {"net/http", "database/sql"},
	"internal/systemd": {"net/http", "database/sql"},
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

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestImportsPointDown(t *testing.T) {
	packages := listPackages(t)
	for name, may := range allowed {
		p, ok := packages[name]
		if !ok {
			t.Errorf("package %s is not there", name)
			continue
		}
		for _, path := range p.Imports {
			ours, is := strings.CutPrefix(path, module)
			if is && !slices.Contains(may, ours) {
				t.Errorf("%s imports %s: it may import %v", name, ours, may)
			}
		}
	}
	for name, never := range unreachable {
		for _, path := range never {
			if slices.Contains(packages[name].Deps, path) {
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

// hop is a row of the keystroke table: | what | `file` | `function` |.
var hop = regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`|]+)` \\| `([^`|]+)` \\|$")

// The keystroke table of ARCHITECTURE.md names what exists.
func TestKeystrokeTable(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := hop.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 8 {
		t.Fatalf("ARCHITECTURE.md has %d hops, want 8 or more", len(rows))
	}
	for _, row := range rows {
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
