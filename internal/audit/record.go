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

// Values of Record.Event.
const (
	ServerStart   = "server-start"
	ServerStop    = "server-stop"
	LoginLink     = "login-link"
	Login         = "login"
	Logout        = "logout"
	TokenCreate   = "token-create"
	TokenRevoke   = "token-revoke"
	TokenRotate   = "token-rotate"
	TokenUse      = "token-use" // the first use from an address
	Takeover      = "takeover"
	SessionStop   = "session-stop"
	Delete        = "workspace-delete"
	Prune         = "prune"
	TrustGrant    = "trust"
	TrustRevoke   = "trust-revoke"
	Upgrade       = "upgrade"
	Approval      = "approval" // an agent's request was allowed or denied by a person, or denied by a rule
	BundlePush    = "bundle-push"
	BundleRemove  = "bundle-remove"
	RuntimeAdd    = "runtime-add"
	RuntimeRemove = "runtime-remove"
	RefusedHost   = "bad-host"
	RefusedOrigin = "bad-origin"
	Unauthorized  = "unauthorized"
	Forbidden     = "forbidden"
)

// Values of Record.Outcome.
const (
	OK      = "ok"
	Refused = "refused"
	Failed  = "failed"
)

// Bounds of a record, so that no caller can make it long.
const (
	maxText = 256      // bytes of one field
	maxLine = 16 << 10 // bytes of a line that Parse accepts
)

// By identifies the caller.
type By struct {
	// Kind is "socket", "login", "token", "server", or "" for a caller that has
	// not authenticated.
	Kind string `json:"kind,omitempty"`
	// ID is that of a login or a token; Name is that of a token.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// UID and PID are those of the process at the other end of the Unix socket,
	// or PID is the server's own. On Windows SID is there instead of UID.
	UID *int   `json:"uid,omitempty"`
	SID string `json:"sid,omitempty"`
	PID int    `json:"pid,omitempty"`
}

// Record is one record of the audit log.
type Record struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	By    By        `json:"by,omitzero"`
	// From is the client's IP address, "" for the Unix socket.
	From string `json:"from,omitempty"`
	// What names the objects of the operation, and the consents given.
	What    string `json:"what,omitempty"`
	Outcome string `json:"outcome"`
	// Detail is the reason of a refusal or a failure, or other information.
	Detail string `json:"detail,omitempty"`
	// Times is set for refusals that were counted: how many there were since the
	// last record of the same kind.
	Times int `json:"times,omitempty"`
}

// Marshal returns r as one line of ASCII JSON, without a newline. It cuts fields
// at 256 bytes.
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

// bounded makes text valid UTF-8 of at most maxText bytes.
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

// ascii escapes all characters of a JSON line from DEL on, so that none can
// control a terminal or be drawn in a misleading order. In JSON, such characters
// occur only in strings.
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

// parse parses a line that Marshal wrote, and returns an error for other lines.
func parse(line []byte) (r Record, err error) {
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

// Note appends what to Record.What of the record in ctx, if there is one.
func Note(ctx context.Context, what string) {
	if rec, ok := ctx.Value(recordKey{}).(*Record); ok {
		rec.What = strings.TrimSpace(rec.What + " " + what)
	}
}
