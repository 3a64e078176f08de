package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// made is what a binary is made of.
type made struct {
	digest  string // of the binary, SHA-256
	golang  string // the version of Go: go1.2.3
	modules []*debug.Module
	web     []library // in the web client
}

// library is one of the web client's, as internal/web/vendored/vendored.json
// lists them.
type library struct{ Name, Version, Licence string }

// readBinary reads what Go recorded in the binary at path, and what the web
// client of this checkout is built from.
func readBinary(path string) (*made, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &made{golang: info.GoVersion}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s: no release has that", dep.Path, dep.Replace.Path)
		}
		m.modules = append(m.modules, dep)
	}
	if m.digest, err = digest(path); err != nil {
		return nil, err
	}
	m.web, err = readLibraries("internal/web/vendored/vendored.json")
	return m, err
}

// readLibraries reads which libraries the web client is built from.
func readLibraries(path string) ([]library, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []library
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s names no libraries", path)
	}
	return list, nil
}

// bom writes the list of what a binary is made of, as CycloneDX.
func (r *release) bom(path string, t target, m *made) (err error) {
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, []byte(m.digest)).String()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: "middleman", Type: cyclonedx.ComponentTypeApplication, Name: "middleman", Version: r.described,
			Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: m.digest}},
			Properties: &[]cyclonedx.Property{{Name: "target", Value: t.String()}},
		},
	}
	parts := []cyclonedx.Component{component("golang", "std", strings.TrimPrefix(m.golang, "go"), "")}
	for _, module := range m.modules {
		c := component("golang", module.Path, module.Version, "")
		c.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: module.Sum}}
		parts = append(parts, c)
	}
	for _, l := range m.web {
		parts = append(parts, component("npm", l.Name, l.Version, l.Licence))
	}
	refs := make([]string, len(parts))
	for i, p := range parts {
		refs[i] = p.BOMRef
	}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: "middleman", Dependencies: &refs}}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func component(kind, name, version, licence string) cyclonedx.Component {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(parts[i]), "@", "%40")
	}
	purl := "pkg:" + kind + "/" + strings.Join(parts, "/") + "@" + url.PathEscape(version)
	c := cyclonedx.Component{BOMRef: purl, PackageURL: purl, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version}
	if licence != "" {
		c.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: licence}}}
	}
	return c
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-._].*)?$`)

// licences returns the licences of Go and of all modules in one text. Those of
// the web client's libraries are in the client, as licenses.txt.
func (m *made) licences() ([]byte, error) {
	var text bytes.Buffer
	text.WriteString("middleman contains these Go modules. What its web client contains, it shows at /licenses.txt.\n")
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	dirs := map[string]string{"Go " + m.golang: strings.TrimSpace(string(root))}
	if err := moduleDirs(m.modules, dirs); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(dirs))
	for name := range dirs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := appendLicences(&text, name, dirs[name]); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// moduleDirs adds to dirs where the source of each module is.
func moduleDirs(modules []*debug.Module, dirs map[string]string) error {
	if len(modules) == 0 {
		return nil // or the main module's would be asked for
	}
	args := []string{"mod", "download", "-json"}
	for _, module := range modules {
		args = append(args, module.Path+"@"+module.Version)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return fmt.Errorf("find the sources of the modules: %w", err)
	}
	for found := json.NewDecoder(bytes.NewReader(out)); found.More(); {
		var module struct{ Path, Version, Dir string }
		if err := found.Decode(&module); err != nil {
			return fmt.Errorf("find the sources of the modules: %w", err)
		}
		dirs[module.Path+" "+module.Version] = module.Dir
	}
	return nil
}

func appendLicences(text *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	any := false
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(text, "\n%s\n%s: %s\n\n%s", strings.Repeat("-", 72), name, e.Name(), content)
		any = true
	}
	if !any {
		return fmt.Errorf("%s has no licence in %s", name, dir)
	}
	return nil
}
