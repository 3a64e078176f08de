package terminal

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Size is a terminal's size in character cells and, where known, in pixels
// (0 means unknown), as in struct winsize of tty_ioctl(4).
type Size struct {
	Cols    uint16 `json:"cols"`
	Rows    uint16 `json:"rows"`
	XPixels uint16 `json:"x_pixels,omitempty"`
	YPixels uint16 `json:"y_pixels,omitempty"`
}

// DefaultSize is the size of a session that nobody has looked at yet.
var DefaultSize = Size{Cols: 80, Rows: 24}

// State is where a session stands in its life. Viewers are no part of it.
//
//	starting --ready--> running --program ended--> exited
//	   |                   |--stop--> stopping --> exited
//	   |                   '--proved dead without an exit record--> lost
//	   '--a step failed--> failed
type State string

// The states of a session. StateUnreachable is not one of them but what a
// caller reports when nobody answered; it never leads to cleaning.
const (
	StateStarting    State = "starting"
	StateRunning     State = "running"
	StateStopping    State = "stopping"
	StateExited      State = "exited"
	StateFailed      State = "failed"
	StateLost        State = "lost"
	StateUnreachable State = "unreachable"
)

// Ended reports whether s is final.
func (s State) Ended() bool {
	return s == StateExited || s == StateFailed || s == StateLost
}

// Spec is everything that a backend needs to start a session. It never
// travels in an argument vector or an environment, because Env may hold
// secrets that a profile has named.
type Spec struct {
	// ID is ours and random (see NewID); never a user's label.
	ID string `json:"id"`
	// Workspace is the id of the workspace that the session belongs to, or "".
	Workspace string `json:"workspace,omitempty"`
	// Argv is the program and its arguments. Argv[0] is an absolute path.
	Argv []string `json:"argv"`
	// Wrapper, if not empty, is a program with arguments that starts Argv, which
	// follows them: it prepares something and then replaces itself. Wrapper[0] is an
	// absolute path. Only Argv is recorded and shown.
	Wrapper []string `json:"wrapper,omitempty"`
	// Env is the program's whole environment. Nothing is added to it but TERM,
	// COLORTERM, MIDDLEMAN_SESSION and MIDDLEMAN_WORKSPACE. Its values are not
	// stored anywhere: only the owner gets them, over its standard input.
	Env Environ `json:"env"`
	// Sources says for each variable's name where its value came from. It is
	// stored for Session.Environment.
	Sources map[string]string `json:"-"`
	// AgentLink replaces the value of SSH_AUTH_SOCK by the path of a link of ours
	// to that socket, which Session.LinkAgent moves. A value that is not the
	// absolute path of a socket of this user stays as it is.
	AgentLink bool `json:"-"`
	// Dir is the absolute working directory. It must exist.
	Dir string `json:"dir"`
	// Size is the first size of the terminal.
	Size Size `json:"size"`
	// Grace is how long a stop waits between SIGTERM and SIGKILL.
	Grace time.Duration `json:"grace"`
	// StopKeys are typed by a stop before it signals anything.
	StopKeys StopKeys `json:"stop_keys,omitzero"`
	// JournalBytes is how much output is kept at least; 0 keeps all of it.
	JournalBytes int64 `json:"journal_bytes"`
	// ScrollbackBytes bounds the screen's scrollback; 0 is the screen's default.
	ScrollbackBytes int `json:"scrollback_bytes,omitempty"`
	// Clipboard is the session's policy; "" is ClipboardAllow.
	Clipboard Clipboard `json:"clipboard,omitempty"`
}

// StopKeys are the keys by which a program ends in its own way. A stop with a grace
// types them one after another, each once the program has answered the one before, and
// gives the program half of the grace; then it signals what is left. Nothing is typed
// while another job has the terminal, while the screen is one of Never, or where the
// program does not read.
type StopKeys struct {
	// Keys is what a terminal types for each key.
	Keys [][]byte `json:"keys,omitempty"`
	// Never are screens at which a key would do something else, such as dialogs.
	Never []Sight `json:"never,omitempty"`
}

// Sight describes screens. All that is set must hold.
type Sight struct {
	// Title is a regular expression for the title.
	Title string `json:"title,omitempty"`
	// Screen are regular expressions: each must match one of the last Rows rows of
	// the screen that are not blank, or a line that is wrapped to them. None of these
	// rows may match one of Without.
	Screen  []string `json:"screen,omitempty"`
	Without []string `json:"without,omitempty"`
	Rows    int      `json:"rows,omitempty"`
}

// Command returns what is executed: Wrapper and Argv.
func (s Spec) Command() []string { return slices.Concat(s.Wrapper, s.Argv) }

// Exit says how a program ended. It is made after the last output byte is in
// the journal and is on disk before anybody is told.
type Exit struct {
	// Code is the exit code, or -1 when a signal ended the program.
	Code int `json:"code"`
	// Signal is the number of the signal that ended the program, or 0.
	Signal int `json:"signal,omitempty"`
	// SignalName is its name such as "SIGKILL", or "".
	SignalName string `json:"signal_name,omitempty"`
	// Stopped is set if the program ended after somebody had asked for its end: with
	// Stop, or by removing its session. An older owner does not set it.
	Stopped bool `json:"stopped,omitempty"`
	// Offset is the number of output bytes in all.
	Offset uint64 `json:"offset"`
	// Time is when the program was reaped.
	Time time.Time `json:"time"`
	// Size and Title are the last ones.
	Size  Size   `json:"size"`
	Title string `json:"title,omitempty"`
}

// Status is the exit status as a shell has it: the code, or 128 + n for
// signal n (POSIX, Shell Command Language 2.8.2).
func (e Exit) Status() int {
	if e.Signal != 0 {
		return 128 + e.Signal
	}
	return e.Code
}

// How is the signal's name if one ended the program, else the exit code.
func (e Exit) How() string {
	if e.Signal != 0 {
		return e.SignalName
	}
	return strconv.Itoa(e.Code)
}

// Writer is who types at a session.
type Writer struct {
	// Client is what the viewer called itself, such as "web" or "attach".
	Client string    `json:"client,omitempty"`
	Since  time.Time `json:"since"`
	// Typed is when input of this viewer came last; zero for none yet, and where
	// it is not known.
	Typed time.Time `json:"typed,omitzero"`
}

// Status is what is known of a session, from where and as of when.
type Status struct {
	ID        string `json:"id"`
	Workspace string `json:"workspace,omitempty"`
	Backend   string `json:"backend"`
	State     State  `json:"state"`
	// PID is the program's process id, 0 when it has ended.
	PID       int       `json:"pid"`
	Argv      []string  `json:"argv,omitempty"`
	Dir       string    `json:"dir,omitempty"`
	StartedAt time.Time `json:"started_at"`
	Size      Size      `json:"size"`
	Title     string    `json:"title,omitempty"`
	// Progress is what the program says of its progress by OSC 9;4 of ConEmu:
	// "state;percent", "" for none. Of a session that has ended there is none.
	Progress string `json:"progress,omitempty"`
	// Foreground is the name of the program that has the foreground of the terminal in
	// place of the session's own, as a shell's command has; "" for none, and where that is
	// not known. The program chooses it.
	Foreground string `json:"foreground,omitempty"`
	// Oldest and Head are the offsets of the first byte that is kept and of
	// the next byte to come.
	Oldest uint64 `json:"oldest"`
	Head   uint64 `json:"head"`
	// JournalBytes is the Spec's; nil where it is not known.
	JournalBytes *int64 `json:"journal_bytes,omitempty"`
	// Clipboard is the Spec's.
	Clipboard Clipboard `json:"clipboard,omitempty"`
	// Journal says why output is not being kept at present, "" where it is.
	Journal string `json:"journal,omitempty"`

	Writer   *Writer `json:"writer,omitempty"`
	Watchers int     `json:"watchers"`
	// Unseen is what was printed since somebody last looked; nil of a session
	// that has ended, and where it is not known.
	Unseen *Unseen `json:"unseen,omitempty"`
	Exit   *Exit   `json:"exit,omitempty"`
	// Left are the processes that the program started and that outlive it;
	// only of a session that has ended. Stop ends them.
	Left []int `json:"left,omitempty"`
	// Lost says, of a session in StateLost, why it has no exit, as far as that
	// is known; "" where the backend does not say.
	Lost string `json:"lost,omitempty"`
	// Source is where this comes from: "owner" or SourceDisk.
	Source string    `json:"source"`
	AsOf   time.Time `json:"as_of"`
}

// SourceDisk is the Source of a status that is from the disk.
const SourceDisk = "disk"

// Unseen is what a session has printed since somebody last looked at it: since
// its last viewer left, writer or watcher, that was not a Reader. It is zero
// while there is one.
type Unseen struct {
	Bytes uint64 `json:"bytes" doc:"How many bytes of output"`
	Bell  bool   `json:"bell" doc:"Whether the bell rang in them"`
}

// Backend starts and finds sessions. All methods are safe for concurrent use.
type Backend interface {
	// Name is what is recorded with each session: "pty-owner" or "tmux".
	Name() string
	// Usable returns nil, or why no session can be started here.
	Usable(ctx context.Context) error
	// Start starts a session and returns when its program runs. The session
	// does not end with ctx. A program that cannot be started is a
	// *StartError; nothing is left behind then. Starting an id that runs
	// already returns its status and starts nothing; one that has ended is
	// ErrEnded until it is removed.
	Start(ctx context.Context, spec Spec) (Status, error)
	// List returns the ids of all sessions that this backend has state of,
	// ended ones too. An error means unknown, never none.
	List(ctx context.Context) ([]string, error)
	// Session names a session; it does no I/O, so an id that is not there
	// shows at the first call as ErrNotFound.
	Session(id string) Session
}

// Lingerer is a Session with a method Lingers, see there.
type Lingerer interface {
	Lingers() (bool, error)
}

// Lingers tells at once, and asks nobody, whether processes of an ended session may be
// left; its Status says which. Processes whose owner was killed are not always known of,
// and of a Session that is no Lingerer none are.
func Lingers(s Session) (bool, error) {
	if l, ok := s.(Lingerer); ok {
		return l.Lingers()
	}
	return false, nil
}

// Session acts on one session. Methods return ErrNotFound where there is no
// such session, ErrUnreachable where nobody answered, and are safe for
// concurrent use.
type Session interface {
	// Status never fails because the program ended: exit and last size come
	// from disk then. A session proved dead without an exit record is
	// returned with StateLost and a nil error, one that somebody starts just now
	// with StateStarting.
	Status(ctx context.Context) (Status, error)
	// Attach joins as writer or watcher. On an ended session it yields what
	// is kept, then the exit. A second writer gets a *BusyError unless it
	// asks for takeover.
	Attach(ctx context.Context, o AttachOptions) (Attachment, error)
	// Input types p, whole and in order, without attaching. ErrEnded where
	// the program is gone.
	Input(ctx context.Context, p []byte) error
	// Type is Input if what e expects holds, else ErrChanged: the owner compares
	// and types with no output in between. With anything expected, p has at most
	// MaxExpected bytes, or the error is ErrTooLong; a program that does not read
	// gets what its terminal takes at once, and the error is a *NotReadError.
	// Type returns the head at the typing: what the program prints in answer
	// comes from there on.
	Type(ctx context.Context, p []byte, e Expect) (offset uint64, err error)
	// Capture renders the screen, of an ended session the last one, or the one
	// as of an offset; errors for offsets are Output's.
	Capture(ctx context.Context, o CaptureOptions) (Capture, error)
	// Output returns kept output from an offset up to the present head. An
	// offset that is no longer kept is a *TrimmedError; one beyond the head
	// is ErrRange. Output that was never kept ends it with an error that Gap
	// tells. The caller closes it.
	Output(ctx context.Context, from uint64) (io.ReadCloser, error)
	// OffsetAt returns the offset that the output had reached at a time, to
	// about 10 ms; 0 for a time before the session. Output that is no longer
	// kept is a *TrimmedError.
	OffsetAt(ctx context.Context, t time.Time) (uint64, error)
	// Recording returns all that is kept, up to the present head, with its
	// times as an asciicast v2. The caller closes it.
	Recording(ctx context.Context) (io.ReadCloser, error)
	// Environment returns the names of the program's variables, sorted, and
	// where their values came from, also after the program has ended. It is
	// empty for a session of a build that did not record them.
	Environment(ctx context.Context) ([]Variable, error)
	// LinkAgent points the session's SSH_AUTH_SOCK at another agent's socket,
	// for a session that was started with Spec.AgentLink and has that link; for
	// others it does nothing. The socket must be the absolute path of a socket
	// of this user.
	LinkAgent(ctx context.Context, socket string) error
	// Stop ends the program and everything that it started and returns when
	// nothing is left, or a *LeftoverError. Zero grace means the session's
	// own; negative means none. Stopping an ended session is no error.
	Stop(ctx context.Context, grace time.Duration) error
	// Remove deletes the state of a session that is proved ended, else it
	// returns ErrRunning and changes nothing.
	Remove(ctx context.Context) error
}

// CaptureFormat is how a screen is rendered.
type CaptureFormat string

// The formats of a capture.
const (
	FormatText CaptureFormat = "text"
	FormatANSI CaptureFormat = "ansi"
	FormatJSON CaptureFormat = "json"
)

// CaptureOptions says what to capture.
type CaptureOptions struct {
	Format     CaptureFormat
	Scrollback bool
	// At is the offset that the screen is to be of; nil means the head. The
	// scrollback of an earlier one goes back some thousand lines.
	At *uint64
	// Rows are rendered; they go without Scrollback.
	Rows Rows
}

// Rows are rows of a screen, counted from 1, both included. The zero value is
// all of them. Rows that a screen does not have are left out.
type Rows struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// ParseRows parses "A-B", or "A" for one row.
func ParseRows(text string) (r Rows, err error) {
	first, last, both := strings.Cut(text, "-")
	r.First, err = strconv.Atoi(first)
	r.Last = r.First
	if both && err == nil {
		r.Last, err = strconv.Atoi(last)
	}
	if err != nil || r.First < 1 || r.Last < r.First {
		return Rows{}, fmt.Errorf("%q must be rows such as 20-24, counted from 1", text)
	}
	return r, nil
}

// MaxExpected is how many bytes may be typed at once where something is
// expected.
const MaxExpected = 32 << 10

// Expect is what must hold for input to be typed. The zero value is nothing.
type Expect struct {
	// Offset: nothing was printed from this offset on.
	Offset *uint64
	// Hash: the text of Rows has this hash, as Capture has it in Hash or in Steady.
	Hash string
	Rows Rows
	// Idle: nothing was printed for so long.
	Idle time.Duration
	// Held: the program prints nothing more before it has begun to read the
	// input, of at most MaxHeld bytes. Its output is held meanwhile. If it does
	// not begin to read within a part of a second, because it draws or is busy,
	// nothing is typed. If it reads a part at once, and then draws, the rest may not
	// be typed: the error is a *NotReadError.
	Held bool
}

// MaxHeld is how many bytes may be typed with Expect.Held: no more than a
// terminal takes from a program that reads later.
const MaxHeld = 2 << 10

// ParseExpect parses what Capture tells: an offset, or a hash.
func ParseExpect(text string) (e Expect, err error) {
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == HashBytes && text == strings.ToLower(text) {
		e.Hash = text
		return e, nil
	}
	offset, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return e, fmt.Errorf("%q must be an offset or a hash, as capture --json has them", text)
	}
	e.Offset = &offset
	return e, nil
}

// HashBytes is how many bytes of the SHA-256 of a screen's text are its hash, so
// that no hash is an offset.
const HashBytes = 16

// Capture is a rendered screen as of an offset.
type Capture struct {
	Offset uint64
	Size   Size
	Title  string
	// Data is text, text with SGR sequences, or one JSON object, which has the
	// offset and the hash too.
	Data []byte
	// Hash tells whether the rows show the same text: the first half of the
	// SHA-256 of what FormatText has of them, in hexadecimal. It is "" of an
	// owner that does not know it.
	Hash string
	// Steady is the hash of the same text without what moves by itself, as
	// recording.SteadyText has it. It is "" of an owner that does not know it.
	Steady string
	// Note says why the screen of an earlier offset may differ from what was
	// shown then, such as output that is missing before it; "" where it does not.
	Note string
}
