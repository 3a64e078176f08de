package wire

import (
	"encoding/json"
	"time"
)

// Versions of the protocol that this build speaks.
const (
	MinVersion = 1
	MaxVersion = 1
)

// Mode is what a connection is for.
type Mode string

// The modes of a connection.
const (
	ModeAttach  Mode = "attach"
	ModeWatch   Mode = "watch"
	ModeControl Mode = "control"
)

// Size is a terminal's size; pixels are 0 where unknown.
type Size struct {
	Cols    uint16 `json:"cols"`
	Rows    uint16 `json:"rows"`
	XPixels uint16 `json:"xpixels,omitempty"`
	YPixels uint16 `json:"ypixels,omitempty"`
}

// Hello opens a connection.
type Hello struct {
	MinVersion int      `json:"min"`
	MaxVersion int      `json:"max"`
	Features   []string `json:"features,omitempty"`
	Token      string   `json:"token"`
	Mode       Mode     `json:"mode"`
	Client     string   `json:"client,omitempty"`
	Size       *Size    `json:"size,omitempty"`
	// From is the offset that the viewer has; nil asks for a snapshot.
	From       *uint64 `json:"from,omitempty"`
	MaxLag     uint64  `json:"max_lag,omitempty"`
	Scrollback int     `json:"scrollback,omitempty"`
	Takeover   bool    `json:"takeover,omitempty"`
	// NoOutput is a watcher's that wants events alone. It has From, the head.
	NoOutput bool `json:"no_output,omitempty"`
}

// Writer is who is attached.
type Writer struct {
	Client string    `json:"client,omitempty"`
	Since  time.Time `json:"since"`
}

// Welcome accepts a Hello. What follows begins at Offset: bytes, or a
// snapshot.
type Welcome struct {
	Version  int      `json:"version"`
	Features []string `json:"features,omitempty"`
	Session  string   `json:"session"`
	PID      int      `json:"pid"`
	Size     Size     `json:"size"`
	Title    string   `json:"title,omitempty"`
	Head     uint64   `json:"head"`
	Oldest   uint64   `json:"oldest"`
	Offset   uint64   `json:"offset"`
	Snapshot bool     `json:"snapshot,omitempty"`
	Writer   *Writer  `json:"writer,omitempty"`
	// HostAnswers: what the program asks of its terminal is answered by the
	// host. A viewer's terminal is not asked, or its answers are not sent.
	HostAnswers bool `json:"host_answers,omitempty"`
}

// Event is something that happened, other than output.
type Event struct {
	Kind   string  `json:"kind"` // title, bell, notification, directory, writer, size
	Offset uint64  `json:"offset"`
	Text   string  `json:"text,omitempty"`
	Size   *Size   `json:"size,omitempty"`
	Writer *Writer `json:"writer,omitempty"`
}

// Verb is what a Request asks for.
type Verb string

// The verbs.
const (
	VerbStatus  Verb = "status"  // no arguments -> Status
	VerbCapture Verb = "capture" // CaptureArgs -> Capture, data in frames of its own
	VerbStop    Verb = "stop"    // StopArgs -> StopResult
	VerbInput   Verb = "input"   // InputArgs -> nothing
	VerbWait    Verb = "wait"    // no arguments -> Exit, when the program has ended
	VerbUpgrade Verb = "upgrade" // UpgradeArgs -> UpgradeResult, from the new image
)

// Request asks for something; the Reply has its ID.
type Request struct {
	ID   uint64          `json:"id"`
	Verb Verb            `json:"verb"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Reply answers a Request with a result or an error. A result that would not
// fit a frame comes in several replies, all but the last with More set and
// each with the next part of the result's text in Part.
type Reply struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Part   []byte          `json:"part,omitempty"`
	More   bool            `json:"more,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Status is the owner's view of its session.
type Status struct {
	State     string    `json:"state"`
	PID       int       `json:"pid"`
	OwnerPID  int       `json:"owner_pid"`
	StartedAt time.Time `json:"started_at"`
	Size      Size      `json:"size"`
	Title     string    `json:"title,omitempty"`
	Oldest    uint64    `json:"oldest"`
	Head      uint64    `json:"head"`
	Writer    *Writer   `json:"writer,omitempty"`
	Watchers  int       `json:"watchers"`
	Exit      *Exit     `json:"exit,omitempty"`
	Left      []int     `json:"left,omitempty"` // processes that outlive the program
	// Journal says why output is not being kept at present, "" when it is.
	Journal string `json:"journal,omitempty"`
}

// CaptureArgs says what to capture: format is text, ansi or json.
type CaptureArgs struct {
	Format     string `json:"format"`
	Scrollback bool   `json:"scrollback,omitempty"`
}

// Capture is a rendered screen; Data's bytes arrive in the replies' parts.
type Capture struct {
	Offset uint64 `json:"offset"`
	Size   Size   `json:"size"`
	Title  string `json:"title,omitempty"`
}

// StopArgs says how long to wait between the polite and the last signal;
// nil means the session's own grace.
type StopArgs struct {
	GraceMillis *int64 `json:"grace_ms,omitempty"`
}

// StopResult names the processes that could not be ended.
type StopResult struct {
	Left []int `json:"left,omitempty"`
}

// InputArgs is what to type, at most MaxInput bytes.
type InputArgs struct {
	Data []byte `json:"data"`
}

// MaxInput is how many bytes one input request carries: base64 and the JSON
// around it must fit a frame.
const MaxInput = 32 << 10

// UpgradeArgs names the executable that is to take over.
type UpgradeArgs struct {
	Executable string `json:"executable"` // absolute path
}

// UpgradeResult says which build ran and which runs now.
type UpgradeResult struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Exit says how the program ended, as exit.json does.
type Exit struct {
	Code       int       `json:"code"`
	Signal     int       `json:"signal,omitempty"`
	SignalName string    `json:"signal_name,omitempty"`
	Offset     uint64    `json:"offset"`
	Time       time.Time `json:"time"`
	Size       Size      `json:"size"`
	Title      string    `json:"title,omitempty"`
}

// Detached ends a viewer's connection; the session goes on.
type Detached struct {
	Reason string  `json:"reason"` // takeover, stop, policy
	Text   string  `json:"text,omitempty"`
	Writer *Writer `json:"writer,omitempty"` // who took over
}

// Error refuses something. As a frame it is the last one.
type Error struct {
	Code   string  `json:"code"`
	Text   string  `json:"text"`
	Writer *Writer `json:"writer,omitempty"` // with CodeBusy
	Oldest uint64  `json:"oldest,omitempty"` // with CodeTrimmed
}

func (e *Error) Error() string { return e.Text }

// Codes of Error. Permanent, as the frame types are.
const (
	CodeVersion    = "version"     // no protocol version in common
	CodeBadRequest = "bad-request" // not understood
	CodeBusy       = "busy"        // another writer is attached
	CodeViewers    = "viewers"     // too many watchers
	CodeRange      = "range"       // an offset beyond the head
	CodeEnded      = "ended"       // the program has ended
	CodeNotWriter  = "not-writer"  // a watcher typed or resized
	CodeUpgrade    = "upgrade"     // the owner goes on as it was
	CodeUnknown    = "unknown-verb"
	CodeInternal   = "internal"
)
