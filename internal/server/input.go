package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/terminal"
)

const (
	// inputPart is how much of an input is held at a time, and handed over as
	// a whole: what an owner takes in one request.
	inputPart = 32 << 10
	// maxInputs is how many inputs may wait for one session. Each holds two
	// parts; one more is refused.
	maxInputs = 16
	// hangUpEvery is how often it is looked whether a client has left whose
	// input a program does not read.
	hangUpEvery = time.Second
)

// errTooManyInputs refuses an input to a session whose program does not read.
var errTooManyInputs = errors.New("too many inputs wait")

// errHungUp ends an input whose client has left.
var errHungUp = errors.New("the client has left")

// inputs let one input at a time into each session, so that each arrives whole
// and in order. The zero value is ready.
type inputs struct {
	// mu guards bySession.
	mu        sync.Mutex
	bySession map[string]*turns
}

type turns struct {
	now     chan struct{} // of one: whose turn it is
	waiting int           // or typing
}

// enter waits for the session's turn, until leave is called. It refuses where
// too many wait.
func (i *inputs) enter(ctx context.Context, session string) (leave func(), err error) {
	i.mu.Lock()
	t := i.bySession[session]
	if t == nil {
		t = &turns{now: make(chan struct{}, 1)}
	}
	if t.waiting >= maxInputs {
		i.mu.Unlock()
		return nil, &app.Refusal{Code: api.CodeBusy, Err: errTooManyInputs,
			Detail: fmt.Sprintf("%d inputs wait for the session already, whose program does not read", maxInputs)}
	}
	if i.bySession == nil {
		i.bySession = map[string]*turns{}
	}
	i.bySession[session] = t
	t.waiting++
	i.mu.Unlock()
	quit := func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(i.bySession, session)
		}
	}
	select {
	case t.now <- struct{}{}:
		return func() { <-t.now; quit() }, nil
	case <-ctx.Done():
		quit()
		return nil, context.Cause(ctx)
	}
}

// inputRoute describes a body that is read as the program takes it.
func inputRoute() huma.Operation {
	op := route(http.MethodPost, "/sessions/{session}/input", "send-input", "Type the body, byte for byte", accessFull)
	op.Description = "Whole and in order, as fast as the program reads. Where that fails, the problem's taken says how many bytes were typed. " +
		"With an Idempotency-Key the body has at most 1 MiB, else 16."
	op.DefaultStatus = http.StatusNoContent
	op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{
		"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
	}}
	return op
}

func (s *Server) postInput(ctx context.Context, in *inputIn) (*stream, error) {
	live, err := s.Terminal(ctx, in.Session)
	if err != nil {
		return nil, err
	}
	return raw(func(w http.ResponseWriter, r *http.Request) {
		taken, err := s.typeBody(w, r, in.Session, live)
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		p := s.problemFor(ctx, err)
		if taken > 0 {
			p.Taken = &taken
		}
		refuse(w, p)
	}), nil
}

// typeBody types the body of r, and returns how many bytes the session took.
// Nobody reads the body any more when it returns.
func (s *Server) typeBody(w http.ResponseWriter, r *http.Request, id string, live terminal.Session) (taken int64, err error) {
	if r.ContentLength > maxInput {
		return 0, tooLarge(maxInput)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	parts := make(chan []byte)
	var reading sync.WaitGroup
	var failed error // why the body was not read to its end; the reader's until reading is over
	reading.Go(func() {
		defer close(parts)
		failed = s.Guarded("read an input", func() error { return s.readParts(ctx, w, r, parts) })
		if failed != nil {
			cancel(failed)
		}
	})
	defer func() {
		cancel(nil)
		if err == nil {
			reading.Wait()
			bodyRead(w)
			return
		}
		expireRead(w) // wakes the reader, unless that is why we end
		reading.Wait()
		holdBody(w, r)
		if errors.Is(err, context.Canceled) && failed != nil {
			err = failed // net/http ends the request too when a read of its body fails
		}
	}()
	leave, err := s.inputs.enter(ctx, id)
	if err != nil {
		return 0, err
	}
	defer leave()
	for part := range parts {
		if err := live.Input(ctx, part); err != nil {
			return taken, firstOf(context.Cause(ctx), err)
		}
		taken += int64(len(part))
	}
	if err := context.Cause(ctx); err != nil {
		return taken, err
	}
	if taken == 0 {
		return 0, live.Input(ctx, nil) // which says whether anything could have been typed
	}
	return taken, nil
}

// firstOf is the first that is an error.
func firstOf(cause, err error) error {
	if cause != nil {
		return cause
	}
	return err
}

// readParts hands the body over in parts. A client that stops sending, or that
// leaves while nobody takes a part, is an error.
func (s *Server) readParts(ctx context.Context, w http.ResponseWriter, r *http.Request, parts chan<- []byte) error {
	if r.ContentLength == 0 {
		return nil
	}
	body := http.MaxBytesReader(w, r.Body, maxInput)
	control := http.NewResponseController(w)
	tick := time.NewTicker(hangUpEvery)
	defer tick.Stop()
	for {
		_ = control.SetReadDeadline(time.Now().Add(s.options.BodyTimeout)) // as holdBody says
		part, err := readPart(body)
		if err == io.EOF {
			_ = control.SetReadDeadline(time.Time{}) // net/http listens for the client's end now
		}
		for sent := len(part) == 0; !sent; {
			select {
			case parts <- part:
				sent = true
			case <-tick.C:
				if hungUp(r) {
					return errHungUp
				}
			case <-ctx.Done():
				if err == nil {
					return nil // who asked for the parts knows why
				}
				sent = true
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return bodyError(err, maxInput)
		}
	}
}

// readPart reads a part, a shorter one with the error that ends the body.
func readPart(body io.Reader) (part []byte, err error) {
	part = make([]byte, inputPart)
	n := 0
	for n < len(part) && err == nil {
		var m int
		m, err = body.Read(part[n:])
		n += m
	}
	return part[:n], err
}
