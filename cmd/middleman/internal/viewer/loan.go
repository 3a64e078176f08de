package viewer

import (
	"bytes"
	"sync"

	"middleman/terminal"
)

// maxEcho is how many bytes the terminal takes at once without blocking. Before
// more is drawn receive gives the keyboard back, so that keys do not wait.
const maxEcho = 256

// loan lends the keyboard to receive. With it receive waits for the keyboard
// and the session in one thread, so that a key and its echo wake no other
// thread. If receive finds a key that is not plain, or one that it cannot type
// at once, it gives the keyboard back to readKeyboard with that key.
// readKeyboard lends it again for the next key.
type loan struct {
	mu    sync.Mutex // guards out and ended
	out   bool
	ended bool

	back chan keysRead // one slot: there is one keyboard
}

// keysRead are keys that come back with the keyboard, if has is set.
type keysRead struct {
	has    bool
	before []byte
	own    ownKey // the key that follows them
}

// end gives the keyboard back for good.
func (l *loan) end() {
	l.giveBack(keysRead{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// isOut reports whether receive has the keyboard.
func (l *loan) isOut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out
}

// giveBack returns the keyboard to readKeyboard. Only receive calls it.
func (l *loan) giveBack(k keysRead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out {
		l.out = false
		l.back <- k
	}
}

// lendKeys lends the keyboard to receive, and reports whether it could.
func (v *viewer) lendKeys() bool {
	if _, ok := v.attachment().(terminal.LoneAttachment); !ok || v.o.Mode != terminal.ModeAttach {
		return false
	}
	v.loan.mu.Lock()
	defer v.loan.mu.Unlock()
	if v.loan.ended || !v.keys.lend() {
		return false
	}
	v.loan.out = true
	return true
}

// next returns the next message, and types keys until it comes.
func (v *viewer) next() (terminal.Message, error) {
	a, ok := v.attachment().(terminal.LoneAttachment)
	if !ok {
		return v.attachment().Receive()
	}
	for {
		out := v.loan.isOut()
		m, ready, err := a.ReceiveOr(v.keys.waitFor(out)...)
		switch {
		case ready < 0:
			return m, err
		case out:
			v.takeKeys()
		default:
			v.keys.lent()
		}
	}
}

// takeKeys types the keys from the lent keyboard.
func (v *viewer) takeKeys() {
	n := v.keys.readNow(v.keyBuf)
	if n == 0 {
		v.loan.giveBack(keysRead{}) // the next read returns the error
		return
	}
	before, own := v.find.find(v.keyBuf[:n])
	if own == noKey && len(v.find.held) == 0 && v.typeNow(before) {
		return
	}
	v.loan.giveBack(keysRead{true, bytes.Clone(before), own})
}
