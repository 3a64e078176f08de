package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"

	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/audit"
	"middleman/terminal"
	"middleman/terminal/await"
	"middleman/terminal/ws"
)

type outputIn struct {
	SessionPath
	From   string `query:"from" doc:"Offset of the first byte; unset means the oldest that is kept"`
	Ticket string `query:"ticket" doc:"In place of an Authorization header"`
}

type recordingIn struct {
	SessionPath
	Ticket string `query:"ticket" doc:"In place of an Authorization header"`
}

// terminalIn documents the parameters that ws.ParseQuery parses.
type terminalIn struct {
	SessionPath
	Mode       string `query:"mode" enum:"attach,watch" default:"attach"`
	From       string `query:"from" doc:"The offset that the viewer has; unset asks for a snapshot"`
	Cols       string `query:"cols"`
	Rows       string `query:"rows"`
	Takeover   string `query:"takeover" doc:"1 takes over from the attached writer"`
	Scrollback string `query:"scrollback" doc:"Lines that a snapshot draws first; negative is all"`
	Guest      string `query:"guest" doc:"1 for somebody who may only watch: a hub sets it for such a caller of its own, and it takes one of the places of these"`
	MaxLag     string `query:"max_lag" doc:"How many bytes behind the viewer may be before it gets a snapshot; 0 means everything that is kept"`
}

type searchIn struct {
	Text       string `query:"text" required:"true" maxLength:"1000" doc:"What to look for in each line"`
	Regex      bool   `query:"regex" doc:"text is a regular expression (RE2)"`
	IgnoreCase bool   `query:"ignore_case"`
	Word       bool   `query:"word" doc:"Only where no letter, digit or underscore is on either side"`
}

// getSearch finds lines in the kept output of all sessions.
func (s *Server) getSearch(ctx context.Context, in *searchIn) (*reply[api.Matches], error) {
	match, err := await.Query{Text: in.Text, Regex: in.Regex, IgnoreCase: in.IgnoreCase, Word: in.Word}.Match()
	if err != nil {
		return nil, problemf(api.CodeBadRequest, "text: %v", err)
	}
	return answer(s.Search(ctx, match))
}

func (s *Server) terminalRoutes() {
	search := route(http.MethodGet, "/search", "search", "Lines of the kept output of all sessions that have a text", accessRead)
	search.Description = "Each line that matches is told once, with the offset where it was printed last. Sessions of deleted workspaces are searched too."
	add(s, search, s.getSearch)
	terminal := route(http.MethodGet, "/sessions/{session}/terminal", "terminal", "The session's terminal, as a WebSocket", accessSession)
	terminal.Description = "Binary messages are terminal bytes both ways; text messages are JSON. A browser sends a ticket as the second subprotocol (middleman.v1, ticket.TICKET). Attaching needs the scope full, watching does not."
	terminal.Responses = map[string]*huma.Response{"101": {Description: "Switching to the WebSocket protocol"}}
	add(s, terminal, s.getTerminal)
	output := route(http.MethodGet, "/sessions/{session}/output", "output", "The session's raw bytes up to now", accessSession)
	output.Responses = answerOf("application/octet-stream", "Bytes, the first of them at the offset that the header Middleman-Offset gives")
	add(s, output, s.getOutput)
	recording := route(http.MethodGet, "/sessions/{session}/recording", "recording", "The session's kept output as a recording, for a player", accessSession)
	recording.Responses = answerOf("application/x-asciicast", "An asciicast v2 of the output that is kept up to now, with times and sizes")
	add(s, recording, s.getRecording)
}

// getTerminal upgrades to a WebSocket, and lets package ws serve it until either
// end closes.
func (s *Server) getTerminal(ctx context.Context, in *terminalIn) (*stream, error) {
	live, err := s.Terminal(ctx, in.Session)
	if err != nil {
		return nil, err
	}
	return raw(func(w http.ResponseWriter, r *http.Request) {
		o, err := ws.ParseQuery(r.URL.Query())
		if err != nil {
			refuse(w, problemf(api.CodeBadRequest, "%v", err))
			return
		}
		if o.Attach.Mode == terminal.ModeAttach {
			if p := permit(ctx, accessFull, ""); p != nil {
				s.recordRefusal(r, p)
				refuse(w, p)
				return
			}
			if o.Attach.Takeover {
				s.record(ctx, audit.Record{Event: audit.Takeover, What: "session " + in.Session, Outcome: audit.OK})
			}
		}
		err = s.Viewing(ctx, func(ctx context.Context) error {
			conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
				Subprotocols: []string{wsProtocol}, CompressionMode: websocket.CompressionDisabled,
			})
			if err != nil {
				return err // Accept has answered the request
			}
			return ws.Serve(ctx, conn, live, o)
		})
		switch {
		case errors.Is(err, app.ErrStopping):
			refuse(w, s.problem(err))
		case err != nil:
			s.Log.Info("terminal connection", "session", in.Session, "error", err)
		}
	}), nil
}

// getOutput streams the kept output from an offset on.
func (s *Server) getOutput(ctx context.Context, in *outputIn) (*stream, error) {
	from, err := offset("from", in.From)
	if err != nil {
		return nil, err
	}
	live, err := s.Terminal(ctx, in.Session)
	if err != nil {
		return nil, err
	}
	out, at, err := openOutput(ctx, live, from)
	if err != nil {
		return nil, err
	}
	return raw(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Middleman-Offset", strconv.FormatUint(at, 10))
		s.sendAll(r.Context(), w, "application/octet-stream", in.Session, out)
	}), nil
}

// getRecording streams the kept output with its times, as an asciicast.
func (s *Server) getRecording(ctx context.Context, in *recordingIn) (*stream, error) {
	live, err := s.Terminal(ctx, in.Session)
	if err != nil {
		return nil, err
	}
	session, err := s.Session(ctx, in.Session)
	if err != nil {
		return nil, err
	}
	cast, err := live.Recording(ctx)
	if err != nil {
		return nil, err
	}
	name := plainName(session.WorkspaceName + "-" + session.Name)
	return raw(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.cast"`)
		s.sendAll(r.Context(), w, "application/x-asciicast", in.Session, cast)
	}), nil
}

// plainName returns name with a dash for each character that a header or a file
// system may take for something else.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r)) {
			return r
		}
		return '-'
	}, name)
}

// sendAll answers with all bytes of from, and closes from. If ctx ends or a read
// fails before, it breaks the connection.
func (s *Server) sendAll(ctx context.Context, w http.ResponseWriter, contentType, session string, from io.ReadCloser) {
	w.Header().Set("Content-Type", contentType)
	_, err := io.Copy(w, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return from.Read(p)
	}))
	if err := from.Close(); err != nil {
		s.Log.Warn("close output", "session", session, "error", err)
	}
	if err != nil {
		// The status is sent, so only a broken answer tells that it is incomplete.
		panic(http.ErrAbortHandler)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func openOutput(ctx context.Context, live terminal.Session, from *uint64) (io.ReadCloser, uint64, error) {
	if from == nil {
		status, err := live.Status(ctx)
		if err != nil {
			return nil, 0, err
		}
		from = &status.Oldest
	}
	out, err := live.Output(ctx, *from)
	return out, *from, err
}
