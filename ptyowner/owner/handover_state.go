//go:build unix

package owner

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/fault"
	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/host"
	"middleman/terminal/journal"
	"middleman/terminal/vt"
)

// The formats of handoverState. Earlier builds read only the first, in which
// the host is the PTY.
const (
	handoverFormat = 1
	hostedFormat   = 2
)

// stateFormat returns the handoverState format that another image must read.
func (o *owner) stateFormat() int {
	if o.hostName() == "" {
		return handoverFormat
	}
	return hostedFormat
}

// handoverState is all that an owner knows beyond what its state directory
// holds.
type handoverState struct {
	Format   int           `json:"format"`
	Build    string        `json:"build"` // of the image that wrote it
	Spec     terminal.Spec `json:"spec"`
	Dir      string        `json:"dir"`
	Socket   string        `json:"socket"`
	Token    string        `json:"token"`
	Started  time.Time     `json:"started"`
	PID      int           `json:"pid"`
	Umask    int           `json:"umask"`
	Lock     uintptr       `json:"lock_fd"`
	Listener uintptr       `json:"listener_fd"`
	// PTY and TTY are the descriptors of a session whose host is the PTY.
	PTY uintptr `json:"pty_fd"`
	TTY uintptr `json:"tty_fd"`
	// For another host, with hostedFormat: its name, and what its terminal
	// exports.
	Host      string          `json:"host,omitempty"`
	HostFDs   []uintptr       `json:"host_fds,omitempty"`
	HostState json.RawMessage `json:"host_state,omitempty"`
	Image     uintptr         `json:"image_fd"` // the executable to go back to
	ImageAt   string          `json:"image_path"`

	Head      uint64           `json:"head"`
	Recent    []byte           `json:"recent"` // output up to head
	Drained   bool             `json:"drained"`
	Size      terminal.Size    `json:"size"`
	Title     string           `json:"title"`
	Progress  string           `json:"progress,omitempty"`
	Screen    []byte           `json:"screen"` // a snapshot as of head
	Events    []terminal.Event `json:"events"`
	NextEvent uint64           `json:"next_event"`
	OldSizes  []oldSize        `json:"old_sizes"`
	LostSize  uint64           `json:"lost_size"`
	Answers   [][]byte         `json:"answers"`
	Seen      *uint64          `json:"seen,omitempty"` // nil from an image that does not know: all
	Bell      uint64           `json:"bell,omitempty"`
	Viewers   []viewerState    `json:"viewers"`

	Asker   int    `json:"asker"`   // the index of the viewer that asked for the upgrade; -1 if it has left
	Request uint64 `json:"request"` // the id of that viewer's request
}

// viewerState is the state of one connection.
type viewerState struct {
	Conn       uintptr        `json:"conn_fd"`
	Client     string         `json:"client"`
	Since      time.Time      `json:"since"`
	Mode       wire.Mode      `json:"mode"`
	MaxLag     uint64         `json:"max_lag"`
	Scrollback int            `json:"scrollback"`
	NoOutput   bool           `json:"no_output,omitempty"`
	Activity   bool           `json:"activity,omitempty"`
	Reader     bool           `json:"reader,omitempty"`
	Offset     uint64         `json:"offset"`
	NextEvent  uint64         `json:"next_event"`
	FirstEvent uint64         `json:"first_event"`
	Seated     bool           `json:"seated"`
	Detached   *wire.Detached `json:"detached,omitempty"`
	Unsent     []byte         `json:"unsent"` // to be sent before anything else
	Unread     []byte         `json:"unread"` // received and not acted on
	Ended      bool           `json:"ended"`  // the last frame is at the end of Unsent, or was sent
}

// exportState returns the state of a paused owner.
func (o *owner) exportState(u *upgrade) (s *handoverState, err error) {
	if o.self == nil {
		if o.self, o.selfPath, err = openSelf(); err != nil {
			return nil, fmt.Errorf("open the running executable: %w", err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s = &handoverState{
		Format: handoverFormat, Build: o.build, Spec: o.spec, Dir: o.dir.Path, Socket: o.socket,
		Token: string(o.token), Started: o.started, PID: o.pid, Umask: o.umask, ImageAt: o.selfPath,
		Head: o.recent.head, Recent: o.recent.all(), Drained: o.drained, Size: o.size, Title: o.title,
		Progress: wireProgress(o.progress),
		Screen:   o.screen.export(), Events: o.events.newest(), NextEvent: o.events.next,
		OldSizes: o.events.sizes, LostSize: o.events.lost, Answers: o.answers,
		Asker: -1, Request: u.request, Seen: &o.unseen.seen, Bell: o.unseen.bell,
	}
	for _, c := range []struct {
		from syscall.Conn
		to   *uintptr
	}{
		{o.lock, &s.Lock}, {o.listener, &s.Listener}, {o.self, &s.Image},
	} {
		if *c.to, err = descriptor(c.from); err != nil {
			return nil, err
		}
	}
	if err := s.exportTerminal(o); err != nil {
		return nil, err
	}
	for v := range o.viewers {
		fd, err := descriptor(v.conn)
		if err != nil {
			continue // the owner closed it to make room
		}
		if v == u.viewer {
			s.Asker = len(s.Viewers)
		}
		s.Viewers = append(s.Viewers, v.export(fd))
	}
	return s, nil
}

func (v *viewer) export(fd uintptr) viewerState {
	return viewerState{
		Conn: fd, Client: v.client, Since: v.since, Mode: v.mode, MaxLag: v.maxLag, Scrollback: v.scrollback, NoOutput: v.noOutput, Activity: v.activity, Reader: v.reader,
		Offset: v.offset, NextEvent: v.nextEvent, FirstEvent: v.firstEvent, Seated: v.seated, Detached: v.detached,
		Unsent: v.unsent, Unread: v.unread(), Ended: v.ended,
	}
}

// importState makes an owner from a state and opens all that it needs. It does
// not close the state's descriptors: on error, the image that goes back needs
// them.
func importState(s *handoverState, build string, hosts []host.Host) (o *owner, err error) {
	o = newOwner(s.Spec, s.Dir, s.Socket, build)
	o.token, o.started, o.pid, o.umask = []byte(s.Token), s.Started, s.PID, s.Umask
	o.phase, o.drained, o.size, o.title, o.answers = phaseRunning, s.Drained, s.Size, s.Title, s.Answers
	o.progress = vt.ParseProgress(s.Progress)
	o.recent.restore(s.Recent, s.Head)
	o.unseen.seen, o.unseen.bell = s.Head, s.Bell
	if s.Seen != nil {
		o.unseen.seen = *s.Seen
	}
	o.events.restore(s.Events, s.NextEvent)
	o.events.sizes, o.events.lost = s.OldSizes, s.LostSize
	if err := fault.Error("upgrade/import"); err != nil {
		return nil, err
	}
	if o.journal, err = journal.Resume(o.dir.Journal(), journal.Options{KeepBytes: o.spec.JournalBytes}, s.Head); err != nil {
		return nil, err
	}
	o.screen.init(o)
	o.screen.rec.sized = o.journal.Sized()
	o.screen.restore(s.Screen, s.Head)
	if o.lock, err = inherit(s.Lock, state.OwnerLockFile); err != nil {
		return nil, err
	}
	if err := o.importSocket(s.Listener); err != nil {
		return nil, err
	}
	if err := o.importTerminal(s, hosts); err != nil {
		return nil, fmt.Errorf("take over the terminal: %w", err)
	}
	for i := range s.Viewers {
		if err := o.importViewer(&s.Viewers[i]); err != nil {
			return nil, fmt.Errorf("take over a connection: %w", err)
		}
	}
	return o, nil
}

func (o *owner) importSocket(fd uintptr) error {
	file, err := inherit(fd, state.SocketFile)
	if err != nil {
		return err
	}
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return fmt.Errorf("take over the socket: %w", err)
	}
	l, ok := listener.(*net.UnixListener)
	if !ok {
		return fmt.Errorf("take over the socket: it is a %T", listener)
	}
	l.SetUnlinkOnClose(true)
	o.listener = l
	return nil
}

func (s *handoverState) exportTerminal(o *owner) error {
	fds, state, err := o.term.Export()
	if err != nil {
		return fmt.Errorf("pass the terminal on: %w", err)
	}
	if name := o.hostName(); name != "" {
		s.Format, s.Host, s.HostFDs, s.HostState = hostedFormat, name, fds, state
		return nil
	}
	s.PTY, s.TTY = fds[0], fds[1]
	return nil
}

func (o *owner) importTerminal(s *handoverState, hosts []host.Host) (err error) {
	if o.host, err = findHost(s.Host, hosts); err != nil {
		return err
	}
	fds := s.HostFDs
	if s.Format == handoverFormat {
		fds = []uintptr{s.PTY, s.TTY}
	}
	if o.term, err = o.host.Resume(fds, s.HostState); err == nil {
		o.markTaking()
	}
	return err
}

func (o *owner) importViewer(s *viewerState) error {
	file, err := inherit(s.Conn, "connection")
	if err != nil {
		return err
	}
	defer file.Close()
	inherited, err := net.FileConn(file)
	if err != nil {
		return err
	}
	conn, ok := inherited.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("it is a %T", inherited)
	}
	v := newViewer(o, conn, wire.NewReaderFrom(s.Unread, conn), s.Mode)
	v.client, v.since, v.maxLag, v.scrollback = s.Client, s.Since, s.MaxLag, s.Scrollback
	v.noOutput, v.activity, v.reader = s.NoOutput, s.Activity, s.Reader
	v.unsent, v.ended, v.link, v.seated, v.detached = s.Unsent, s.Ended, linkJoined, s.Seated, s.Detached
	v.offset, v.nextEvent, v.firstEvent = s.Offset, s.NextEvent, s.FirstEvent
	o.viewers[v] = true
	o.inherited = append(o.inherited, v)
	if v.seated && v.looks() {
		o.unseen.lookers++
	}
	if v.seated && v.tells() {
		o.activity.viewers++
		v.active = true // there may be output that it was not told of
	}
	switch {
	case !v.seated:
		v.link = linkParting
		o.parting = append(o.parting, v)
	case v.mode == wire.ModeAttach:
		o.writer = v
	case v.mode == wire.ModeWatch:
		o.watchers++
	}
	return nil
}

// inherit duplicates an inherited descriptor. The original stays open for the
// image that might go back.
func inherit(fd uintptr, name string) (*os.File, error) {
	n, err := duplicate(fd)
	if err != nil {
		return nil, fmt.Errorf("take over %s: %w", name, err)
	}
	return os.NewFile(uintptr(n), name), nil
}

func duplicate(fd uintptr) (int, error) { return unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3) }

// descriptors returns all descriptors that a state names.
func (s *handoverState) descriptors() []uintptr {
	fds := append([]uintptr{s.Lock, s.Listener, s.Image}, s.HostFDs...)
	if s.Format == handoverFormat {
		fds = append(fds, s.PTY, s.TTY)
	}
	for _, v := range s.Viewers {
		fds = append(fds, v.Conn)
	}
	return fds
}
