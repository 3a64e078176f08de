//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// outsideProbes: what a repository names outside of itself is neither read nor
// written; what it wants to run needs consent.
func outsideProbes() []probe {
	probes := []probe{
		{id: "trust/control", title: "a setup runs after consent", control: true, gain: "nothing: it shows that a setup that ran would be seen", run: trustControl},
		{id: "outside/link-in-diff", title: "a link to a file outside, in a diff", gain: "a file of the user's, in what is shown or shared", run: linkInDiff},
		{id: "outside/include", title: "a .worktreeinclude that names files outside", gain: "the user's keys, copied into a checkout that a program may read", run: func(w *world) error {
			return copiesOutside(w, ".worktreeinclude", "../secret\n../../**/secret\nlinked/secret\n/secret\n")
		}},
		{id: "outside/copy", title: "a copy list that names files outside, after consent", gain: "the user's keys, copied by a list that looks harmless", run: func(w *world) error {
			return copiesOutside(w, ".middleman.toml", "copy = [\"../secret\", \"linked/secret\", \"/secret\", \"../../**/secret\"]\n")
		}},
	}
	for _, t := range []struct{ name, title, toml string }{
		{"setup", "a setup without consent", "setup = [\"CANARY\"]\n"},
		{"teardown", "a teardown without consent", "teardown = [\"CANARY\"]\n"},
		{"env", "an environment without consent", "setup = [\"true\"]\n[env]\nPATH = \"DIR\"\nBASH_ENV = \"CANARY\"\n"},
		{"home", "a setup that would set MIDDLEMAN_HOME", "setup = [\"CANARY\"]\n[env]\nMIDDLEMAN_HOME = \"/tmp\"\n"},
		{"unknown", "a setting that there is not", "setup = [\"CANARY\"]\nbecome = \"root\"\n"},
		{"escape", "a command with an escape in it", "setup = [\"CANARY \\u001b]0;x\\u0007\"]\n"},
		{"large", "a configuration of 16 MiB", "setup = [\"CANARY\"]\n# " + strings.Repeat("x", 16<<20) + "\n"},
	} {
		probes = append(probes, probe{id: "trust/" + t.name, title: t.title, gain: "a command of the repository's, run without consent",
			run: func(w *world) error { return untrusted(w, t.toml) }})
	}
	return append(probes,
		probe{id: "trust/changed", title: "a configuration that changed after the consent", gain: "another command under an old consent", run: changedAfterConsent},
		probe{id: "trust/other-repository", title: "the same content in another repository", gain: "a consent taken along to a repository of the attacker's", run: consentElsewhere},
		probe{id: "trust/in-worktree", title: "a configuration that a program wrote into its own checkout", gain: "a command of a program's, run by the server beyond its session", run: writtenInWorktree},
		probe{id: "trust/linked", title: "a configuration that is a link", gain: "consent to what a link leads to at that moment", run: linkedConfiguration})
}

// agree agrees to the configuration as it is now, or returns why that cannot
// be; consents must.
func (r *repository) agree() output {
	var v struct{ Config struct{ Hash string } }
	o := r.run("trust", "-C", r.dir, "-n", "--json")
	if o.code != 0 {
		return o
	}
	unmarshal(o.stdout, &v)
	return r.run("trust", "-C", r.dir, "--yes", v.Config.Hash)
}

func (r *repository) consents() {
	if o := r.agree(); o.code != 0 {
		must(fmt.Errorf("agree to the configuration: %s", o))
	}
}

func (r *repository) configure(toml string) {
	text := strings.NewReplacer("CANARY", r.canary.program, "DIR", filepath.Dir(r.canary.program)).Replace(toml)
	write(r.dir+"/.middleman.toml", text)
	r.git("add", ".middleman.toml")
	r.git("commit", "-qm", "configuration")
}

func trustControl(w *world) error {
	r := w.newRepository()
	r.configure("setup = [\"CANARY\"]\n")
	r.consents()
	if o := r.begin(); o.code != 0 || r.canary.sang("setup") == nil {
		return fmt.Errorf("the setup left no trace: %s", o)
	}
	return nil
}

// untrusted: new, rm and looks run nothing, and print no escape.
func untrusted(w *world, toml string) error {
	r := w.newRepository()
	r.configure(toml)
	o := r.begin()
	if err := r.canary.sang("middleman new"); err != nil {
		return err
	}
	shown := r.run("trust", "-C", r.dir, "-n")
	if strings.Contains(o.all()+shown.all(), "\x1b]0;") {
		return fmt.Errorf("an escape is printed: %s", shown)
	}
	return r.watched(30 * time.Second)
}

func changedAfterConsent(w *world) error {
	r := w.newRepository()
	r.configure("setup = [\"true\"]\n")
	r.consents()
	r.configure("setup = [\"CANARY\"]\n")
	o := r.begin()
	if err := r.canary.sang("middleman new"); err != nil {
		return fmt.Errorf("%w: %s", err, o)
	}
	return r.watched(30 * time.Second)
}

func consentElsewhere(w *world) error {
	r := w.newRepository()
	r.configure("setup = [\"true\"]\n")
	r.consents()
	other := w.newRepository()
	other.canary = r.canary
	toml := "setup = [\"true\", \"" + r.canary.program + "\"]\n"
	r.configure(toml)
	r.consents()
	other.configure(toml)
	o := other.begin()
	if err := r.canary.sang("middleman new in another repository"); err != nil {
		return fmt.Errorf("%w: %s", err, o)
	}
	return nil
}

func writtenInWorktree(w *world) error {
	r := w.newRepository()
	r.configure("setup = [\"true\"]\n")
	r.consents()
	if o := r.begin(); o.code != 0 {
		return fmt.Errorf("new: %s", o)
	}
	write(r.tree+"/.middleman.toml", "setup = [\""+r.canary.program+"\"]\nteardown = [\""+r.canary.program+"\"]\n")
	return r.watched(30 * time.Second)
}

func linkedConfiguration(w *world) error {
	r := w.newRepository()
	write(r.dir+"-toml", "setup = [\""+r.canary.program+"\"]\n")
	must(os.Symlink(r.dir+"-toml", r.dir+"/.middleman.toml"))
	if o := r.run("trust", "-C", r.dir, "-n", "--json"); strings.Contains(o.stdout, `"hash"`) && strings.Contains(o.stdout, "canary") {
		return fmt.Errorf("it is read: %s", o)
	}
	o := r.begin()
	if err := r.canary.sang("middleman new"); err != nil {
		return fmt.Errorf("%w: %s", err, o)
	}
	return nil
}

const outsideText = "outside-secret-of-the-users"

// linkInDiff: a link is shown as one.
func linkInDiff(w *world) error {
	r := w.newRepository()
	write(r.dir+"-secret", outsideText+"\n")
	if o := r.begin(); o.code != 0 {
		return fmt.Errorf("new: %s", o)
	}
	must(os.Symlink(r.dir+"-secret", r.tree+"/shown"))
	must(os.Remove(r.tree + "/a.txt"))
	must(os.Symlink(r.dir+"-secret", r.tree+"/a.txt"))
	for _, args := range [][]string{{"diff", r.name}, {"diff", r.name, "--json"}, {"diff", r.name, "--", "shown"}, {"show", r.name}} {
		if o := r.run(args...); strings.Contains(o.all(), outsideText) {
			return fmt.Errorf("middleman %s shows it: %s", strings.Join(args, " "), o)
		}
	}
	return nil
}

// copiesOutside: nothing from outside the repository is in a new checkout.
func copiesOutside(w *world, file, text string) error {
	r := w.newRepository()
	secrets := filepath.Join(filepath.Dir(r.dir), "elsewhere")
	write(filepath.Join(filepath.Dir(r.dir), "secret"), outsideText)
	write(filepath.Join(secrets, "secret"), outsideText)
	must(os.Symlink(secrets, r.dir+"/linked"))
	write(r.dir+"/.gitignore", "linked\nsecret\n")
	write(filepath.Join(r.dir, file), text)
	r.git("add", ".gitignore", file)
	r.git("commit", "-qm", "copies")
	if file == ".middleman.toml" {
		if o := r.agree(); strings.Contains(o.stderr, "cannot be used") {
			return nil // it is refused as a whole
		}
	}
	o := r.begin()
	if r.tree == "" {
		return nil // it was refused
	}
	return filepath.WalkDir(r.tree, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if raw := must1(os.ReadFile(path)); strings.Contains(string(raw), outsideText) {
			return fmt.Errorf("%s has it: %s", path, o)
		}
		return nil
	})
}
