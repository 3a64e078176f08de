package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// bundle builds the client under root (internal/web) and returns the files of
// the build, keyed by slash path. The result depends on the sources alone.
func bundle(root string) (map[string][]byte, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	page := api.BuildOptions{
		EntryPoints: []string{"src/main.tsx"},
		EntryNames:  "assets/[name]-[hash]",
		ChunkNames:  "assets/part-[hash]", // what import() loads when it is first needed
		Splitting:   true,
		Format:      api.FormatESModule,
	}
	worker := api.BuildOptions{ // at a fixed path, and in one file
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: "src/worker.ts", OutputPath: "sw"}},
		Format:              api.FormatIIFE,
	}
	for _, o := range []api.BuildOptions{page, worker} {
		if err := compile(o, root, files); err != nil {
			return nil, err
		}
	}
	if err := addStatic(root, files); err != nil {
		return nil, err
	}
	if files["licenses.txt"], err = licences(filepath.Join(root, "vendored")); err != nil {
		return nil, err
	}
	return files, nil
}

// compile compiles an entry point and everything that it imports.
func compile(o api.BuildOptions, root string, files map[string][]byte) error {
	o.AbsWorkingDir = root
	o.Outdir = "dist"
	o.NodePaths = []string{filepath.Join(root, "vendored")}
	o.Bundle = true
	o.Target = api.ES2022
	o.Charset = api.CharsetUTF8
	o.LegalComments = api.LegalCommentsNone // they are in licenses.txt
	o.JSX = api.JSXAutomatic
	o.JSXImportSource = "preact"
	o.MinifySyntax, o.MinifyWhitespace, o.MinifyIdentifiers = true, true, true
	o.TsconfigRaw = "{}"
	result := api.Build(o)
	if len(result.Errors) > 0 {
		return errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	for _, file := range result.OutputFiles {
		name, err := filepath.Rel(filepath.Join(root, "dist"), file.Path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)] = file.Contents
	}
	return nil
}

// addStatic adds the files of static. In index.html the names of the entry
// script and its style sheet replace {{script}} and {{style}}.
func addStatic(root string, files map[string][]byte) error {
	script, style := "", ""
	for name := range files {
		switch base := path.Base(name); {
		case !strings.HasPrefix(base, "main-"):
		case path.Ext(name) == ".js":
			script = "/" + name
		case path.Ext(name) == ".css":
			style = "/" + name
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "static"))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(root, "static", entry.Name()))
		if err != nil {
			return err
		}
		if entry.Name() == "index.html" {
			page := strings.NewReplacer("{{script}}", script, "{{style}}", style).Replace(string(content))
			content = []byte(page)
		}
		files[entry.Name()] = content
	}
	return nil
}

// vendoredPackage is one entry of vendored/vendored.json.
type vendoredPackage struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Licence string            `json:"licence"`
	Files   map[string]string `json:"files"` // path: SHA-256
}

func readManifest(vendored string) ([]vendoredPackage, error) {
	content, err := os.ReadFile(filepath.Join(vendored, "vendored.json"))
	if err != nil {
		return nil, err
	}
	var packages []vendoredPackage
	if err := json.Unmarshal(content, &packages); err != nil {
		return nil, fmt.Errorf("read vendored.json: %w", err)
	}
	return packages, nil
}

// licences returns the licence texts of all vendored packages, and the notices
// that stand at the head of their files.
func licences(vendored string) ([]byte, error) {
	packages, err := readManifest(vendored)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("The web client contains these libraries.\n")
	notices := map[string]bool{} // the same one heads many files
	for _, p := range packages {
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n", strings.Repeat("-", 72), p.Name, p.Version, p.Licence)
		found := false
		for _, name := range slices.Sorted(maps.Keys(p.Files)) {
			isLicence := strings.HasPrefix(path.Base(name), "LICENSE")
			if !isLicence && path.Ext(name) != ".mjs" {
				continue
			}
			content, err := os.ReadFile(filepath.Join(vendored, p.Name, name))
			if err != nil {
				return nil, err
			}
			text := strings.TrimSpace(string(content))
			if isLicence {
				found = true
			} else if text = headNotice(text); text == "" || notices[text] {
				continue
			} else {
				notices[text] = true
			}
			fmt.Fprintf(&b, "\n%s\n", text)
		}
		if !found {
			return nil, fmt.Errorf("vendored package %s has no licence file", p.Name)
		}
	}
	return []byte(b.String()), nil
}

// headNotice returns the comments that a script begins with.
func headNotice(script string) string {
	rest := script
	for strings.HasPrefix(rest, "/*") {
		_, after, closed := strings.Cut(rest, "*/")
		if !closed {
			break
		}
		rest = strings.TrimLeft(after, " \r\n")
	}
	return strings.TrimSpace(strings.TrimSuffix(script, rest))
}
