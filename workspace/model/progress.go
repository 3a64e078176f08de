package model

import "time"

// tellEvery is the shortest time between two progress reports of a stage.
const tellEvery = 300 * time.Millisecond

// Progress is called synchronously for each stage. A call with State "running"
// and a Detail reports how far a stage is that was reported before.
type Progress func(Stage)

// OrSilent returns p, or if p is nil a Progress that does nothing.
func (p Progress) OrSilent() Progress {
	if p == nil {
		return func(Stage) {}
	}
	return p
}

// Stage calls do, and reports its start and its end.
func (p Progress) Stage(name string, do func() error) error {
	return p.Detailed(name, func() (string, error) { return "", do() })
}

// Detailed is Stage for a function that returns a detail for the final report.
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

// Advancing is Detailed for a function that reports its progress. It may call
// tell as often as it likes; a few calls per second are passed on.
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

// Done reports the successful end of a stage.
func (p Progress) Done(name, detail string) {
	p(Stage{Name: name, State: "done", Detail: detail, Time: time.Now().UTC()})
}
