package workspace

import "time"

// Progress is told of each stage, synchronously.
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

func (p Progress) done(name, detail string) {
	p(Stage{Name: name, State: "done", Detail: detail, Time: time.Now().UTC()})
}
