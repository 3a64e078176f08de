package main

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes the .deb and the .rpm of t. They have no scripts: installing,
// upgrading and removing them starts and ends no process. Sessions and servers
// that run go on with the program that they have open.
func (r *release) packages(out, work string, t target, content []file) error {
	zipped, err := r.zipPages(filepath.Join(work, "zipped"), content)
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(out, format, t, zipped); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) pack(out, format string, t target, content []file) (err error) {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "middleman", Arch: t.arch, Platform: t.os,
		Version: r.version, VersionSchema: "none", Release: "1",
		Section: "devel", Priority: "optional", License: "MIT",
		Maintainer:      "The middleman authors <middleman@localhost>",
		Description:     "Workspaces with terminals that outlive their server\nShells and coding agents on durable terminals: a server, a web client, a command line.",
		DisableGlobbing: true,
		MTime:           r.time,
		Overridables: nfpm.Overridables{
			// What middleman runs where it is there. It does without each of them.
			Recommends: []string{"git", "tmux", "bubblewrap"},
			RPM:        nfpm.RPM{BuildHost: "localhost"},
		},
	})
	for _, f := range content {
		info.Contents = append(info.Contents, &files.Content{
			Source: f.from, Destination: installed(format, f.to), Type: kindOf(format, f.to),
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.time},
		})
	}
	for _, dir := range []string{documentation, documentation + "docs/"} { // rpm removes no others
		info.Contents = append(info.Contents, &files.Content{
			Destination: dir, Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: r.time},
		})
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return packager.Package(info, f)
}

// documentation is where a package's texts are.
const documentation = "/usr/share/doc/middleman/"

// kindOf says of a file of an archive what it is to rpm.
func kindOf(format, name string) string {
	at := installed(format, name)
	switch {
	case format != "rpm":
		return files.TypeFile
	case name == "LICENSE" || name == thirdParty:
		return files.TypeRPMLicense
	case strings.HasPrefix(at, documentation) || strings.HasPrefix(at, "/usr/share/man/"):
		return files.TypeRPMDoc
	}
	return files.TypeFile
}

// installed is where a file of an archive is in an installed system.
func installed(format, name string) string {
	switch dir, base := path.Split(name); {
	case name == "middleman":
		return "/usr/bin/middleman"
	case strings.HasPrefix(dir, "man/"):
		return "/usr/share/" + name
	case base == completions["bash"]:
		return "/usr/share/bash-completion/completions/middleman"
	case base == completions["zsh"] && format == "deb":
		return "/usr/share/zsh/vendor-completions/_middleman"
	case base == completions["zsh"]:
		return "/usr/share/zsh/site-functions/_middleman"
	case base == completions["fish"]:
		return "/usr/share/fish/vendor_completions.d/middleman.fish"
	case name == "LICENSE" && format == "deb":
		return documentation + "copyright"
	default:
		return documentation + name
	}
}

// zipPages returns files with the man pages compressed, as both kinds of packages
// have them, with the completions for packages, and without what is of no use on Linux.
func (r *release) zipPages(dir string, list []file) ([]file, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var zipped []file
	for _, f := range list {
		if path.Base(f.to) == completions["powershell"] {
			continue
		}
		if strings.HasPrefix(f.to, "man/") {
			path := filepath.Join(dir, filepath.Base(f.from)+".gz")
			if err := zipFile(f.from, path); err != nil {
				return nil, err
			}
			f.from, f.to = path, f.to+".gz"
		}
		if strings.HasPrefix(f.to, "completions/") {
			f.from += packaged
		}
		zipped = append(zipped, f)
	}
	return zipped, nil
}

func zipFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, in); err != nil {
		return err
	}
	return w.Close()
}
