package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// What happens.
const (
	ServerStart   = "server-start"
	ServerStop    = "server-stop"
	LoginLink     = "login-link"
	Login         = "login"
	Logout        = "logout"
	TokenCreate   = "token-create"
	TokenRevoke   = "token-revoke"
	TokenRotate   = "token-rotate"
	TokenUse      = "token-use" // the first from an address
	Takeover      = "takeover"
	SessionStop   = "session-stop"
	Delete        = "workspace-delete"
	Prune         = "prune"
	TrustGrant    = "trust"
	TrustRevoke   = "trust-revoke"
	Upgrade       = "upgrade"
	RefusedHost   = "bad-host"
	RefusedOrigin = "bad-origin"
	Unauthorized  = "unauthorized"
	Forbidden     = "forbidden"
)

// Outcomes.
const (
	OK      = "ok"
	Refused = "refused"
	Failed  = "failed"
)

// Bounds of a record: nobody makes one long.
const (
	maxText = 256      // bytes of one field
	maxLine = 16 << 10 // of a line that is read back
)

// By is who did it.
type By struct {
	// Kind is "socket", "login", "token", "server", or "" for a stranger.
	Kind string `json:"kind,omitempty"`
	// ID and Name are a login's or a token's.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// UID and PID are those of a process at the other end of the socket.
	UID *int `json:"uid,omitempty"`
	PID int  `json:"pid,omitempty"`
}

// Record is one thing that happened.
type Record struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	By    By        `json:"by,omitzero"`
	// From is the address, "" for this machine's socket.
	From string `json:"from,omitempty"`
	// What it was done to, and with which consent.
	What    string `json:"what,omitempty"`
	Outcome string `json:"outcome"`
	// Detail is why it was refused or failed, or what else is to be known.
	Detail string `json:"detail,omitempty"`
	// Times is how often it happened since the record before it of the same
	// kind, where that is more than once.
	Times int `json:"times,omitempty"`
}

// Marshal returns r as one line of ASCII, without its line break.
func (r Record) Marshal() ([]byte, error) {
	for _, field := range []*string{&r.Event, &r.By.Kind, &r.By.ID, &r.By.Name, &r.From, &r.What, &r.Outcome, &r.Detail} {
		*field = bounded(*field)
	}
	r.Time = r.Time.UTC()
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", r.Event, err)
	}
	return ascii(line), nil
}

// bounded cuts text at maxText bytes.
func bounded(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxText {
		return text
	}
	end := maxText - len("...")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// ascii escapes what a terminal might act on or draw in a misleading order,
// along with the rest that is not ASCII: outside of strings JSON has none.
func ascii(line []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(line) {
		switch {
		case r < 0x7f:
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// Parse reads a line that Marshal has written.
func Parse(line []byte) (r Record, err error) {
	if len(line) > maxLine {
		return r, errors.New("read an audit record: it is too long")
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, fmt.Errorf("read an audit record: %w", err)
	}
	if r.Event == "" || r.Time.IsZero() || r.Time.Year() < 1 || r.Time.Year() > 9999 {
		return Record{}, errors.New("read an audit record: it has no event or no time")
	}
	return r, nil
}

type recordKey struct{}

// With returns a context in which Note adds to rec. The caller writes rec once
// the call has ended.
func With(ctx context.Context, rec *Record) context.Context {
	return context.WithValue(ctx, recordKey{}, rec)
}

// Note adds to the record of the present call, if it has one, what it is done
// to.
func Note(ctx context.Context, what string) {
	if rec, ok := ctx.Value(recordKey{}).(*Record); ok {
		rec.What = strings.TrimSpace(rec.What + " " + what)
	}
}
