package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	"github.com/google/licensecheck"
	"github.com/google/uuid"
)

// made is what a binary is made of.
type made struct {
	digest  string // of the binary, SHA-256
	golang  string // the version of Go: go1.2.3
	modules []*debug.Module
	dirs    map[string]string // where the source of a module is, and that of Go: by path, and as "std"
	web     []library         // in the web client
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
	if m.dirs, err = sources(m.modules); err != nil {
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
	ids, err := licenceIDs(m.dirs["std"])
	if err != nil {
		return err
	}
	parts := []cyclonedx.Component{component("golang", "std", strings.TrimPrefix(m.golang, "go"), ids...)}
	for _, module := range m.modules {
		if ids, err = licenceIDs(m.dirs[module.Path]); err != nil {
			return err
		}
		c := component("golang", module.Path, module.Version, ids...)
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

func component(kind, name, version string, licences ...string) cyclonedx.Component {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(parts[i]), "@", "%40")
	}
	purl := "pkg:" + kind + "/" + strings.Join(parts, "/") + "@" + url.PathEscape(version)
	c := cyclonedx.Component{BOMRef: purl, PackageURL: purl, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version}
	c.Licenses = &cyclonedx.Licenses{}
	for _, id := range licences {
		*c.Licenses = append(*c.Licenses, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return c
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-._].*)?$`)

// thirdParty is the file with the licences of what is not ours.
const thirdParty = "THIRD-PARTY-LICENSES.txt"

// licences returns the licences of Go, of all modules, and of the web client's
// libraries in one text.
func (m *made) licences() ([]byte, error) {
	var text bytes.Buffer
	text.WriteString("middleman contains these Go modules, and the libraries of its web client that follow them.\n")
	if err := appendLicences(&text, "Go "+m.golang, m.dirs["std"]); err != nil {
		return nil, err
	}
	for _, module := range m.modules {
		if err := appendLicences(&text, module.Path+" "+module.Version, m.dirs[module.Path]); err != nil {
			return nil, err
		}
	}
	client, err := os.ReadFile("internal/web/dist/licenses.txt")
	if err != nil {
		return nil, err
	}
	for _, l := range m.web {
		if !bytes.Contains(client, []byte("\n"+l.Name+" "+l.Version+" (")) {
			return nil, fmt.Errorf("internal/web/dist/licenses.txt says nothing of %s %s", l.Name, l.Version)
		}
	}
	fmt.Fprintf(&text, "\n%s\n%s", strings.Repeat("-", 72), client)
	return text.Bytes(), nil
}

// sources returns where the source of each module is by its path, and that of Go as
// "std".
func sources(modules []*debug.Module) (map[string]string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	dirs := map[string]string{"std": strings.TrimSpace(string(root))}
	if len(modules) == 0 {
		return dirs, nil // or the main module's would be asked for
	}
	args := []string{"mod", "download", "-json"}
	for _, module := range modules {
		args = append(args, module.Path+"@"+module.Version)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("find the sources of the modules: %w", err)
	}
	for found := json.NewDecoder(bytes.NewReader(out)); found.More(); {
		var module struct{ Path, Dir string }
		if err := found.Decode(&module); err != nil {
			return nil, fmt.Errorf("find the sources of the modules: %w", err)
		}
		dirs[module.Path] = module.Dir
	}
	return dirs, nil
}

// licenceFiles returns the texts of licences and notices in a module's directory by
// their names. One at least is there.
func licenceFiles(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		if texts[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("there is no licence in %s", dir)
	}
	return texts, nil
}

// licenceIDs returns which licences of the SPDX list are in a module's directory.
func licenceIDs(dir string) ([]string, error) {
	texts, err := licenceFiles(dir)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for name, text := range texts {
		if strings.HasPrefix(strings.ToLower(name), "patents") {
			continue // a grant beside the licence, and not of the list
		}
		for _, match := range licensecheck.Scan(text).Match {
			if !match.IsURL { // which may be that of a library of somebody's
				ids[match.ID] = true
			}
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no licence in %s is known", dir)
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

func appendLicences(text *bytes.Buffer, name, dir string) error {
	texts, err := licenceFiles(dir)
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(text, "\n%s\n%s: %s\n\n%s", strings.Repeat("-", 72), name, file, texts[file])
	}
	return nil
}
