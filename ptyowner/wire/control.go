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

// Hello is the first frame of a connection. Its fields after Mode are
// terminal.AttachOptions; control connections use only Client.
type Hello struct {
	MinVersion int      `json:"min"`
	MaxVersion int      `json:"max"`
	Features   []string `json:"features,omitempty"`
	Token      string   `json:"token"`
	Mode       Mode     `json:"mode"`
	Client     string   `json:"client,omitempty"`
	Size       *Size    `json:"size,omitempty"`
	// From is the offset up to which the viewer has the output; nil asks for a
	// snapshot.
	From       *uint64 `json:"from,omitempty"`
	MaxLag     uint64  `json:"max_lag,omitempty"`
	Scrollback int     `json:"scrollback,omitempty"`
	Takeover   bool    `json:"takeover,omitempty"`
	// NoOutput asks for events without output; mode watch only. The client sets
	// From to the head, so that it gets no snapshot either.
	NoOutput bool `json:"no_output,omitempty"`
	// Activity asks, with NoOutput, for an event of kind "output" when there is
	// output. Owners without FeatureActivity ignore it.
	Activity bool `json:"activity,omitempty"`
	// Reader says that the viewer shows the output to nobody.
	Reader bool `json:"reader,omitempty"`
}

// Writer describes the attached writer.
type Writer struct {
	Client string    `json:"client,omitempty"`
	Since  time.Time `json:"since"`
	Typed  time.Time `json:"typed,omitzero"` // when its last input came
}

// Welcome accepts a Hello. For a viewer, output from Offset follows, or a
// snapshot as of Offset if Snapshot is set.
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
	// HostAnswers means that the host answers the program's queries to its
	// terminal. A viewer must not let its terminal answer them, or must not
	// send the answers.
	HostAnswers bool `json:"host_answers,omitempty"`
}

// Event is something that happened, other than output.
type Event struct {
	Kind   string  `json:"kind"` // title, progress, bell, notification, directory, writer, size, unseen
	Offset uint64  `json:"offset"`
	Text   string  `json:"text,omitempty"`
	Size   *Size   `json:"size,omitempty"`
	Writer *Writer `json:"writer,omitempty"`
}

// Verb names what a Request asks for.
type Verb string

// The verbs.
const (
	VerbStatus  Verb = "status"  // no arguments -> Status
	VerbCapture Verb = "capture" // CaptureArgs -> Capture, the data in the replies' Part
	VerbStop    Verb = "stop"    // StopArgs -> StopResult
	VerbInput   Verb = "input"   // InputArgs -> InputResult
	VerbWait    Verb = "wait"    // no arguments -> Exit, when the program has ended
	VerbUpgrade Verb = "upgrade" // UpgradeArgs -> UpgradeResult, from the new image
)

// Request asks for something; the Reply carries the same ID.
type Request struct {
	ID   uint64          `json:"id"`
	Verb Verb            `json:"verb"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Reply answers a Request with a result or an error. Each reply may carry the
// next part of the result's data in Part. Data that does not fit one frame
// comes in several replies; all but the last set More and leave Result empty.
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
	Progress  string    `json:"progress,omitempty"` // "state;percent" of OSC 9;4; "" for none, and of an owner that does not know
	Oldest    uint64    `json:"oldest"`
	Head      uint64    `json:"head"`
	Writer    *Writer   `json:"writer,omitempty"`
	Watchers  int       `json:"watchers"`
	Unseen    *Unseen   `json:"unseen,omitempty"` // nil of an owner that does not know
	Exit      *Exit     `json:"exit,omitempty"`
	Left      []int     `json:"left,omitempty"` // processes that outlived the program
	// Journal is the error that keeps output out of the journal now, "" if
	// there is none.
	Journal string `json:"journal,omitempty"`
}

// Unseen is what was printed since somebody last looked at the session.
type Unseen struct {
	Bytes uint64 `json:"bytes"`
	Bell  bool   `json:"bell"`
}

// CaptureArgs selects what to capture; Format is text, ansi or json. Rows needs
// FeatureExpect.
type CaptureArgs struct {
	Format     string `json:"format"`
	Scrollback bool   `json:"scrollback,omitempty"`
	Rows       *Rows  `json:"rows,omitempty"`
}

// Rows are rows of a screen, counted from 1, both included.
type Rows struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Capture describes a rendered screen; its bytes arrive in the replies' Part.
type Capture struct {
	Offset uint64 `json:"offset"`
	Size   Size   `json:"size"`
	Title  string `json:"title,omitempty"`
	// Hash is that of the rows' text, with FeatureExpect, and Steady that of the
	// text without clocks and spinners. An owner that tells Steady takes either as
	// Expect.Hash.
	Hash   string `json:"hash,omitempty"`
	Steady string `json:"steady,omitempty"`
}

// StopArgs holds the grace: how long the processes have to end before SIGKILL.
// 0 or less sends SIGKILL at once; nil means the session's own grace.
type StopArgs struct {
	GraceMillis *int64 `json:"grace_ms,omitempty"`
}

// StopResult lists the processes that did not end.
type StopResult struct {
	Left []int `json:"left,omitempty"`
}

// FeatureActivity is the feature of an owner that knows Hello.Activity.
const FeatureActivity = "activity"

// FeatureExpect is the feature of an owner that knows InputArgs.Expect,
// CaptureArgs.Rows and hashes. An owner without it would type in any case, so a
// client does not ask it.
const FeatureExpect = "expect"

// InputArgs is the input to type, at most MaxInput bytes.
type InputArgs struct {
	Data []byte `json:"data"`
	// Expect is what must hold; nil is nothing.
	Expect *Expect `json:"expect,omitempty"`
	// Began is set by an owner in a request that another image of it goes on
	// with: the head when the typing began.
	Began *uint64 `json:"began,omitempty"`
}

// Expect says on what conditions input is typed; each that is set must hold.
type Expect struct {
	// Offset is the head.
	Offset *uint64 `json:"offset,omitempty"`
	// Hash is that of the text of Rows; nil is the whole screen.
	Hash string `json:"hash,omitempty"`
	Rows *Rows  `json:"rows,omitempty"`
	// IdleMillis is for how long nothing was printed.
	IdleMillis int64 `json:"idle_ms,omitempty"`
	// Held: the program prints nothing until it has begun to read, with
	// FeatureHeld.
	Held bool `json:"held,omitempty"`
}

// FeatureHeld is the feature of an owner that knows Expect.Held.
const FeatureHeld = "held"

// InputResult says where the answer to the input begins: the head when the
// typing began. Owners without FeatureExpect leave it out.
type InputResult struct {
	Offset *uint64 `json:"offset,omitempty"`
}

// MaxInput is how many bytes one input request may carry. Their base64 form and
// the JSON around it must fit a frame.
const MaxInput = 32 << 10

// UpgradeArgs names the executable that takes over.
type UpgradeArgs struct {
	Executable string `json:"executable"` // absolute path
}

// UpgradeResult names the builds of the owner before and after.
type UpgradeResult struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Exit describes how the program ended, as exit.json does.
type Exit struct {
	Code       int       `json:"code"`
	Signal     int       `json:"signal,omitempty"`
	SignalName string    `json:"signal_name,omitempty"`
	Stopped    bool      `json:"stopped,omitempty"` // a client had asked for the end
	Offset     uint64    `json:"offset"`
	Time       time.Time `json:"time"`
	Size       Size      `json:"size"`
	Title      string    `json:"title,omitempty"`
}

// Detached is the last frame to a viewer whose session goes on.
type Detached struct {
	Reason string  `json:"reason"` // takeover, stop, policy
	Text   string  `json:"text,omitempty"`
	Writer *Writer `json:"writer,omitempty"` // the new writer, with reason takeover
}

// Error is a refusal. In an Error frame, it is the connection's last frame.
type Error struct {
	Code   string  `json:"code"`
	Text   string  `json:"text"`
	Writer *Writer `json:"writer,omitempty"` // with CodeBusy
	Oldest uint64  `json:"oldest,omitempty"` // this build does not set it
	Typed  int     `json:"typed,omitempty"`  // bytes, with CodeNotRead
}

func (e *Error) Error() string { return e.Text }

// The codes of Error. They are permanent, like the frame types.
const (
	CodeVersion    = "version"     // no protocol version in common
	CodeBadRequest = "bad-request" // the request was not understood
	CodeBusy       = "busy"        // another writer is attached
	CodeViewers    = "viewers"     // too many watchers
	CodeRange      = "range"       // an offset beyond the head
	CodeEnded      = "ended"       // the program has ended
	CodeNotWriter  = "not-writer"  // a watcher typed or resized; this build does not send it
	CodeUpgrade    = "upgrade"     // the owner goes on as it was
	CodeChanged    = "changed"     // what the input expects does not hold
	CodeNotRead    = "not-read"    // the program does not read its input
	CodeUnknown    = "unknown-verb"
	CodeInternal   = "internal"
)
