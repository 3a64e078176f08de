package vt

const (
	maxKeyStack  = 16
	allKeyFlags  = 31
	keyFlagsSet  = 1
	keyFlagsAdd  = 2
	keyFlagsDrop = 3
)

// keyStack is the kitty keyboard protocol's stack of flags, one for each
// screen. The zero value is an empty stack with no flag set.
type keyStack struct {
	current uint8
	pushed  []uint8 // what a pop brings back, the newest last
}

// pushKeys drops the oldest entry where the stack is full.
func (t *Terminal) pushKeys() {
	k := &t.scr.keys
	if len(k.pushed) == maxKeyStack {
		copy(k.pushed, k.pushed[1:])
		k.pushed = k.pushed[:maxKeyStack-1]
	}
	k.pushed = append(k.pushed, k.current)
	k.current = uint8(t.parser.params.get(0) & allKeyFlags)
}

// popKeys resets all flags where more is popped than was pushed.
func (t *Terminal) popKeys() {
	k := &t.scr.keys
	n := t.parser.params.count(0)
	if n > len(k.pushed) {
		*k = keyStack{}
		return
	}
	k.current = k.pushed[len(k.pushed)-n]
	k.pushed = k.pushed[:len(k.pushed)-n]
}

func (t *Terminal) setKeys() {
	k := &t.scr.keys
	flags := uint8(t.parser.params.get(0) & allKeyFlags)
	switch t.parser.params.count(1) {
	case keyFlagsSet:
		k.current = flags
	case keyFlagsAdd:
		k.current |= flags
	case keyFlagsDrop:
		k.current &^= flags
	}
}
