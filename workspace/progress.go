package workspace

import (
	"fmt"
	"time"
)

// tellEvery is how often at most a stage says how far it is.
const tellEvery = 300 * time.Millisecond

// countEvery is after how many files it is looked whether to tell.
const countEvery = 100

// Progress is told of each stage, synchronously. A stage that runs and has a
// Detail was told before: it is that far.
type Progress func(Stage)

func (p Progress) orSilent() Progress {
	if p == nil {
		return func(Stage) {}
	}
	return p
}

// stage runs do as a stage: it reports its start and its end.
func (p Progress) stage(name string, do func() error) error {
	return p.detailed(name, func() (string, error) { return "", do() })
}

// detailed is stage for what has something to say when it is done.
func (p Progress) detailed(name string, do func() (detail string, err error)) error {
	p(Stage{Name: name, State: "running", Time: time.Now().UTC()})
	detail, err := do()
	if err != nil {
		p(Stage{Name: name, State: "failed", Detail: err.Error(), Time: time.Now().UTC()})
		return err
	}
	p.done(name, detail)
	return nil
}

// advancing is detailed for what can say meanwhile how far it is; tell may be
// called as often as one likes, and passes on a few a second.
func (p Progress) advancing(name string, do func(tell func(string)) (detail string, err error)) error {
	var last time.Time
	tell := func(how string) {
		if now := time.Now(); now.Sub(last) >= tellEvery {
			last = now
			p(Stage{Name: name, State: "running", Detail: how, Time: now.UTC()})
		}
	}
	return p.detailed(name, func() (string, error) { return do(tell) })
}

// silently is tell for what nobody waits for.
func silently(string) {}

// countFiles is tell for what goes through files one by one.
func countFiles(tell func(string), total int) (one func()) {
	done := 0
	return func() {
		if done++; done%countEvery == 0 {
			tell(fmt.Sprintf("%d of %d", done, total))
		}
	}
}

func (p Progress) done(name, detail string) {
	p(Stage{Name: name, State: "done", Detail: detail, Time: time.Now().UTC()})
}
