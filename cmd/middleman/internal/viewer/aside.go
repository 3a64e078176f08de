package viewer

import (
	"context"
	"io"
)

// maxAside is how many bytes wait for the program's sequence to end. Beyond it
// the later ones are dropped: an endless sequence would keep all of them.
const maxAside = 4 << 10

// takeAsides writes what comes from Options.Aside, until ctx ends.
func (v *viewer) takeAsides(ctx context.Context) {
	for {
		select {
		case text := <-v.o.Aside:
			v.outMu.Lock()
			if len(v.aside)+len(text) <= maxAside {
				v.aside += text
			}
			_ = v.printAside() // the next write of output returns the same error
			v.outMu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// printAside writes what waits, unless the output has ended within a sequence or
// a character: then it waits for more output. Called with outMu held.
func (v *viewer) printAside() error {
	text := v.aside
	if v.window != nil {
		if v.window.between(text) {
			v.aside = ""
		}
		return nil
	}
	if !v.screen.between() {
		return nil
	}
	v.aside = ""
	_, err := io.WriteString(v.out, text)
	return err
}
