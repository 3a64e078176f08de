//go:build unix

package ptyowner

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// receiveLoop acts on what the client sends, until the connection ends. A
// frame of an unknown type is skipped; one that breaks the protocol ends the
// connection.
func (v *viewer) receiveLoop(r *wire.Reader) {
	var requests sync.WaitGroup
	defer requests.Wait()
	defer v.end() // wakes a request that waits
	slots := make(chan struct{}, 8)
	for {
		t, payload, err := r.Read(wire.MaxFrame)
		if err != nil {
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
			slots <- struct{}{} // full: the client waits for its replies
			requests.Go(func() {
				defer func() { <-slots }()
				v.onRequest(request)
			})
		}
		if err != nil {
			return
		}
	}
}

// isWriter reports whether v may type.
func (v *viewer) isWriter() bool {
	v.owner.mu.Lock()
	defer v.owner.mu.Unlock()
	return v.owner.writer == v
}

// onInput types what the writer typed. A watcher's is dropped, as is that of
// a writer who was displaced a moment ago.
func (v *viewer) onInput(p []byte) error {
	if !v.isWriter() {
		return nil
	}
	if err := v.owner.writeInput(p); err != nil && !errors.Is(err, terminal.ErrEnded) {
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
	return v.owner.resize(terminalSize(size))
}

// onAck takes the viewer's word that it has drawn up to an offset. Once the
// program has ended, having drawn it all is having seen the exit.
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

// onRequest answers one request.
func (v *viewer) onRequest(q wire.Request) {
	result, part, err := v.answer(q)
	if err != nil {
		v.send(wire.AppendControl(nil, wire.TypeReply, wire.Reply{ID: q.ID, Error: wireError(err)}))
		return
	}
	const partBytes = 32 << 10 // base64 of it fits a frame
	for len(part) > partBytes {
		if v.send(wire.AppendControl(nil, wire.TypeReply, wire.Reply{ID: q.ID, Part: part[:partBytes], More: true})) != nil {
			return
		}
		part = part[partBytes:]
	}
	raw, err := json.Marshal(result)
	if err != nil {
		panic(fmt.Sprintf("result of %s does not marshal: %v", q.Verb, err))
	}
	v.send(wire.AppendControl(nil, wire.TypeReply, wire.Reply{ID: q.ID, Result: raw, Part: part}))
}

// answer does what a request asks for. part is data beside the result.
func (v *viewer) answer(q wire.Request) (result any, part []byte, err error) {
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
		data, c, err := o.screen.capture(terminal.CaptureFormat(args.Format), args.Scrollback)
		return wire.Capture{Offset: c.Offset, Size: wireSize(c.Size), Title: c.Title}, data, err
	case wire.VerbInput:
		var args wire.InputArgs
		if err := parseArgs(q, &args); err != nil {
			return nil, nil, err
		}
		return struct{}{}, nil, o.writeInput(args.Data)
	case wire.VerbStop:
		var args wire.StopArgs
		if err := parseArgs(q, &args); err != nil {
			return nil, nil, err
		}
		grace := o.spec.Grace
		if args.GraceMillis != nil {
			grace = time.Duration(*args.GraceMillis) * time.Millisecond
		}
		left := o.stop(grace)
		o.acknowledge()
		return wire.StopResult{Left: left}, nil, nil
	case wire.VerbWait:
		exit, err := v.waitExit()
		return exit, nil, err
	}
	return nil, nil, &wire.Error{Code: wire.CodeUnknown, Text: fmt.Sprintf("this owner does not know %q", q.Verb)}
}

// waitExit waits for the program's end, or the connection's.
func (v *viewer) waitExit() (wire.Exit, error) {
	o := v.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.exit == nil {
		if v.gone || o.closing {
			return wire.Exit{}, errors.New("connection ended before the program")
		}
		o.changed.Wait()
	}
	return wireExit(*o.exit), nil
}

func parseArgs(q wire.Request, v any) error {
	if err := json.Unmarshal(q.Args, v); err != nil {
		return &wire.Error{Code: wire.CodeBadRequest, Text: fmt.Sprintf("arguments of %s: %v", q.Verb, err)}
	}
	return nil
}

// wireError gives an error its code.
func wireError(err error) *wire.Error {
	var e *wire.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, terminal.ErrEnded):
		return &wire.Error{Code: wire.CodeEnded, Text: err.Error()}
	}
	return &wire.Error{Code: wire.CodeInternal, Text: err.Error()}
}
