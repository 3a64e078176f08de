package terminal

import "context"

// Mode is how a viewer joins.
type Mode string

// The modes of an attachment.
const (
	ModeAttach Mode = "attach" // the one writer
	ModeWatch  Mode = "watch"  // read-only
)

// AttachOptions says how a viewer joins.
type AttachOptions struct {
	Mode Mode
	// Client names the viewer to others, such as "web" or "attach".
	Client string
	// Size is the viewer's; the zero Size leaves the session's as it is. A
	// watcher's is not used.
	Size Size
	// From is the offset that the viewer has; nil asks for a snapshot.
	From *uint64
	// MaxLag is how many bytes behind are still useful to the viewer: past
	// it, it gets a snapshot. 0 means everything that is kept.
	MaxLag uint64
	// Scrollback is how many lines of scrollback a snapshot draws first;
	// negative means all.
	Scrollback int
	Takeover   bool
	// NoOutput is for a watcher that wants to know of events and of the end
	// alone: it gets no output from an owner that can leave it out.
	NoOutput bool
	// Activity is for a watcher with NoOutput: it gets an EventOutput when there
	// is output, at once after a pause and then a few times a second. An owner
	// that cannot tell sends the output.
	Activity bool
	// Reader is for a program that reads the output: nobody looks at it, so it
	// stays unseen.
	Reader bool
	// Guest: a server that joins a session of another one does it for somebody who
	// may only watch, and has a limited number of places.
	Guest bool
}

// Hello is what an attachment begins with.
type Hello struct {
	// Offset is where what follows begins.
	Offset uint64
	// Head is the head at the time of joining. Bytes below it are a replay:
	// a query in them was answered before.
	Head   uint64
	Oldest uint64
	Size   Size
	Title  string
	PID    int
	Writer *Writer
	// Clipboard is the session's policy, which holds for each viewer.
	Clipboard Clipboard
	// HostAnswers: what the program asks of its terminal is answered where it
	// runs. A viewer's terminal is not asked, or its answers are not typed; and
	// the program prints for a terminal of tmux's, which has titles of screen's
	// (ESC k).
	HostAnswers bool
}

// MessageKind tells what a Message carries.
type MessageKind int

// The kinds of message. Detached and Exit are last ones; after them Receive
// returns io.EOF.
const (
	MessageOutput   MessageKind = iota + 1 // Offset, Data: contiguous bytes
	MessageSnapshot                        // Offset, Data: draws the screen on a reset terminal
	MessageEvent                           // Event
	MessageDetached                        // Reason
	MessageExit                            // Exit
)

// Message is one thing that an attachment received.
type Message struct {
	Kind   MessageKind
	Offset uint64
	// Data belongs to the attachment and is valid until the next Receive.
	Data   []byte
	Event  Event
	Reason DetachReason
	Exit   Exit
}

// DetachReason says why an attachment was ended although the session goes on.
type DetachReason string

// The reasons of a detach.
const (
	DetachTakeover DetachReason = "takeover"
	DetachStop     DetachReason = "stop"
	DetachPolicy   DetachReason = "policy"
)

// Attachment is one viewer's connection. One goroutine may call Receive while
// others call the rest; Close wakes all of them.
type Attachment interface {
	Hello() Hello
	// Receive blocks for the next message. io.EOF follows MessageDetached and
	// MessageExit; a connection that broke is ErrUnreachable and says nothing
	// of the session.
	Receive() (Message, error)
	// Input types p; it blocks while the program does not read. A watcher
	// gets ErrNotWriter.
	Input(p []byte) error
	// Resize changes the terminal's size. A watcher gets ErrNotWriter.
	Resize(s Size) error
	// Ack says up to which offset the viewer has drawn.
	Ack(offset uint64) error
	Close() error
}

// PromptAttachment is an Attachment that can type without waiting.
type PromptAttachment interface {
	Attachment
	// InputNow types p like Input, if it need not wait for the program, nor for
	// another call. It reports whether it did; else nothing of p was typed.
	InputNow(p []byte) bool
}

// AskingAttachment is an Attachment over which the session can be asked, which costs
// less than a connection for each question.
type AskingAttachment interface {
	Attachment
	// Status is Session.Status while another goroutine is in Receive. It fails where
	// the connection ends, or where too many questions are unanswered: the caller then
	// asks the Session.
	Status(ctx context.Context) (Status, error)
}

// LoneAttachment is an Attachment that one thread can wait for together with
// open files, such as a keyboard. It is worth that for a viewer that does
// nothing else: each other wait costs less.
type LoneAttachment interface {
	PromptAttachment
	// Alone makes ReceiveOr work. It is called before all else but Hello; where
	// it fails, Receive works still.
	Alone() error
	// ReceiveOr is Receive with ready < 0, or says with ready which one of the
	// descriptors has something to read, and receives nothing.
	ReceiveOr(fds ...int) (m Message, ready int, err error)
}
