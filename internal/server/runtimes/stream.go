package runtimes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/runtime"
	"middleman/terminal"
	"middleman/terminal/ws"
	"middleman/workspace"
)

const (
	// maxScreen bounds the bytes of a capture, maxPatch those of a patch.
	maxScreen = 32 << 20
	maxPatch  = 256 << 20
	// longestStream bounds the time of one stream, stall that without a byte.
	longestStream = time.Hour
	stall         = 30 * time.Second
)

// numbers and hash are the forms of headers that are passed on.
var (
	numberForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,20}$`) })
	hashForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })
)

// passHeader passes a header on if it has its form.
func passHeader(w http.ResponseWriter, resp *http.Response, form *regexp.Regexp, names ...string) {
	for _, name := range names {
		if value := resp.Header.Get(name); form.MatchString(value) {
			w.Header().Set(name, value)
		}
	}
}

// forwardInput passes input on. withBody has bounded it.
func (rs *routes) forwardInput(w http.ResponseWriter, r *http.Request, remote *runtime.Remote, c call) {
	ctx, cancel := context.WithTimeout(r.Context(), slow)
	defer cancel()
	c.header.Set("Content-Type", "application/octet-stream")
	resp, err := remote.Open(ctx, c.method, c.path, c.header, r.Body)
	if err != nil {
		rs.refuse(w, r, err)
		return
	}
	defer resp.Body.Close()
	passHeader(w, resp, numberForm(), "Middleman-Offset")
	w.WriteHeader(http.StatusNoContent)
}

// forwardCapture passes a screen on, whole.
func (rs *routes) forwardCapture(w http.ResponseWriter, r *http.Request, remote *runtime.Remote, c call) {
	ctx, cancel := context.WithTimeout(r.Context(), quick)
	defer cancel()
	resp, err := remote.Open(ctx, c.method, c.path, c.header, nil)
	if err != nil {
		rs.refuse(w, r, err)
		return
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxScreen+1))
	switch {
	case err != nil:
		rs.refuse(w, r, remote.Failed(err))
		return
	case len(raw) > maxScreen:
		rs.refuse(w, r, remote.Failed(&runtime.Error{Reason: runtime.TooMuch, Cause: errors.New("a screen is too large")}))
		return
	}
	passHeader(w, resp, numberForm(), "Middleman-Offset", "Middleman-Cols", "Middleman-Rows")
	passHeader(w, resp, hashForm(), "Middleman-Hash", "Middleman-Steady")
	if resp.Header.Get("Middleman-Note") != "" {
		w.Header().Set("Middleman-Note", "it may differ from what was shown then, because output before it is missing")
	}
	contentType := "text/plain; charset=utf-8"
	if r.URL.Query().Get("format") == string(terminal.FormatJSON) {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(raw) // an error means that the client has left
}

// forwardOutput passes the bytes of a session on.
func (rs *routes) forwardOutput(w http.ResponseWriter, r *http.Request, remote *runtime.Remote, c call) {
	rs.pass(w, r, remote, c, "application/octet-stream", 0)
}

// forwardRecording passes the recording of a session on.
func (rs *routes) forwardRecording(w http.ResponseWriter, r *http.Request, remote *runtime.Remote, c call) {
	rs.pass(w, r, remote, c, "application/x-asciicast", 0)
}

// forwardDiff passes a patch on, or the list of files that differ.
func (rs *routes) forwardDiff(w http.ResponseWriter, r *http.Request, remote *runtime.Remote, c call) {
	if r.URL.Query().Get("format") != "patch" {
		rs.forwardJSON(w, r, remote, c, forward{out: of[workspace.Diff](), limit: quick}, http.StatusOK)
		return
	}
	w.Header().Set("Trailer", "Middleman-Left-Out")
	rs.pass(w, r, remote, c, "text/x-diff", maxPatch)
}

// pass streams an answer of at most limit bytes; 0 means no limit. Whatever its
// length, it uses little memory. A stream that breaks off, stalls or is too long
// breaks the answer.
func (rs *routes) pass(w http.ResponseWriter, r *http.Request, remote *runtime.Remote, c call, contentType string, limit int64) {
	ctx, cancel := context.WithTimeout(r.Context(), longestStream)
	defer cancel()
	stalled := time.AfterFunc(stall, cancel)
	defer stalled.Stop()
	resp, err := remote.Open(ctx, c.method, c.path, c.header, nil)
	if err != nil {
		w.Header().Del("Trailer")
		rs.refuse(w, r, err)
		return
	}
	defer resp.Body.Close()
	passHeader(w, resp, numberForm(), "Middleman-Offset")
	w.Header().Set("Content-Type", contentType)
	buf := make([]byte, 64<<10)
	for sent := int64(0); ; {
		n, err := resp.Body.Read(buf)
		stalled.Reset(stall)
		if sent += int64(n); limit > 0 && sent > limit {
			panic(http.ErrAbortHandler)
		}
		if _, writeErr := w.Write(buf[:n]); writeErr != nil {
			return // the client has left
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(http.ErrAbortHandler) // a broken answer is the only way to tell that it is incomplete
		}
	}
	if left := resp.Trailer.Get("Middleman-Left-Out"); w.Header().Get("Trailer") != "" && numberForm().MatchString(left) {
		if _, err := strconv.ParseInt(left, 10, 64); err == nil {
			w.Header().Set("Middleman-Left-Out", left)
		}
	}
}

// forwardTerminal joins a browser to a session of the runtime. When the connection
// to the runtime breaks, the browser is told that the session does not answer, and
// comes back from the offset that it has.
func (rs *routes) forwardTerminal(w http.ResponseWriter, r *http.Request, remote *runtime.Remote, _ call) {
	o, err := ws.ParseQuery(r.URL.Query())
	if err != nil {
		rs.refuse(w, r, app.Refusef(api.CodeBadRequest, "%v", err))
		return
	}
	if o.Attach.Mode == terminal.ModeAttach {
		if err := rs.server.MayAttach(r); err != nil {
			rs.refuse(w, r, err)
			return
		}
	}
	o.Attach.Guest = rs.server.Guest(r)
	err = rs.server.Viewing(r.Context(), func(ctx context.Context) error {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
			Subprotocols: []string{rs.subprotocol}, CompressionMode: websocket.CompressionDisabled,
		})
		if err != nil {
			return nil // Accept has answered the request
		}
		_ = ws.Serve(ctx, conn, remote.Session(r.PathValue("session")), o) // the client was told; the runtime's log is its own
		return nil
	})
	if err != nil {
		rs.refuse(w, r, err)
	}
}
