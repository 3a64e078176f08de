package workspace_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/workspace"
)

// modelled is a workspace as the model knows it.
type modelled struct {
	w       workspace.Workspace
	deleted bool
	work    string // the content of its file, "" for none
}

// placeModel makes, deletes and restores workspaces of few names in repositories of
// one name, at random, and knows what must be where.
type placeModel struct {
	*testing.T
	m     *workspace.Manager
	base  string
	repos []string
	all   []*modelled
	rand  *rand.Rand
}

func (p *placeModel) pick(deleted bool) *modelled {
	var of []*modelled
	for _, x := range p.all {
		if x.deleted == deleted {
			of = append(of, x)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return of[p.rand.IntN(len(of))]
}

// taken are the places of the workspaces that are recorded.
func (p *placeModel) taken() (roots []string) {
	for _, x := range p.all {
		if !x.deleted {
			roots = append(roots, x.w.Root)
		}
	}
	return roots
}

func (p *placeModel) create() string {
	r := request(p.repos[p.rand.IntN(len(p.repos))], fmt.Sprintf("w%d", len(p.all)))
	r.Name, r.Taken = []string{"fix", "login"}[p.rand.IntN(2)], p.taken()
	x := &modelled{w: create(p, p.m, r)}
	if p.rand.IntN(3) == 0 {
		x.w = earlier(p, x.w)
	}
	p.all = append(p.all, x)
	return "create " + x.w.Root
}

// step does one thing, and says what.
func (p *placeModel) step() string {
	live, gone := p.pick(false), p.pick(true)
	switch n := p.rand.IntN(8); {
	case n < 3 || live == nil:
		return p.create()
	case n == 3:
		live.work = fmt.Sprintf("work %d", p.rand.Uint64())
		write(p, live.w.Root+"/mine", live.work)
		return "write " + live.w.Root
	case n == 4:
		_, err := p.m.Delete(p.Context(), live.w, false, nil)
		if (err == nil) != (live.work == "") {
			p.Fatalf("delete of %s with %q: %v", live.w.Root, live.work, err)
		}
		if err == nil { // a clean one leaves nothing to restore
			p.all = slices.DeleteFunc(p.all, func(x *modelled) bool { return x == live })
		}
		return "delete " + live.w.Root
	case n == 5 && live.work != "":
		discard(p, p.m, live.w)
		live.deleted = true
		return "discard " + live.w.Root
	case gone != nil && n == 6:
		if _, err := p.m.Delete(p.Context(), gone.w, true, nil); err != nil {
			p.Fatal(err)
		}
		return "delete again " + gone.w.Root
	case gone != nil:
		back, _, err := p.m.Restore(p.Context(), gone.w, nil)
		if readable := filepath.Base(gone.w.Root) != gone.w.ID; err != nil || !readable && back.Root != gone.w.Root {
			p.Fatalf("restore of %s: %+v, %v", gone.w.Root, back, err)
		}
		gone.w, gone.deleted = back, false
		return "restore " + back.Root
	}
	return "nothing"
}

// check compares what there is with the model.
func (p *placeModel) check(did string) {
	p.Helper()
	want := map[string]bool{}
	for _, x := range p.all {
		if x.deleted {
			continue
		}
		want[x.w.Root] = true
		if where, err := p.m.Where(x.w); err != nil || !where.Sound() {
			p.Errorf("after %s: %s: %+v, %v", did, x.w.Root, where, err)
		}
		if text, _ := os.ReadFile(x.w.Root + "/mine"); string(text) != x.work {
			p.Errorf("after %s: %s holds %q, want %q", did, x.w.Root, text, x.work)
		}
	}
	for _, name := range strings.Fields(namesIn(p.base)) {
		path := filepath.Join(p.base, name)
		if _, err := os.Lstat(path + "/.git"); err == nil {
			if !want[path] {
				p.Errorf("after %s: there is %s", did, path)
			}
			continue
		}
		inside := strings.Fields(namesIn(path))
		if len(inside) == 0 {
			p.Errorf("after %s: %s is empty", did, path)
		}
		for _, in := range inside {
			if !want[filepath.Join(path, in)] {
				p.Errorf("after %s: there is %s/%s", did, path, in)
			}
		}
	}
	if p.Failed() {
		p.FailNow()
	}
}

// Whatever is made, deleted and restored, in whatever order, each workspace has its
// own directory with its own work, and nothing else is left in the base.
func TestPlaceModel(t *testing.T) {
	t.Parallel()
	const seeds, steps = 4, 25
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			p := &placeModel{T: t, m: m, base: base, repos: []string{repoNamed(t, "api"), repoNamed(t, "API")}, rand: rand.New(rand.NewPCG(seed, 1))}
			for range steps {
				p.check(p.step())
			}
		})
	}
}
