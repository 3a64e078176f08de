package main

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const allTargets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// target is a system and an architecture, in Go's words.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// binary is the name of the program there.
func (t target) binary() string {
	if t.os == "windows" {
		return "middleman.exe"
	}
	return "middleman"
}

func parseTargets(list string) ([]target, error) {
	var targets []target
	for _, text := range strings.Split(list, ",") {
		if !slices.Contains(strings.Split(allTargets, ","), text) {
			return nil, fmt.Errorf("%q is none of %s", text, allTargets)
		}
		os, arch, _ := strings.Cut(text, "/")
		targets = append(targets, target{os, arch})
	}
	return targets, nil
}

// build compiles the program for t. Nothing of the environment takes part that
// would change the result.
func (r *release) build(ctx context.Context, t target, path string) error {
	ldflags := "-s -w -buildid= -X middleman/cmd/middleman/internal/stamp.Version=" + r.described
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", path, "./cmd/middleman")
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch,
		"CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", t, err)
	}
	return nil
}

// checkStatic refuses a program of Linux that needs a loader or libraries.
func checkStatic(t target, path string) error {
	if t.os != "linux" {
		return nil // programs of these systems always use the system's libraries
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }); i >= 0 || len(libraries) > 0 {
		return fmt.Errorf("%s is not static: it needs a loader, or %q", path, libraries)
	}
	return nil
}

// file is one that archives and packages hold.
type file struct {
	from string
	to   string // slash-separated, relative
	mode os.FileMode
}

// completions are the files of each shell.
var completions = map[string]string{"bash": "middleman.bash", "zsh": "_middleman", "fish": "middleman.fish", "powershell": "middleman.ps1"}

// packaged is added to the name of a completion file to get that of the one for packages.
const packaged = ".packaged"

// documents are the texts of the checkout that are given out, as patterns.
var documents = []string{"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "docs/*.md", "docs/*.png"}

// texts checks that the program says which version it is, writes manual and
// completions, as the program prints them, below dir, and returns them with the texts
// of the checkout, sorted.
func texts(ctx context.Context, program, described, dir string) ([]file, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	said, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil || !strings.Contains(string(said), " "+described+" ") {
		return nil, fmt.Errorf("the program says that it is %q, and not %s: %v", said, described, err)
	}
	if err := exec.CommandContext(ctx, program, "man", "--dir", filepath.Join(dir, "man")).Run(); err != nil {
		return nil, fmt.Errorf("make the man pages: %w", err)
	}
	var files []file
	for _, section := range []string{"man1", "man5"} {
		pages, err := filepath.Glob(filepath.Join(dir, "man", section, "*"))
		if err != nil || len(pages) == 0 {
			return nil, fmt.Errorf("no %s pages in %s: %v", section, dir, err)
		}
		for _, page := range pages {
			files = append(files, file{page, "man/" + section + "/" + filepath.Base(page), 0o644})
		}
	}
	for shell, name := range completions {
		path := filepath.Join(dir, name)
		if err := writeOutput(ctx, path, program, "completion", shell); err != nil {
			return nil, err
		}
		files = append(files, file{path, "completions/" + name, 0o644})
		// A package's file is read at the first Tab: it must define nothing but completions.
		if err := writeOutput(ctx, path+packaged, program, "completion", "--without-mm", shell); err != nil {
			return nil, err
		}
	}
	for _, pattern := range documents {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("there is no %s: %v", pattern, err)
		}
		for _, name := range names {
			files = append(files, file{name, filepath.ToSlash(name), 0o644})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.to, b.to) })
	return files, nil
}

// writeOutput writes what a command prints to the file at path.
func writeOutput(ctx context.Context, path, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return os.WriteFile(path, out, 0o644)
}
