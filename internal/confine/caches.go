package confine

import (
	"path/filepath"

	"middleman/internal/environ"
	"middleman/internal/private"
	"middleman/internal/sandbox"
)

// cacheDirectory is the name of the directory of caches in that of a workspace.
const cacheDirectory = "cache"

// caches are the variables that lead programs to their caches, and the directory that
// each gets below the workspace's own.
var caches = []struct{ variable, dir string }{
	{"XDG_CACHE_HOME", "xdg"},
	{"GOCACHE", "go-build"}, {"GOLANGCI_LINT_CACHE", "golangci-lint"}, {"STATICCHECK_CACHE", "staticcheck"},
	{"CARGO_HOME", "cargo"}, {"SCCACHE_DIR", "sccache"}, {"CCACHE_DIR", "ccache"},
	{"npm_config_cache", "npm"}, {"npm_config_store_dir", "pnpm"}, {"YARN_CACHE_FOLDER", "yarn"}, {"YARN_GLOBAL_FOLDER", "yarn-global"},
	{"BUN_INSTALL_CACHE_DIR", "bun"}, {"DENO_DIR", "deno"}, {"COREPACK_HOME", "corepack"}, {"TURBO_CACHE_DIR", "turbo"},
	{"PIP_CACHE_DIR", "pip"}, {"UV_CACHE_DIR", "uv"}, {"POETRY_CACHE_DIR", "poetry"}, {"PIPENV_CACHE_DIR", "pipenv"},
	{"PRE_COMMIT_HOME", "pre-commit"}, {"RUFF_CACHE_DIR", "ruff"}, {"PYTHONPYCACHEPREFIX", "pycache"},
	{"GRADLE_USER_HOME", "gradle"}, {"NUGET_PACKAGES", "nuget"}, {"DOTNET_CLI_HOME", "dotnet"}, {"COMPOSER_HOME", "composer"},
	{"BUNDLE_USER_HOME", "bundle"}, {"MIX_HOME", "mix"}, {"HEX_HOME", "hex"}, {"STACK_ROOT", "stack"}, {"CABAL_DIR", "cabal"},
	{"ZIG_GLOBAL_CACHE_DIR", "zig"}, {"BAZELISK_HOME", "bazelisk"},
}

// goModules is the module cache of Go. Without network it stays the user's, which can
// be read.
var goModules = struct{ variable, dir string }{"GOMODCACHE", "go-mod"}

// caches gives the workspace caches of its own: what is written there is run later, and
// must not be run outside.
func (b *builder) caches() error {
	dir := filepath.Join(b.Dirs.Private(b.Workspace), cacheDirectory)
	if err := private.MakeDir(dir); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	b.policy.Writable = append(b.policy.Writable, dir)
	list := caches
	if b.Level != sandbox.Strict {
		list = append(list[:len(list):len(list)], goModules)
	}
	for _, c := range list {
		if source := b.env.Source(c.variable); source == environ.Named || source == environ.Profile || source == environ.Repository {
			continue
		}
		b.env.Set(environ.Caches, c.variable+"="+filepath.Join(dir, c.dir))
	}
	return nil
}
