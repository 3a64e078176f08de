package model

import "time"

// tellEvery is how often at most a stage says how far it is.
const tellEvery = 300 * time.Millisecond

// Progress is told of each stage, synchronously. A stage that runs and has a
// Detail was told before: it is that far.
type Progress func(Stage)

// OrSilent is p, or where that is nil one that tells nobody.
func (p Progress) OrSilent() Progress {
	if p == nil {
		return func(Stage) {}
	}
	return p
}

// Stage runs do as a stage: it reports its start and its end.
func (p Progress) Stage(name string, do func() error) error {
	return p.Detailed(name, func() (string, error) { return "", do() })
}

// Detailed is Stage for what has something to say when it is done.
func (p Progress) Detailed(name string, do func() (detail string, err error)) error {
	p(Stage{Name: name, State: "running", Time: time.Now().UTC()})
	detail, err := do()
	if err != nil {
		p(Stage{Name: name, State: "failed", Detail: err.Error(), Time: time.Now().UTC()})
		return err
	}
	p.Done(name, detail)
	return nil
}

// Advancing is Detailed for what can say meanwhile how far it is; tell may be
// called as often as one likes, and passes on a few a second.
func (p Progress) Advancing(name string, do func(tell func(string)) (detail string, err error)) error {
	var last time.Time
	tell := func(how string) {
		if now := time.Now(); now.Sub(last) >= tellEvery {
			last = now
			p(Stage{Name: name, State: "running", Detail: how, Time: now.UTC()})
		}
	}
	return p.Detailed(name, func() (string, error) { return do(tell) })
}

// Done reports the end of a stage that went well.
func (p Progress) Done(name, detail string) {
	p(Stage{Name: name, State: "done", Detail: detail, Time: time.Now().UTC()})
}
