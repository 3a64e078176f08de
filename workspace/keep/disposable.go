package keep

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/plainfile"
)

// disposableNames are the names, in lower case, that tools give to ignored directories
// which they make again.
var disposableNames = strings.Fields(`
	node_modules bower_components .pnpm-store .yarn .next .nuxt .svelte-kit .astro .angular .turbo .parcel-cache .vite .docusaurus storybook-static
	target build dist out bin obj .build deriveddata pods carthage vendor .bundle deps _build .elixir_ls .stack-work dist-newstyle elm-stuff .lake
	.venv venv __pycache__ .tox .nox .eggs .mypy_cache .pytest_cache .ruff_cache .hypothesis .ipynb_checkpoints htmlcov coverage .nyc_output
	.gradle .kotlin .metals .bloop .dart_tool .zig-cache zig-cache zig-out .terraform .serverless cdk.out .aws-sam .vs .ccls-cache .direnv _site
	.cache cache tmp temp .tmp log logs`)

// cacheTag begins the file CACHEDIR.TAG of a directory that is a cache
// (https://bford.info/cachedir).
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55"

// disposableDir reports whether the directory at path looks like build results, a cache
// or logs: by its name, or because it says so.
func disposableDir(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	if slices.Contains(disposableNames, name) || strings.HasPrefix(name, "cmake-build-") || strings.HasSuffix(name, ".egg-info") {
		return true
	}
	if bytes.HasPrefix(start(filepath.Join(path, "CACHEDIR.TAG")), []byte(cacheTag)) {
		return true
	}
	_, err := os.Lstat(plainfile.Exact(filepath.Join(path, "pyvenv.cfg")))
	return err == nil
}

// programs are what files of compilers and linkers begin with: ELF (core dumps too),
// Mach-O, archives of objects, WebAssembly.
var programs = []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "!<arch>\n", "\x00asm"}

// disposableFile is disposableDir for a file.
func disposableFile(path string) bool {
	switch name := strings.ToLower(filepath.Base(path)); filepath.Ext(name) {
	case ".log", ".jar", ".war", ".whl", ".exe", ".dll", ".pdb":
		return true
	}
	head := start(path)
	return slices.ContainsFunc(programs, func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) })
}

// start returns what the regular file at path begins with, nothing if it cannot be read.
func start(path string) []byte {
	root, err := os.OpenRoot(plainfile.Exact(filepath.Dir(path)))
	if err != nil {
		return nil
	}
	defer root.Close()
	f, _, err := plainfile.Open(root, filepath.Base(path))
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, len(cacheTag))
	n, _ := io.ReadFull(f, head) // a short file has a short start
	return head[:n]
}
