// Command dist builds what a release consists of, from the checkout in its
// working directory: for each target a static binary in an archive with man
// pages, completions and licences, for Linux a .deb and a .rpm too, for each
// binary a list of what it is made of (CycloneDX), the notes of the version, and
// SHA256SUMS over all of it.
//
// Two runs on one commit, with one version of Go, write the same bytes: paths,
// times, users and the machine's name are in none of the files. Every file has
// the time of the commit, or that of SOURCE_DATE_EPOCH.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	out := flags.String("out", "bin/dist", "the `DIRECTORY` for the results; what an earlier run left there is removed")
	list := flags.String("targets", allTargets, "the systems and architectures to build for, as `OS/ARCH,...`")
	described := flags.String("version", "", "the `VERSION`, instead of what git describe says")
	prebuilt := flags.String("prebuilt", "", "take this `BINARY` for the only target, instead of building one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	targets, err := parseTargets(*list)
	if err != nil {
		return err
	}
	if *prebuilt != "" && len(targets) != 1 {
		return fmt.Errorf("-prebuilt %s is for one target, not for %s", *prebuilt, *list)
	}
	r, err := newRelease(ctx, *described)
	if err != nil {
		return err
	}
	if err := clean(*out); err != nil {
		return err
	}
	return r.make(ctx, *out, targets, *prebuilt)
}

// make writes all results below out, SHA256SUMS last.
func (r *release) make(ctx context.Context, out string, targets []target, prebuilt string) error {
	work, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(out, "NOTES.md"), []byte(r.notes), 0o644); err != nil {
		return err
	}
	host := target{runtime.GOOS, runtime.GOARCH}
	built := func(t target) (string, error) {
		if prebuilt != "" && t == targets[0] {
			return prebuilt, nil
		}
		path := filepath.Join(work, t.os+"-"+t.arch, t.binary())
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		return path, r.build(ctx, t, path)
	}
	program, err := built(host)
	if err != nil {
		return err
	}
	texts, err := texts(ctx, program, r.described, filepath.Join(work, "texts"))
	if err != nil {
		return err
	}
	for _, t := range targets {
		binary, err := built(t)
		if err != nil {
			return err
		}
		if err := r.give(out, work, t, binary, texts); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return writeSums(out)
}

// give writes what is given out of one binary.
func (r *release) give(out, work string, t target, binary string, texts []file) error {
	if err := checkStatic(t, binary); err != nil {
		return err
	}
	made, err := readBinary(binary)
	if err != nil {
		return err
	}
	licences, err := made.licences()
	if err != nil {
		return err
	}
	path := filepath.Join(work, t.os+"-"+t.arch+"-"+thirdParty)
	if err := os.WriteFile(path, licences, 0o644); err != nil {
		return err
	}
	files := append([]file{{from: binary, to: t.binary(), mode: 0o755}, {from: path, to: thirdParty, mode: 0o644}}, texts...)
	name := "middleman_" + strings.TrimPrefix(r.described, "v") + "_" + t.os + "_" + t.arch
	if err := r.archive(out, name, t, files); err != nil {
		return err
	}
	if err := r.bom(filepath.Join(out, name+".cdx.json"), t, made); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	return r.packages(out, work, t, files)
}

// clean removes the results of an earlier run from dir. It refuses a directory
// that holds anything else.
func clean(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ours := strings.HasPrefix(e.Name(), "middleman") || e.Name() == "NOTES.md" || e.Name() == sums
		if !ours || !e.Type().IsRegular() {
			return fmt.Errorf("%s holds %s, which is no result of an earlier run: name another -out", dir, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
