//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// nameProbes: what a user pastes, or a program suggests, is a name and nothing
// else. CANARY stands for a program that must not run, and for a file that must
// not be written.
func nameProbes() []probe {
	probes := []probe{{id: "control", title: "a plain branch, base and name work", control: true, gain: "nothing: it shows that the refusals below are refusals",
		run: func(w *world) error {
			r := w.newRepository()
			if o := r.begin("--branch", "plain", "--base", "main"); o.code != 0 {
				return fmt.Errorf("%s", o)
			}
			if o := r.run("diff", r.name, "--", "a.txt"); o.code != 0 {
				return fmt.Errorf("%s", o)
			}
			return nil
		}}}
	values := []struct{ name, value string }{
		{"upload-pack", "--upload-pack=CANARY"}, {"exec", "--exec=CANARY"}, {"output", "--output=WRITTEN"}, {"open-files", "-OCANARY"}, {"ext-diff", "--ext-diff"}, {"config", "-ccore.fsmonitor=CANARY"},
		{"no-index", "--no-index"}, {"help", "--help"}, {"shell", "$(CANARY)"}, {"backticks", "`CANARY`"}, {"semicolon", ";CANARY;"}, {"pipe", "|CANARY"}, {"newline", "x\nCANARY"},
		{"dot-dot", "../../WRITTEN"}, {"absolute", "WRITTEN"}, {"reflog", "@{-1}"}, {"range", "main..main"}, {"path-of-commit", "HEAD:a.txt"}, {"search", ":/CANARY"}, {"pathspec", ":(exclude)CANARY"},
		{"refspec", "+refs/heads/*:refs/heads/*"}, {"ext", "ext::CANARY"}, {"pr", "pr:--upload-pack=CANARY"}, {"pr-dots", "pr:../../../heads/main"}, {"lock", "x.lock"}, {"nul", "x\\0y"},
	}
	for _, v := range values {
		for _, place := range []struct {
			name string
			args func(r *repository, value string) []string
		}{
			{"base", func(r *repository, value string) []string { return []string{"--base", value} }},
			{"branch", func(r *repository, value string) []string { return []string{"--branch", value} }},
		} {
			probes = append(probes, probe{id: place.name + "/" + v.name, title: "the " + place.name + " " + printable(v.value), gain: "an option of git's, hence a program run or a file written, by a name",
				run: func(w *world) error {
					return named(w, v.value, func(r *repository, value string) []string {
						return append([]string{"new", "-d", "--no-session", "-C", r.dir}, place.args(r, value)...)
					})
				}})
		}
	}
	for _, x := range []struct {
		name, value string
		args        func(r *repository, value string) []string
	}{
		{"diff-path-output", "--output=WRITTEN", func(r *repository, v string) []string { return []string{"diff", r.name, "--", v} }},
		{"diff-path-ext", "--ext-diff", func(r *repository, v string) []string { return []string{"diff", r.name, "--", v} }},
		{"diff-path-magic", ":(top,glob)/**", func(r *repository, v string) []string { return []string{"diff", r.name, "--", v} }},
		{"diff-path-outside", "../../../../../../etc/passwd", func(r *repository, v string) []string { return []string{"diff", r.name, "--", v} }},
		{"new-name", "../../WRITTEN", func(r *repository, v string) []string { return []string{"new", v, "-d", "--no-session", "-C", r.dir} }},
		{"new-name-absolute", "WRITTEN", func(r *repository, v string) []string { return []string{"new", v, "-d", "--no-session", "-C", r.dir} }},
		{"new-name-option", "--upload-pack=CANARY", func(r *repository, v string) []string {
			return []string{"new", "-d", "--no-session", "-C", r.dir, "--", v}
		}},
		{"rm", "../../WRITTEN", func(r *repository, v string) []string { return []string{"rm", v, "--discard-work"} }},
		{"restore", "../../WRITTEN", func(r *repository, v string) []string { return []string{"restore", v} }},
		{"capture", "../../WRITTEN", func(r *repository, v string) []string { return []string{"capture", v} }},
		{"search", "--pre=CANARY", func(r *repository, v string) []string { return []string{"search", "--", v} }},
		{"import", "--upload-pack=CANARY", func(r *repository, v string) []string { return []string{"import", "--", v} }},
		{"export", "WRITTEN", func(r *repository, v string) []string { return []string{"export", "../../x", v} }},
		{"profile", "../../CANARY", func(r *repository, v string) []string { return []string{"run", r.name, "-d", "-p", v} }},
		{"command-relative", "./planted", func(r *repository, v string) []string {
			executable(filepath.Join(r.tree, "planted"), "#!/bin/sh\nexec "+r.canary.program+"\n")
			return []string{"run", r.name, "-d", "--", v}
		}},
	} {
		probes = append(probes, probe{id: "argument/" + x.name, title: "middleman " + strings.TrimPrefix(x.name, "argument/") + " with " + x.value, gain: "a program run, or a file read or written elsewhere, by a name",
			run: func(w *world) error { return named(w, x.value, x.args) }})
	}
	return probes
}

// named runs a command with a name that is none: nothing runs, nothing is
// written elsewhere, and no branch appears that is not below the prefix or
// plainly named.
func named(w *world, value string, args func(*repository, string) []string) error {
	r := must1(w.naming())
	written := filepath.Join(w.place(), "written")
	value = strings.NewReplacer("CANARY", r.canary.program, "WRITTEN", written).Replace(value)
	if strings.Contains(value, `\0`) {
		value = strings.ReplaceAll(value, `\0`, "\x01") // no argument can hold a NUL
	}
	before := r.git("rev-parse", "main")
	given := args(r, value)
	o := collectWithin(r.command(given...), 30*time.Second)
	by := fmt.Sprintf("middleman %q", given)
	if err := r.canary.sang(by); err != nil {
		return fmt.Errorf("%w: %s", err, o)
	}
	if _, err := os.Lstat(written); err == nil && given[0] != "export" {
		return fmt.Errorf("%s wrote %s: %s", by, written, o)
	}
	if strings.Contains(o.all(), "root:x:") || strings.Contains(o.all(), "panic") || o.late {
		return fmt.Errorf("%s: %s", by, o)
	}
	if after := r.git("rev-parse", "main"); after != before {
		return fmt.Errorf("%s moved main from %s to %s", by, before, after)
	}
	for ref := range strings.FieldsSeq(r.git("for-each-ref", "--format=%(refname)")) {
		if strings.HasPrefix(ref, "refs/heads/-") || !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/middleman/") {
			return fmt.Errorf("%s made %s: %s", by, ref, o)
		}
	}
	for _, name := range []string{"data", "run", "config"} {
		if found := must1(filepath.Glob(filepath.Join(r.home, name, "*written*"))); len(found) > 0 {
			return fmt.Errorf("%s wrote %s", by, found)
		}
	}
	return nil
}
