package server

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/terminal"
)

const (
	// inputPart is the number of bytes of an input that are read and handed to
	// the session at a time: as many as an owner takes in one request. An input
	// that waits for its turn holds up to two parts.
	inputPart = 32 << 10
	// hangUpEvery is how often the server checks whether the client of a waiting
	// input has disconnected.
	hangUpEvery = time.Second
)

// errHungUp is the error of an input whose client has disconnected.
var errHungUp = errors.New("the client has left")

// inputRoute describes the input route, whose body is read as the program takes
// it.
func inputRoute() huma.Operation {
	op := route(http.MethodPost, "/sessions/{session}/input", "send-input", "Type the body, byte for byte", accessFull)
	op.Description = "All bytes are typed, in order, as fast as the program reads. If that fails, taken in the problem says how many bytes were typed. " +
		"With an Idempotency-Key the body has at most 1 MiB, else 16. " +
		"With expect or if_idle it has at most 32 KiB and is typed at once or not at all: if the screen has changed, the problem is screen-changed. " +
		"The session's owner decides, and draws no output between that and the typing."
	op.DefaultStatus = http.StatusNoContent
	op.Responses = map[string]*huma.Response{"204": {
		Description: "Typed",
		Headers: map[string]*huma.Param{offsetHeader: {
			Description: "The offset at the typing: what the program prints in answer comes from there on. Unset in a repeated answer",
			Schema:      &huma.Schema{Type: huma.TypeInteger},
		}},
	}}
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
	expect, err := in.expect()
	if err != nil {
		return nil, err
	}
	return raw(func(w http.ResponseWriter, r *http.Request) {
		if name := emptyParameter(r, "expect", "expect_rows", "if_idle"); name != "" {
			refuse(w, problemf(api.CodeBadRequest, "%s is empty: leave it out to type whatever the screen shows", name))
			return
		}
		offset, taken, err := s.typeBody(w, r, in.Session, typist{live, expect})
		if err == nil {
			w.Header().Set(offsetHeader, strconv.FormatUint(offset, 10))
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

// emptyParameter returns the first of the parameters that a request has without a value,
// as when a script could not find out what to expect, "" for none.
func emptyParameter(r *http.Request, names ...string) string {
	for _, name := range names {
		if q := r.URL.Query(); q.Has(name) && q.Get(name) == "" {
			return name
		}
	}
	return ""
}

// offsetHeader tells an offset with an answer.
const offsetHeader = "Middleman-Offset"

// expect parses what an input expects.
func (in *inputIn) expect() (e terminal.Expect, err error) {
	if e, err = expectation(in.Expect, in.ExpectRows); err != nil {
		return e, err
	}
	e.Idle, err = parseDuration("if_idle", in.IfIdle, 0, math.MaxInt64)
	return e, err
}

// expectation parses an offset or a hash, and the rows that a hash is of.
func expectation(seen, ofRows string) (e terminal.Expect, err error) {
	if seen != "" {
		if e, err = terminal.ParseExpect(seen); err != nil {
			return e, problemf(api.CodeBadRequest, "expect: %v", err)
		}
	}
	if e.Rows, err = rows("expect_rows", ofRows); err != nil {
		return e, err
	}
	if ofRows != "" && e.Hash == "" {
		return e, problemf(api.CodeBadRequest, "expect_rows goes with a hash in expect")
	}
	return e, nil
}

// typist types a body that comes in parts at a session.
type typist struct {
	live   terminal.Session
	expect terminal.Expect
}

// types types all parts, and returns the offset at the first and the number of
// bytes that the session took. Where something is expected, it types them at
// once.
func (t typist) types(ctx context.Context, parts <-chan []byte) (offset uint64, taken int64, err error) {
	if t.expect != (terminal.Expect{}) {
		var whole []byte
		for part := range parts {
			if whole = append(whole, part...); len(whole) > terminal.MaxExpected {
				return 0, 0, tooLarge(terminal.MaxExpected)
			}
		}
		if err := context.Cause(ctx); err != nil {
			return 0, 0, err
		}
		offset, err = t.live.Type(ctx, whole, t.expect)
		if e, ok := errors.AsType[*terminal.NotReadError](err); ok {
			taken = int64(e.Typed)
		}
		return offset, taken, err
	}
	for part := range parts {
		at, err := t.live.Type(ctx, part, t.expect)
		if err != nil {
			return offset, taken, firstOf(context.Cause(ctx), err)
		}
		if taken == 0 {
			offset = at
		}
		taken += int64(len(part))
	}
	if err := context.Cause(ctx); err != nil {
		return offset, taken, err
	}
	if taken == 0 {
		offset, err = t.live.Type(ctx, nil, t.expect) // an error says that the session takes no input
	}
	return offset, taken, err
}

// typeBody sends the body of r to the session as input, and returns the offset
// at the typing and the number of bytes that the session took. It stops its
// reader before it returns.
func (s *Server) typeBody(w http.ResponseWriter, r *http.Request, id string, by typist) (offset uint64, taken int64, err error) {
	if r.ContentLength > maxInput {
		return 0, 0, tooLarge(maxInput)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	parts := make(chan []byte)
	var reading sync.WaitGroup
	var failed error // why the body was not read to its end; read it after reading.Wait
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
		expireRead(w) // wakes the reader if it still reads
		reading.Wait()
		holdBody(w, r)
		if errors.Is(err, context.Canceled) && failed != nil {
			err = failed // net/http ends the request too when a read of its body fails
		}
	}()
	leave, err := s.InputTurn(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	defer leave()
	return by.types(ctx, parts)
}

// firstOf returns cause, or err if cause is nil.
func firstOf(cause, err error) error {
	if cause != nil {
		return cause
	}
	return err
}

// readParts sends the body on parts, in parts of up to inputPart bytes. It returns
// an error if the client stops sending, or disconnects while a part waits.
func (s *Server) readParts(ctx context.Context, w http.ResponseWriter, r *http.Request, parts chan<- []byte) error {
	if r.ContentLength == 0 {
		return nil
	}
	body := http.MaxBytesReader(w, r.Body, maxInput)
	control := http.NewResponseController(w)
	tick := time.NewTicker(hangUpEvery)
	defer tick.Stop()
	for {
		_ = control.SetReadDeadline(time.Now().Add(s.options.BodyTimeout)) // undoes holdBody's
		part, err := readPart(body)
		if err == io.EOF {
			_ = control.SetReadDeadline(time.Time{}) // from here on, net/http notices when the client disconnects
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
					return nil // the receiver ended ctx, and has its own error
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

// readPart reads inputPart bytes, or fewer and the error that ended the body.
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

type promptIn struct {
	SessionPath
	KeyHeader
	Body api.Prompt
}

func promptRoute() huma.Operation {
	op := route(http.MethodPost, "/sessions/{session}/prompt", "send-prompt", "Send a text to the session's program and submit it", accessFull)
	op.Description = "The text goes in as a paste, then the submit key of the session's profile is pressed. Each is typed only if the screen is the one that the sender has seen, " +
		"and the program prints nothing between that comparison and its reading. So the text does not answer a dialog that appears meanwhile, and prompts that are sent at once are not put together: " +
		"the problem is dialog-shown or screen-changed if nothing was typed, and not-submitted if the text was typed and the screen then showed something else that is new, or other text beside it."
	return op
}

func (s *Server) postPrompt(ctx context.Context, in *promptIn) (*reply[api.Prompted], error) {
	expect, err := expectation(in.Body.Expect, in.Body.ExpectRows)
	if err != nil {
		return nil, err
	}
	var when time.Duration
	if in.Body.When != "" {
		if when, err = parseDuration("timeout", in.Body.Timeout, waitDefault, waitMax); err != nil {
			return nil, err
		}
	} else if in.Body.Timeout != "" {
		return nil, problemf(api.CodeBadRequest, "timeout goes with when")
	}
	return answer(s.Prompt(ctx, in.Session, agent.Prompt{Text: in.Body.Text, Expect: expect, Answer: in.Body.Answer}, when))
}
