package terminal

// Clipboard is a policy: whether a session's program may set the clipboard of
// who looks at it. It may never read one.
type Clipboard string

// The policies, from the loosest to the strictest.
const (
	ClipboardAllow Clipboard = "allow"
	ClipboardAsk   Clipboard = "ask" // a person is asked, each time
	ClipboardDeny  Clipboard = "deny"
)

// Known reports whether c is one of the policies.
func (c Clipboard) Known() bool {
	return c == ClipboardAllow || c == ClipboardAsk || c == ClipboardDeny
}

// Stricter is the stricter of two policies. None is ClipboardAllow, as sessions
// of earlier versions have it; what is not known is ClipboardDeny.
func (c Clipboard) Stricter(d Clipboard) Clipboard {
	for _, p := range []Clipboard{c, d} {
		if p != "" && p != ClipboardAllow && p != ClipboardAsk {
			return ClipboardDeny
		}
	}
	if c == ClipboardAsk || d == ClipboardAsk {
		return ClipboardAsk
	}
	return ClipboardAllow
}
