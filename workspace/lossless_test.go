package workspace_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"middleman/workspace"
)

// Whatever is in a worktree, a forced delete and a restore change nothing of
// it: neither files nor index nor what git is in the middle of. A seed that
// failed is run alone by -run TestLossless/seed=N.
func TestLossless(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes, links and names as they are on Unix")
	}
	seeds := 25
	switch {
	case os.Getenv("MIDDLEMAN_LONG") != "":
		seeds = 300
	case testing.Short():
		seeds = 8
	}
	module := newRepo(t)
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			lossless(t, seed, module)
		})
	}
}

func lossless(t *testing.T, seed uint64, module string) {
	d := &dirtier{T: t, rand: rand.New(rand.NewPCG(seed, 0)), module: module}
	repo := newRepo(t)
	d.prepare(repo)
	m, base := newManager(t)
	r := request(repo, "w1")
	if d.chance(4) {
		r.Branch = "feature/mine"
		if d.chance(2) {
			runGit(t, repo, "branch", r.Branch) // the user's: a delete leaves it
		}
	}
	d.w = create(t, m, r)
	d.root = d.w.Root
	t.Cleanup(func() { makeWritable(base) })
	d.dirty()
	t.Logf("seed %d: %s", seed, strings.Join(d.did, ", "))
	ctx := context.Background()
	runGit(t, d.root, "status") // refreshes the index as any user does
	before, outside := d.look(), otherState(t, repo)
	loss, err := m.Delete(ctx, d.w, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if loss.Empty() || !loss.Restorable || len(loss.Unkept) != 0 {
		t.Errorf("loss %+v", loss)
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 0 {
		t.Errorf("left in the base: %v, %v", entries, err)
	}
	if d.chance(4) {
		runGit(t, repo, "gc", "-q", "--prune=now")
	}
	back, notes, err := m.Restore(ctx, d.w, nil)
	if err != nil || len(notes) != 0 || back.Branch != d.w.Branch || back.Root != d.w.Root {
		t.Fatalf("restore: %+v, %q, %v", back, notes, err)
	}
	if after := d.look(); after != before {
		t.Errorf("not as it was: %s", firstDifference(before, after))
	}
	if after := otherState(t, repo); after != outside {
		t.Errorf("elsewhere: %s", firstDifference(outside, after))
	}
	if _, err := tryGit(repo, "rev-parse", "--verify", "-q", "refs/middleman/trash/w1"); err == nil {
		t.Error("the snapshot is there still")
	}
	if d.chance(4) {
		runGit(t, repo, "fsck", "--connectivity-only", "--no-dangling")
	}
}

// makeWritable lets an ordinary user remove what is below dir.
func makeWritable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
}

// otherState is what a delete and a restore leave alone: the main checkout,
// all refs and the configuration.
func otherState(t testing.TB, repo string) string {
	config, err := os.ReadFile(repo + "/.git/config")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(config), "\n")
	slices.Sort(lines)
	return runGit(t, repo, "for-each-ref") + "\n" + strings.Join(lines, "\n") + "\n" +
		runGit(t, repo, "status", "--porcelain=v2", "--branch") + "\n" + runGit(t, repo, "stash", "list")
}

func firstDifference(a, b string) string {
	one, two := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(one), len(two)) {
		if one[i] != two[i] {
			return fmt.Sprintf("line %d is %q, was %q", i, two[i], one[i])
		}
	}
	return fmt.Sprintf("%d lines, were %d: %q, %q", len(two), len(one), one[min(len(one), len(two)):], two[min(len(one), len(two)):])
}

// dirtier makes a worktree dirty in every way, by chance.
type dirtier struct {
	*testing.T
	rand   *rand.Rand
	module string // a repository, for submodules
	// hasModule: it is one of the worktree's.
	hasModule bool
	w         workspace.Workspace
	root      string
	did       []string
}

func (d *dirtier) chance(n int) bool { return d.rand.IntN(n) == 0 }

func (d *dirtier) git(args ...string) { d.Helper(); runGit(d, d.root, args...) }

// bytes is some content: text, with CRLF or without a last line break, or
// binary, or nothing.
func (d *dirtier) bytes() string {
	switch d.rand.IntN(5) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("one %d\r\ntwo\r\n", d.rand.Int())
	case 2:
		return string([]byte{0, 0xff, byte(d.rand.IntN(256)), '\r', '\n', 0x1b})
	case 3:
		return fmt.Sprintf("no line break %d", d.rand.Int())
	}
	return fmt.Sprintf("text %d\nmore\n", d.rand.Int())
}

// names are such as are easily broken.
var names = []string{"plain", "with space", "new\nline", `qu"ote`, `back\slash`, "tab\t", "-dash", "--", "cr\r", "apo'strophe", "\xff\xfe", "ümläut", ":(top)x", "deep/er/file", "deep/other"}

func (d *dirtier) name() string {
	name := names[d.rand.IntN(len(names))]
	if d.chance(2) {
		name += fmt.Sprint(d.rand.IntN(50))
	}
	return name
}

// prepare commits what the worktree begins with.
func (d *dirtier) prepare(repo string) {
	d.root = repo
	for _, file := range []string{"same", "crlf", "bin", "mode", "gone", "moved", "both", "staged", "flag", "skip", "conflict", "new\nname"} {
		write(d, filepath.Join(repo, file), file+"\n"+d.bytes())
	}
	write(d, filepath.Join(repo, ".gitignore"), "*.secret\nbuild/\n")
	if err := os.Symlink("same", filepath.Join(repo, "link")); err != nil {
		d.Fatal(err)
	}
	if d.chance(2) {
		write(d, filepath.Join(repo, ".gitattributes"), "*.txt text eol=crlf\ncrlf text\n")
		write(d, filepath.Join(repo, "x.txt"), "1\n2\n")
	}
	d.git("add", "-A")
	if d.chance(3) {
		d.git("submodule", "--quiet", "add", d.module, "mod")
		d.hasModule = true
	}
	d.git("commit", "-q", "-m", "Begin")
	d.git("branch", "side")
}

// dirty does some of everything, and at the end starts something that git is
// then in the middle of.
func (d *dirtier) dirty() {
	steps := []struct {
		name string
		do   func()
	}{
		{"commit", d.commit}, {"amend", d.amend}, {"stage", d.stage}, {"modify", d.modify}, {"both", d.both}, {"untracked", d.untracked},
		{"ignored", d.ignored}, {"delete", d.remove}, {"rename", d.rename}, {"modes", d.modes}, {"links", d.links},
		{"directories", d.directories}, {"flags", d.flags}, {"intent", d.intent}, {"stash", d.stash}, {"upstream", d.upstream},
		{"module", d.submodule}, {"nested", d.nested}, {"worktree ref", d.worktreeRef}, {"times", d.times},
		{"directory for a file", d.replace},
	}
	progress := []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}}, {"nothing", func() {}}, {"merge", d.merge}, {"rebase", d.rebase}, {"cherry-pick", d.cherryPick},
		{"bisect", d.bisect}, {"detached", d.detach}, {"orphan", d.orphan}, {"other branch", d.otherBranch}, {"sparse", d.sparse},
		{"revert", d.revert}, {"modify/delete conflict", d.modifyDelete}, {"add/add conflict", d.addAdd}, {"rebase by patches", d.rebaseApply},
		{"stash conflict", d.stashConflict}, {"split index", func() { d.git("update-index", "--split-index") }},
		{"index v4", func() { d.git("update-index", "--index-version", "4") }},
	}
	if pick := progress[d.rand.IntN(len(progress))]; true {
		d.did = append(d.did, pick.name)
		pick.do()
	}
	d.rand.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, step := range steps[:4+d.rand.IntN(8)] {
		d.did = append(d.did, step.name)
		step.do()
	}
	d.untracked() // or it might come out clean
}

// put writes a file, unless something else has that name.
func (d *dirtier) put(name, content string) {
	path := filepath.Join(d.root, name)
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	_ = os.WriteFile(path, []byte(content), 0o644)
}

// conflicted reports whether git would not commit at the moment.
func (d *dirtier) conflicted() bool {
	return runGit(d, d.root, "ls-files", "--unmerged") != "" || exists(d.w.GitDir+"/worktrees/w1/rebase-merge")
}

func (d *dirtier) commit() {
	if !d.conflicted() {
		d.put("committed", d.bytes())
		d.git("add", "committed")
		_, _ = tryGit(d.root, "commit", "-q", "-m", "More")
	}
}

func (d *dirtier) amend() {
	if !d.conflicted() && !slices.Contains(d.did, "orphan") {
		_, _ = tryGit(d.root, "commit", "-q", "--amend", "--allow-empty", "-m", fmt.Sprint("Amended ", d.rand.Int()))
	}
}

func (d *dirtier) stage() {
	for _, name := range []string{"staged", d.name()} {
		d.put(name, d.bytes())
		_, _ = tryGit(d.root, "add", "-f", "--", ":(literal)"+name)
	}
}

func (d *dirtier) modify() {
	d.put("same", d.bytes())
	d.put("crlf", "a\r\nb\n")
	d.put("bin", d.bytes())
}

func (d *dirtier) both() {
	d.put("both", "staged\n")
	_, _ = tryGit(d.root, "add", "both")
	d.put("both", d.bytes())
}

func (d *dirtier) untracked() {
	for range 1 + d.rand.IntN(5) {
		d.put(d.name(), d.bytes())
	}
	d.put("untracked", d.bytes())
}

func (d *dirtier) ignored() {
	d.put(".env.secret", d.bytes())
	d.put("build/out", d.bytes())
	d.put("deep/a.secret", d.bytes())
}

func (d *dirtier) remove() {
	_ = os.Remove(filepath.Join(d.root, "gone"))
	if d.chance(2) {
		_, _ = tryGit(d.root, "rm", "-q", "--cached", "bin")
	}
}

func (d *dirtier) rename() { _, _ = tryGit(d.root, "mv", "moved", "-moved\xff") }

func (d *dirtier) modes() {
	_ = os.Chmod(filepath.Join(d.root, "mode"), 0o755)
	d.put("private", d.bytes())
	_ = os.Chmod(filepath.Join(d.root, "private"), 0o600)
	if d.chance(2) {
		_, _ = tryGit(d.root, "add", "mode")
		_ = os.Chmod(filepath.Join(d.root, "mode"), 0o644)
	}
}

func (d *dirtier) links() {
	_ = os.Symlink("../../none\n\xff", filepath.Join(d.root, "dangling"))
	_ = os.Symlink("/", filepath.Join(d.root, "outside"))
	_ = os.Remove(filepath.Join(d.root, "link"))
	if d.chance(2) {
		_ = os.Symlink("deep", filepath.Join(d.root, "link"))
	} else {
		d.put("link", "now a file")
	}
}

func (d *dirtier) directories() {
	for _, dir := range []string{"empty/in/side", "readonly"} {
		if err := os.MkdirAll(filepath.Join(d.root, dir), 0o750); err != nil {
			d.Fatal(err)
		}
	}
	d.put("readonly/file", "x")
	if err := os.Chmod(filepath.Join(d.root, "readonly"), 0o550); err != nil {
		d.Fatal(err)
	}
}

func (d *dirtier) flags() {
	_, _ = tryGit(d.root, "update-index", "--assume-unchanged", "flag")
	_, _ = tryGit(d.root, "update-index", "--skip-worktree", "skip")
	d.put("flag", d.bytes())
	if d.chance(2) {
		_ = os.Remove(filepath.Join(d.root, "skip"))
	}
}

func (d *dirtier) intent() {
	d.put("intended", d.bytes())
	_, _ = tryGit(d.root, "add", "-N", "intended")
}

func (d *dirtier) stash() {
	d.put("same", "to be stashed\n")
	_, _ = tryGit(d.root, "stash", "-q")
}

func (d *dirtier) upstream() {
	d.git("config", "branch."+d.w.Branch+".merge", "refs/heads/side")
	d.git("config", "branch."+d.w.Branch+".remote", ".")
}

func (d *dirtier) submodule() {
	if !d.hasModule {
		return
	}
	if _, err := tryGit(d.root, "submodule", "--quiet", "update", "--init"); err != nil || !exists(filepath.Join(d.root, "mod/.git")) {
		return
	}
	mod := filepath.Join(d.root, "mod")
	commit(d, mod, "inner", d.bytes())
	write(d, mod+"/a.txt", d.bytes())
	write(d, mod+"/new\nfile", d.bytes())
	if d.chance(2) {
		_, _ = tryGit(d.root, "add", "mod")
	}
}

func (d *dirtier) nested() {
	inner := filepath.Join(d.root, "build", "nested")
	if d.chance(2) {
		inner = filepath.Join(d.root, "nested")
	}
	runGit(d, "/", "init", "-q", inner)
	commit(d, inner, "x", d.bytes())
}

func (d *dirtier) worktreeRef() {
	blob := filepath.Join(d.root, "untracked-by-ref")
	write(d, blob, d.bytes())
	d.git("update-ref", "refs/worktree/mine", runGit(d, d.root, "commit-tree", "-m", "Held by a ref", runGit(d, d.root, "rev-parse", "main^{tree}")))
}

func (d *dirtier) times() {
	_ = os.Chtimes(filepath.Join(d.root, "same"), d.w.CreatedAt, d.w.CreatedAt.AddDate(-1, 0, 0))
}

// diverge has side and the workspace's branch change one line.
func (d *dirtier) diverge() {
	d.put("conflict", "ours\n")
	d.git("commit", "-q", "-a", "-m", "Ours")
	repo := d.w.Repository
	runGit(d, repo, "checkout", "-q", "side")
	commit(d, repo, "conflict", "theirs\n")
	commit(d, repo, "theirs", "more\n")
	runGit(d, repo, "checkout", "-q", "main")
}

func (d *dirtier) merge()      { d.diverge(); _, _ = tryGit(d.root, "merge", "-q", "side") }
func (d *dirtier) rebase()     { d.diverge(); _, _ = tryGit(d.root, "rebase", "-q", "side") }
func (d *dirtier) cherryPick() { d.diverge(); _, _ = tryGit(d.root, "cherry-pick", "side~1", "side") }

// rebaseApply is a rebase that works with patches, in another directory of git's.
func (d *dirtier) rebaseApply() {
	d.diverge()
	_, _ = tryGit(d.root, "rebase", "-q", "--apply", "side")
}

// modifyDelete and addAdd are conflicts that lack a side.
func (d *dirtier) modifyDelete() {
	d.diverge()
	d.git("rm", "-q", "conflict")
	d.git("commit", "-q", "-m", "Gone")
	_, _ = tryGit(d.root, "merge", "-q", "side")
}

func (d *dirtier) addAdd() {
	d.diverge()
	d.put("theirs", "ours\n")
	d.git("add", "theirs")
	d.git("commit", "-q", "-m", "Ours too")
	_, _ = tryGit(d.root, "merge", "-q", "side")
	_, _ = tryGit(d.root, "checkout", "-q", "--ours", "conflict")
	_, _ = tryGit(d.root, "add", "conflict") // resolved, which can be undone
}

// stashConflict leaves stages in the index though nothing is in progress.
func (d *dirtier) stashConflict() {
	d.put("same", "stashed\n")
	_, _ = tryGit(d.root, "stash", "-q")
	d.put("same", "committed\n")
	d.git("commit", "-q", "-a", "-m", "Same")
	_, _ = tryGit(d.root, "stash", "pop", "-q")
}

// replace puts a directory where a file was, and a file where one was.
func (d *dirtier) replace() {
	_ = os.Remove(filepath.Join(d.root, "both"))
	d.put("both/inside", d.bytes())
	_ = os.RemoveAll(filepath.Join(d.root, "deep"))
	d.put("deep", d.bytes())
}

func (d *dirtier) revert() {
	d.diverge()
	d.put("conflict", "other\n")
	d.git("commit", "-q", "-a", "-m", "Other")
	_, _ = tryGit(d.root, "revert", "HEAD~1")
}

func (d *dirtier) bisect() {
	d.diverge()
	d.git("bisect", "start", "HEAD", "HEAD~2")
}

func (d *dirtier) detach() {
	d.git("checkout", "-q", "--detach")
	d.git("commit", "-q", "--allow-empty", "-m", "On no branch")
}

func (d *dirtier) orphan() { d.git("checkout", "-q", "--orphan", "nobody/yet") }

func (d *dirtier) otherBranch() {
	d.git("checkout", "-q", "-b", "other")
	d.git("commit", "-q", "--allow-empty", "-m", "Elsewhere")
}

func (d *dirtier) sparse() { d.git("sparse-checkout", "set", "--cone", "sub") }

// look is all that must be the same: what git says of the worktree, its index
// with every stage and flag, git's own files, the branch's log, and every file.
func (d *dirtier) look() string {
	var b strings.Builder
	commands := [][]string{
		{"status", "--porcelain=v2", "--branch", "-z", "--ignored", "--untracked-files=all"}, {"ls-files", "--resolve-undo", "-z"},
	}
	if exists(filepath.Join(d.root, "mod/.git")) {
		commands = append(commands, []string{"submodule", "status"})
	}
	for _, args := range commands {
		out, err := tryGit(d.root, args...)
		fmt.Fprintf(&b, "%q %v\n%s\n", args, err != nil, strings.ReplaceAll(out, "\x00", "\n"))
	}
	b.WriteString(indexOf(runGit(d, d.root, "ls-files", "-s", "-v", "-f", "--debug")))
	log, err := os.ReadFile(d.w.GitDir + "/logs/refs/heads/" + d.w.Branch)
	fmt.Fprintf(&b, "%s %v\n", log, err == nil)
	b.WriteString(fingerprint(d, d.root, nil))
	b.WriteString(fingerprint(d, d.w.GitDir+"/worktrees/w1", []string{"index", "COMMIT_EDITMSG"}))
	return b.String()
}

// indexOf is what ls-files --debug says but for where the files are on the
// disk.
func indexOf(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if _, flags, is := strings.Cut(line, "\tflags: "); is {
			var set uint32
			_, _ = fmt.Sscanf(flags, "%x", &set)
			// Stage, assume-unchanged, intent-to-add, skip-worktree; the others
			// are git's own while it runs.
			fmt.Fprintf(&b, "flags %x\n", set&0x6000b000)
		} else if !strings.HasPrefix(line, "  ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// fingerprint is every file below dir with its mode and content.
func fingerprint(t testing.TB, dir string, but []string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(dir, path)
		if slices.Contains(but, below) || strings.HasSuffix(below, "/index") || strings.HasPrefix(below, "sharedindex.") {
			return nil // git refreshes it; what it says is compared otherwise
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		what := ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			what, err = os.Readlink(path)
		case info.Mode().IsRegular():
			var content []byte
			content, err = os.ReadFile(path)
			what = fmt.Sprintf("%x", sha256.Sum256(content))
			if below != ".git" {
				what += info.ModTime().String()
			}
		}
		fmt.Fprintf(&b, "%q %v %q\n", below, info.Mode(), what)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
