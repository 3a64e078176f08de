package owner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// errPaused means that something was not done, or only in part, because another
// image of the owner is taking over. The new image does the rest.
var errPaused = errors.New("another image of the owner is taking over")

// receiveLoop acts on the client's frames until the connection ends or the
// owner pauses. It skips a frame of an unknown type. A frame that breaks the
// protocol ends the connection. A pause loses nothing: frames that were not
// acted on are in v.back, and bytes that were not read stay with the reader.
func (v *viewer) receiveLoop() {
	var requests sync.WaitGroup
	defer requests.Wait()
	slots := make(chan struct{}, 8)
	for {
		t, payload, err := v.nextFrame()
		if err != nil {
			if !v.owner.paused.Load() {
				v.on(eventLeft)
			}
			return
		}
		switch t {
		case wire.TypeInput:
			err = v.onInput(payload)
		case wire.TypeResize:
			err = v.onResize(payload)
		case wire.TypeAck:
			err = v.onAck(payload)
		case wire.TypeRequest:
			var request wire.Request
			if err = wire.ParseControl(t, payload, &request); err != nil {
				break
			}
			if err = v.takeSlot(slots); err != nil {
				break
			}
			requests.Go(func() {
				defer func() { <-slots }()
				v.onRequest(request)
			})
		}
		if err != nil && !errors.Is(err, errPaused) {
			v.on(eventLeft)
			return
		}
	}
}

// hangUpPoll is how often takeSlot checks whether the client has hung up.
const hangUpPoll = time.Second

// takeSlot waits until fewer than 8 requests of this client are unanswered. A
// request may take as long as the program runs, so it also returns, with an
// error, when the client has hung up.
func (v *viewer) takeSlot(slots chan<- struct{}) error {
	poll := time.NewTicker(hangUpPoll)
	defer poll.Stop()
	for {
		select {
		case slots <- struct{}{}:
			return nil
		case <-poll.C:
			if hungUp(v.conn) {
				return net.ErrClosed
			}
		}
	}
}

// putBack keeps a frame that was not acted on because of a pause.
func (v *viewer) putBack(t wire.Type, payload []byte) {
	v.backMu.Lock()
	defer v.backMu.Unlock()
	v.back = wire.AppendFrame(v.back, t, payload)
}

// unread returns all bytes that were received and not acted on. Call it only
// while the owner is paused.
func (v *viewer) unread() []byte {
	return append(bytes.Clone(v.back), v.r.Buffered()...)
}

// isWriter reports whether v may type.
func (v *viewer) isWriter() bool {
	v.owner.mu.Lock()
	defer v.owner.mu.Unlock()
	return v.owner.writer == v
}

// onInput types the writer's input. It drops the input of a watcher, and that
// of a writer whom another has just displaced.
func (v *viewer) onInput(p []byte) error {
	if !v.isWriter() {
		return nil
	}
	v.typed.Store(time.Now().UnixNano())
	n, err := v.owner.writeInput(p)
	switch {
	case errors.Is(err, errPaused):
		v.putBack(wire.TypeInput, p[n:])
		return err
	case err != nil && !errors.Is(err, terminal.ErrEnded):
		logf("%v", err)
	}
	return nil
}

func (v *viewer) onResize(payload []byte) error {
	var size wire.Size
	if err := wire.ParseControl(wire.TypeResize, payload, &size); err != nil {
		return err
	}
	if !v.isWriter() {
		return nil
	}
	err := v.owner.resize(terminal.Size(size))
	if errors.Is(err, errPaused) {
		v.putBack(wire.TypeResize, payload)
	}
	return err
}

// onAck handles the viewer's report that it has drawn everything up to an
// offset. After the program's end, a viewer that has drawn all output knows of
// the exit.
func (v *viewer) onAck(payload []byte) error {
	offset, err := wire.ParseAck(payload)
	if err != nil {
		return err
	}
	o := v.owner
	o.mu.Lock()
	knows := o.exit != nil && offset == o.exit.Offset
	o.mu.Unlock()
	if knows {
		o.acknowledge()
	}
	return nil
}

// onRequest answers one request. If a pause interrupts it, it puts the request
// back.
func (v *viewer) onRequest(q wire.Request) {
	result, part, err := v.answer(&q)
	switch {
	case errors.Is(err, errPaused):
		v.putBack(wire.TypeRequest, mustMarshal(q))
		return
	case errors.Is(err, errHandedOver):
		return
	case err != nil:
		v.send(wire.AppendControl(nil, wire.TypeReply, wire.Reply{ID: q.ID, Error: wireError(err)}))
		return
	}
	const partBytes = 32 << 10 // its base64 form fits a frame
	for len(part) > partBytes {
		if v.send(wire.AppendControl(nil, wire.TypeReply, wire.Reply{ID: q.ID, Part: part[:partBytes], More: true})) != nil {
			return
		}
		part = part[partBytes:]
	}
	v.send(wire.AppendControl(nil, wire.TypeReply, wire.Reply{ID: q.ID, Result: mustMarshal(result), Part: part}))
}

// mustMarshal encodes requests and results, which always marshal.
func mustMarshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("%T does not marshal: %v", v, err))
	}
	return raw
}

// answer does what a request asks for. part is data that goes beside the
// result. If answer returns errPaused, it has changed q to ask for what is left
// to do.
func (v *viewer) answer(q *wire.Request) (result any, part []byte, err error) {
	o := v.owner
	switch q.Verb {
	case wire.VerbStatus:
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.status(), nil, nil
	case wire.VerbCapture:
		var args wire.CaptureArgs
		if err := parseArgs(q, &args); err != nil {
			return nil, nil, err
		}
		c, err := o.screen.capture(terminal.CaptureOptions{
			Format: terminal.CaptureFormat(args.Format), Scrollback: args.Scrollback, Rows: terminalRows(args.Rows)})
		return wire.Capture{Offset: c.Offset, Size: wire.Size(c.Size), Title: c.Title, Hash: c.Hash, Steady: c.Steady}, c.Data, err
	case wire.VerbInput:
		result, err := v.answerInput(q)
		return result, nil, err
	case wire.VerbStop:
		result, err := v.answerStop(q)
		return result, nil, err
	case wire.VerbWait:
		exit, err := v.waitExit()
		return exit, nil, err
	case wire.VerbUpgrade:
		return nil, nil, v.answerUpgrade(q)
	}
	return nil, nil, &wire.Error{Code: wire.CodeUnknown, Text: fmt.Sprintf("this owner does not know %q", q.Verb)}
}

func (v *viewer) answerInput(q *wire.Request) (wire.InputResult, error) {
	var args wire.InputArgs
	if err := parseArgs(q, &args); err != nil {
		return wire.InputResult{}, err
	}
	if args.Expect != nil {
		head, err := v.typeExpecting(args.Data, *args.Expect)
		return wire.InputResult{Offset: &head}, err
	}
	if args.Began == nil {
		head := v.owner.head()
		args.Began = &head
	}
	n, err := v.owner.writeInput(args.Data)
	if errors.Is(err, errPaused) {
		q.Args = mustMarshal(wire.InputArgs{Data: args.Data[n:], Began: args.Began})
	}
	return wire.InputResult{Offset: args.Began}, err
}

func (v *viewer) answerStop(q *wire.Request) (result wire.StopResult, err error) {
	var args wire.StopArgs
	if err := parseArgs(q, &args); err != nil {
		return result, err
	}
	grace := v.owner.spec.Grace
	if args.GraceMillis != nil {
		grace = time.Duration(*args.GraceMillis) * time.Millisecond
	}
	v.owner.noteStop()
	if result.Left, err = v.owner.stop(grace); err == nil {
		v.owner.acknowledge()
	}
	return result, err
}

// noteStop records that a client asks for the end of a program that runs: how it ends
// then is no failure. The owner stops a program by itself too; see endGone.
func (o *owner) noteStop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopAsked = o.stopAsked || o.phase == phaseRunning || o.phase == phaseStopping
}

// waitExit waits until the exit is recorded or the connection ends.
func (v *viewer) waitExit() (wire.Exit, error) {
	o := v.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.exit == nil {
		switch {
		case o.phase == phasePaused:
			return wire.Exit{}, errPaused
		case v.link == linkGone || o.phase == phaseClosing:
			return wire.Exit{}, errors.New("connection ended before the program")
		}
		o.changed.Wait()
	}
	return wireExit(*o.exit), nil
}

func parseArgs(q *wire.Request, v any) error {
	if err := json.Unmarshal(q.Args, v); err != nil {
		return &wire.Error{Code: wire.CodeBadRequest, Text: fmt.Sprintf("arguments of %s: %v", q.Verb, err)}
	}
	return nil
}

// wireError converts an error to one with a code.
func wireError(err error) *wire.Error {
	var e *wire.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, terminal.ErrEnded):
		return &wire.Error{Code: wire.CodeEnded, Text: err.Error()}
	case errors.Is(err, terminal.ErrChanged):
		return &wire.Error{Code: wire.CodeChanged, Text: err.Error()}
	}
	if e, ok := errors.AsType[*terminal.NotReadError](err); ok {
		return &wire.Error{Code: wire.CodeNotRead, Text: err.Error(), Typed: e.Typed}
	}
	return &wire.Error{Code: wire.CodeInternal, Text: err.Error()}
}
