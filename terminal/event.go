package terminal

// Event is something that happened on a terminal, other than its bytes.
type Event struct {
	Kind EventKind `json:"kind"`
	// Offset is the head when it happened; a size holds from there.
	Offset uint64  `json:"offset"`
	Text   string  `json:"text,omitempty"`
	Size   *Size   `json:"size,omitempty"`
	Writer *Writer `json:"writer,omitempty"`
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of event.
const (
	EventTitle        EventKind = "title"
	EventProgress     EventKind = "progress" // Text is Status.Progress; for a change of its state alone
	EventBell         EventKind = "bell"
	EventNotification EventKind = "notification"
	EventDirectory    EventKind = "directory"
	EventWriter       EventKind = "writer"
	EventSize         EventKind = "size"
	EventOutput       EventKind = "output" // with AttachOptions.Activity: there is output
	EventUnseen       EventKind = "unseen" // Status.Unseen began, or nothing is unseen any more
)
