package owner

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"middleman/internal/private"
	"middleman/ptyowner/state"
)

// takeMark is a file that says whether the owner has just taken output that the journal
// does not have yet. If the owner is killed, the next one knows by it whether output was
// lost. Only hosts that outlive owners have it; a nil takeMark does nothing. It is not
// synced: a program does not outlive its system.
type takeMark struct{ f *os.File }

var marked, unmarked = []byte("1"), []byte("0")

// markTaking makes the file of a session whose host outlives owners. Without it a killed
// owner counts as one that has lost output, so an error is only logged.
func (o *owner) markTaking() {
	if o.hostName() == "" {
		return
	}
	f, err := private.Create(o.dir.File(state.TakingFile))
	if err != nil {
		logf("output that a kill loses will be a guess: %v", err)
		return
	}
	o.mark = &takeMark{f}
	o.mark.set(unmarked)
}

// forgetTaking removes the file: an image that does not know it may go on.
func (o *owner) forgetTaking() {
	if o.mark == nil {
		return
	}
	o.mark.f.Close()
	o.mark = nil
	if err := os.Remove(o.dir.File(state.TakingFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		logf("%v", err)
	}
}

// tookAll reports whether the owner before had all output in the journal that it had taken.
func (o *owner) tookAll() bool {
	was, err := private.ReadFile(o.dir.File(state.TakingFile))
	return err == nil && bytes.Equal(was, unmarked)
}

func (m *takeMark) begin() { m.set(marked) }
func (m *takeMark) end()   { m.set(unmarked) }

func (m *takeMark) set(to []byte) {
	if m == nil {
		return
	}
	if _, err := m.f.WriteAt(to, 0); err != nil {
		_ = os.Remove(m.f.Name()) // what it says would be believed
	}
}
