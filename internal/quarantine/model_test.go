package quarantine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"middleman/internal/quarantine"
)

// Steps of the model: what a session does, and what the user does. N is a number.
var (
	insideSteps = []string{
		"echo N >fN; git add fN; git commit -qm 'inside N'", "echo N >>file; git commit -qam 'inside N'", "git commit -q --amend -m 'amended N'",
		"git reset -q --hard HEAD~1", "git switch -qc bN", "git switch -q mine", "git switch -q --detach", "echo N >s; git add s", "git stash -q -u",
		"git stash pop -q", "git tag tN", "git branch -f moving", "git branch -q -D moving", "git rebase -q main", "git merge -q --no-edit moving",
		"git gc -q --prune=now", "git rm -q --cached file", "git notes add -f -m N", "git push -q -f origin HEAD:refs/heads/pN", "git fetch -q origin",
	}
	outsideSteps = []string{
		"git -C TREE commit -q --allow-empty -m 'outside N'", "git -C REPO commit -q --allow-empty -m 'main N'", "git -C REPO branch oN", "git -C REPO branch -q -D oN",
		"git -C TREE commit -q --amend --allow-empty -m 'outside amended N'", "git -C REPO gc -q --prune=now", "git -C TREE reset -q --hard HEAD~1",
		"echo N >TREE/hN; git -C TREE add hN", "git -C TREE switch -qc hN", "git -C TREE switch -q mine", "git -C REPO tag -a -m N oN",
	}
)

// After any steps of both sides the repository is whole, no ref of the user's moved but the
// workspace's branch, and each tip of the sandbox is in the repository after an import.
func TestModel(t *testing.T) {
	seeds := 6
	if n, err := strconv.Atoi(os.Getenv("MIDDLEMAN_SEEDS")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m := &modelRun{newWorld(t), rand.New(rand.NewPCG(uint64(seed), 17)), nil}
			m.prepare(false)
			for n := range 25 {
				m.step(n)
				if t.Failed() {
					t.Fatalf("seed %d after:\n%s", seed, strings.Join(m.did, "\n"))
				}
			}
		})
	}
}

type modelRun struct {
	*world
	random *rand.Rand
	did    []string
}

func (m *modelRun) step(n int) {
	script := ""
	fill := func(step string) string {
		return strings.NewReplacer("N", strconv.Itoa(n), "TREE", m.tree, "REPO", m.repo.Dir).Replace(step)
	}
	switch k := m.random.IntN(10); {
	case k < 5:
		script = fill(insideSteps[m.random.IntN(len(insideSteps))])
		_, err := m.try(script) // some steps cannot be made in some states
		m.did = append(m.did, fmt.Sprintf("inside: %s: %v", script, err))
	case k < 7:
		script = fill(outsideSteps[m.random.IntN(len(outsideSteps))])
		err := m.outside(script)
		m.did = append(m.did, fmt.Sprintf("outside: %s: %v", script, err))
	case k < 9:
		m.did = append(m.did, "import")
		m.check()
	default:
		m.did = append(m.did, "prepare")
		m.prepare(false)
		for _, note := range m.access.Notes {
			if strings.Contains(note, "git.broken") {
				m.t.Errorf("set aside: %s", note)
			}
		}
	}
}

// check imports, and compares both sides.
func (m *modelRun) check() {
	before := m.refs()
	out := m.bring()
	if !out.Complete() || out.Submodules != nil {
		m.t.Errorf("%+v", out)
	}
	for ref := range strings.Lines(before + "\n\n" + m.refs()) {
		own := out.Branch != "" && strings.HasSuffix(ref, "refs/heads/"+out.Branch+"\n")
		if strings.Count("\n"+before+m.refs(), "\n"+ref) != 2 && ref != "\n" && (!own || out.Conflict) {
			m.t.Errorf("%s moved:\n%s\n%s", ref, before, m.refs())
		}
	}
	tips := m.run("git for-each-ref --format='%(objectname)' refs/heads refs/tags refs/notes refs/stash; git rev-parse HEAD; git write-tree 2>/dev/null || true")
	for tip := range strings.Lines(tips) {
		m.repo.Git("cat-file", "-e", strings.TrimSpace(tip))
	}
	m.repo.Git("fsck", "--no-progress", "--connectivity-only")
	if out.Conflict {
		m.repo.Git("cat-file", "-e", quarantine.RefsOf(m.w.ID)+"heads/"+out.Branch)
	}
	if left, err := filepath.Glob(filepath.Join(m.top, "quarantine", "reading*")); err != nil || left != nil {
		m.t.Errorf("left: %q, %v", left, err)
	}
}
