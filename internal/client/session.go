package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"middleman/internal/api"
	"middleman/terminal"
	"middleman/terminal/ws"
)

const (
	offsetHeader = "Middleman-Offset"
	// maxCapture bounds the bytes of a screen with its scrollback.
	maxCapture = 32 << 20
)

// Session acts on a session through the server, as its owner would. It does no I/O.
// For all errors of the connection the session does not answer
// (terminal.ErrUnreachable).
func (c *Client) Session(id string) terminal.Session { return &session{c, id} }

type session struct {
	c  *Client
	id string
}

func (s *session) path(leaf string, query url.Values) string {
	path := "/sessions/" + url.PathEscape(s.id) + leaf
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// sessionError returns what err means for a session.
func sessionError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	p, ok := errors.AsType[*api.Problem](err)
	if !ok {
		return fmt.Errorf("%w: %w", terminal.ErrUnreachable, err)
	}
	meaning := map[string]error{
		api.CodeNotFound: terminal.ErrNotFound, api.CodeEnded: terminal.ErrEnded, api.CodeUnreachable: terminal.ErrUnreachable,
		api.CodeRange: terminal.ErrRange, api.CodeChanged: terminal.ErrChanged, api.CodeTooManyView: terminal.ErrTooManyViewers,
		api.CodeUnsupported: errors.ErrUnsupported, api.CodeRuntimeLost: terminal.ErrUnreachable,
	}[p.Code]
	if p.Code == api.CodeEnded && p.Status == http.StatusGone {
		meaning = terminal.ErrGone
	}
	if meaning == nil {
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}

func (s *session) shown(ctx context.Context) (v api.Session, err error) {
	err = s.c.call(ctx, http.MethodGet, s.path("", nil), nil, &v)
	return v, sessionError(err)
}

// Status implements terminal.Session. Oldest is not told, and 0.
func (s *session) Status(ctx context.Context) (terminal.Status, error) {
	v, err := s.shown(ctx)
	if err != nil {
		return terminal.Status{}, err
	}
	if v.State == terminal.StateUnreachable {
		return terminal.Status{}, terminal.ErrUnreachable
	}
	return terminal.Status{
		ID: v.ID, Workspace: v.WorkspaceID, Backend: v.Backend, State: v.State, PID: v.PID, Argv: v.Argv, StartedAt: v.CreatedAt,
		Size: v.Size, Title: v.Title, Foreground: v.Foreground, Head: v.Offset, JournalBytes: v.KeepOutput, Clipboard: v.Clipboard, Journal: v.Journal,
		Writer: v.Writer, Watchers: v.Watchers, Unseen: v.Unseen, Exit: v.Exit, Left: v.Left, Lost: v.Error, Source: v.Source, AsOf: v.AsOf,
	}, nil
}

// WaitSession waits until a session's program has exited or, with quiet, until there was
// no output for so long, at most for limit: then the error is an *api.Problem with the
// code CodeTimeout. Of the output nothing is sent.
func (c *Client) WaitSession(ctx context.Context, id string, quiet, limit time.Duration) (v api.Waited, err error) {
	query := url.Values{"for": {"exit"}, "timeout": {limit.String()}}
	if quiet > 0 {
		query.Set("for", "quiet")
		query.Set("value", quiet.String())
	}
	err = c.call(ctx, http.MethodGet, (&session{c, id}).path("/wait", query), nil, &v)
	return v, sessionError(err)
}

// Attach implements terminal.Session. The query of a terminal has no name for the
// client, and no AttachOptions.NoOutput, Activity and Reader.
func (s *session) Attach(ctx context.Context, o terminal.AttachOptions) (terminal.Attachment, error) {
	header := http.Header{}
	if s.c.token != "" {
		header.Set("Authorization", "Bearer "+s.c.token)
	}
	a, err := ws.Dial(ctx, s.c.http, s.c.base+s.path("/terminal", nil), header, o)
	if busy, ok := errors.AsType[*terminal.BusyError](err); ok {
		busy.Session = s.id
	}
	return a, err
}

// Input implements terminal.Session.
func (s *session) Input(ctx context.Context, p []byte) error {
	_, err := s.Type(ctx, p, terminal.Expect{})
	return err
}

// Type implements terminal.Session, but for Expect.Held.
func (s *session) Type(ctx context.Context, p []byte, e terminal.Expect) (uint64, error) {
	query := url.Values{}
	switch {
	case e.Held:
		return 0, fmt.Errorf("type while the output is held, by the server's API: %w", errors.ErrUnsupported)
	case e.Offset != nil:
		query.Set("expect", strconv.FormatUint(*e.Offset, 10))
	case e.Hash != "":
		query.Set("expect", e.Hash)
	}
	if e.Rows != (terminal.Rows{}) {
		query.Set("expect_rows", rowsText(e.Rows))
	}
	if e.Idle > 0 {
		query.Set("if_idle", e.Idle.String())
	}
	resp, err := s.c.do(ctx, http.MethodPost, s.path("/input", query), bytes.NewReader(p))
	if err != nil {
		if refused, ok := errors.AsType[*api.Problem](err); ok && refused.Code == api.CodeNotRead && refused.Taken != nil {
			return 0, &terminal.NotReadError{Session: s.id, Typed: int(*refused.Taken)}
		}
		return 0, sessionError(err)
	}
	defer resp.Body.Close()
	return headerOffset(resp)
}

func rowsText(r terminal.Rows) string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

func headerOffset(resp *http.Response) (uint64, error) {
	n, err := strconv.ParseUint(resp.Header.Get(offsetHeader), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: its answer has no offset: %w", terminal.ErrUnreachable, err)
	}
	return n, nil
}

// Capture implements terminal.Session.
func (s *session) Capture(ctx context.Context, o terminal.CaptureOptions) (terminal.Capture, error) {
	query := url.Values{"format": {string(o.Format)}}
	if o.Scrollback {
		query.Set("scrollback", "1")
	}
	if o.At != nil {
		query.Set("at", strconv.FormatUint(*o.At, 10))
	}
	if o.Rows != (terminal.Rows{}) {
		query.Set("rows", rowsText(o.Rows))
	}
	return s.capture(ctx, query)
}

func (s *session) capture(ctx context.Context, query url.Values) (c terminal.Capture, err error) {
	resp, err := s.c.do(ctx, http.MethodGet, s.path("/capture", query), nil)
	if err != nil {
		return c, sessionError(err)
	}
	defer resp.Body.Close()
	if c.Offset, err = headerOffset(resp); err != nil {
		return c, err
	}
	for name, to := range map[string]*uint16{"Middleman-Cols": &c.Size.Cols, "Middleman-Rows": &c.Size.Rows} {
		n, err := strconv.ParseUint(resp.Header.Get(name), 10, 16)
		if err != nil {
			return c, fmt.Errorf("%w: its answer has no size: %w", terminal.ErrUnreachable, err)
		}
		*to = uint16(n)
	}
	c.Hash, c.Steady = resp.Header.Get("Middleman-Hash"), resp.Header.Get("Middleman-Steady")
	c.Note = resp.Header.Get("Middleman-Note")
	c.Data, err = io.ReadAll(io.LimitReader(resp.Body, maxCapture+1))
	if err == nil && len(c.Data) > maxCapture {
		err = fmt.Errorf("the screen has more than %d bytes", maxCapture)
	}
	if err != nil {
		return c, fmt.Errorf("%w: %w", terminal.ErrUnreachable, err)
	}
	return c, nil
}

// Output implements terminal.Session.
func (s *session) Output(ctx context.Context, from uint64) (io.ReadCloser, error) {
	resp, err := s.c.do(ctx, http.MethodGet, s.path("/output", url.Values{"from": {strconv.FormatUint(from, 10)}}), nil)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Code == api.CodeTrimmed {
		return nil, s.trimmed(ctx, from)
	}
	if err != nil {
		return nil, sessionError(err)
	}
	return output{resp.Body}, nil
}

// trimmed returns the error for an offset that is no longer kept. The oldest one
// that is kept is where the output begins that is asked for without an offset.
func (s *session) trimmed(ctx context.Context, from uint64) error {
	resp, err := s.c.do(ctx, http.MethodGet, s.path("/output", nil), nil)
	if err != nil {
		return sessionError(err)
	}
	defer resp.Body.Close()
	oldest, err := headerOffset(resp)
	if err != nil {
		return err
	}
	return &terminal.TrimmedError{Offset: from, Oldest: oldest}
}

// output is the body of an answer. One that breaks off is ErrUnreachable.
type output struct{ io.ReadCloser }

func (o output) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", terminal.ErrUnreachable, err)
	}
	return n, err
}

// OffsetAt implements terminal.Session.
func (s *session) OffsetAt(ctx context.Context, t time.Time) (uint64, error) {
	c, err := s.capture(ctx, url.Values{"format": {"text"}, "rows": {"1-1"}, "at": {t.Format(time.RFC3339Nano)}})
	return c.Offset, err
}

// Recording implements terminal.Session.
func (s *session) Recording(ctx context.Context) (io.ReadCloser, error) {
	resp, err := s.c.do(ctx, http.MethodGet, s.path("/recording", nil), nil)
	if err != nil {
		return nil, sessionError(err)
	}
	return output{resp.Body}, nil
}

// Environment implements terminal.Session.
func (s *session) Environment(ctx context.Context) ([]terminal.Variable, error) {
	v, err := s.shown(ctx)
	return v.Environment, err
}

// LinkAgent does nothing: the caller's agent is not where the session is.
func (s *session) LinkAgent(context.Context, string) error { return nil }

// Stop implements terminal.Session.
func (s *session) Stop(ctx context.Context, grace time.Duration) error {
	query := url.Values{"keep": {"1"}}
	switch {
	case grace < 0:
		query.Set("grace", "0s")
	case grace > 0:
		query.Set("grace", grace.String())
	}
	return sessionError(s.c.call(ctx, http.MethodDelete, s.path("", query), nil, nil))
}

// Remove is not supported: it is the server that removes sessions.
func (s *session) Remove(context.Context) error {
	return fmt.Errorf("remove a session by the server's API: %w", errors.ErrUnsupported)
}
