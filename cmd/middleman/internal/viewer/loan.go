package viewer

import (
	"bytes"
	"sync"

	"middleman/terminal"
)

// maxEcho is how much at once the terminal takes without a wait. Before more is
// drawn the keyboard goes back, so that its keys do not wait for that.
const maxEcho = 256

// loan is the keyboard's place in receive, which waits for it and the session
// at once, in one thread: a key and its echo then wake nobody else. What is no
// plain key, and what would have to wait, goes back to readKeyboard with the
// keyboard. It lends it again for the next key.
type loan struct {
	mu    sync.Mutex // guards the next two
	out   bool
	ended bool

	back chan keysRead // room for one: there is one keyboard
}

// keysRead are keys that come back with the keyboard, where has is set.
type keysRead struct {
	has    bool
	before []byte
	detach bool
}

// end takes the keyboard back for good.
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

// giveBack is called by receive alone.
func (l *loan) giveBack(k keysRead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out {
		l.out = false
		l.back <- k
	}
}

// lendKeys reports whether receive has the keyboard now.
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

// next receives the next message, and types keys until it comes.
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

// takeKeys types what was typed at the keyboard that is lent.
func (v *viewer) takeKeys() {
	n := v.keys.readNow(v.keyBuf)
	if n == 0 {
		v.loan.giveBack(keysRead{}) // the next read says why
		return
	}
	before, detach := v.find.find(v.keyBuf[:n])
	if !detach && len(v.find.held) == 0 && v.typeNow(before) {
		return
	}
	v.loan.giveBack(keysRead{true, bytes.Clone(before), detach})
}
