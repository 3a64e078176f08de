package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// archive writes files below one directory called name: a .zip for Windows, else
// a .tar.gz.
func (r *release) archive(out, name string, t target, files []file) (err error) {
	write, suffix := r.writeTar, ".tar.gz"
	if t.os == "windows" {
		write, suffix = r.writeZip, ".zip"
	}
	f, err := os.Create(filepath.Join(out, name+suffix))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f, name, files)
}

func (r *release) writeTar(w io.Writer, name string, files []file) error {
	zipped, err := gzip.NewWriterLevel(w, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zipped)
	for _, dir := range directories(name, files) {
		header := &tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: r.time, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
	}
	for _, f := range files {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: name + "/" + f.to, Mode: int64(f.mode), Size: int64(len(content)), ModTime: r.time, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// directories returns the directories that files are in, below one called name and
// with it, sorted. Without an entry of its own a directory gets what the umask of who
// unpacks it leaves.
func directories(name string, files []file) []string {
	dirs := map[string]bool{name + "/": true}
	for _, f := range files {
		for dir := path.Dir(f.to); dir != "."; dir = path.Dir(dir) {
			dirs[name+"/"+dir+"/"] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

func (r *release) writeZip(w io.Writer, name string, files []file) error {
	archive := zip.NewWriter(w)
	for _, f := range files {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: name + "/" + f.to, Method: zip.Deflate, Modified: r.time}
		header.SetMode(f.mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

const sums = "SHA256SUMS"

// writeSums writes the digest of each file in dir, as `sha256sum -c` reads them.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		sum, err := digest(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(filepath.Join(dir, sums), []byte(list.String()), 0o644)
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
