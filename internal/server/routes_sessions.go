package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/terminal/await"
	"middleman/terminal/recording"
)

// maxGrace bounds how long one stop may take.
const maxGrace = 5 * time.Minute

// SessionPath is the path parameter of a session.
type SessionPath struct {
	Session string `path:"session" doc:"Id of a session"`
}

type startIn struct {
	WorkspacePath
	KeyHeader
	Body api.NewSession
}

// SessionsQuery is part of requests for a list of sessions.
type SessionsQuery struct {
	PageQuery
	Recorded bool `query:"recorded" doc:"Only what is recorded: no session is asked for its state"`
}

func (q SessionsQuery) query() app.SessionQuery { return app.SessionQuery{Recorded: q.Recorded} }

type sessionsIn struct {
	WorkspacePath
	SessionsQuery
}

type stopIn struct {
	SessionPath
	KeyHeader
	Grace string `query:"grace" doc:"How long the program may take to end before it is killed, such as 5s; unset means the session's own"`
	Keep  bool   `query:"keep" doc:"Do not remove a session that has ended already"`
}

type resumeIn struct {
	SessionPath
	KeyHeader
	Body api.NewSession
}

type reportIn struct {
	SessionPath
	Body agent.Hook
}

type renameSessionIn struct {
	SessionPath
	KeyHeader
	Body api.Rename
}

type inputIn struct {
	SessionPath
	KeyHeader
	Expect     string `query:"expect" doc:"Type only if nothing was printed since this offset, or if the screen's text has this hash; both as capture tells them"`
	ExpectRows string `query:"expect_rows" doc:"The rows that a hash is of, such as 20-24; unset means the whole screen"`
	IfIdle     string `query:"if_idle" doc:"Type only if nothing was printed for so long, such as 2s"`
}

type captureIn struct {
	SessionPath
	Format     string `query:"format" enum:"text,ansi,json" default:"text"`
	Scrollback bool   `query:"scrollback" doc:"Include the lines above the screen"`
	Rows       string `query:"rows" doc:"Only these rows of the screen, such as 20-24, counted from 1"`
	At         string `query:"at" doc:"The screen as it was: an offset, how long ago (5m), a time of day by the server's clock (14:05; yesterday if that is in the future), or a date and time (RFC 3339, or 2026-01-31 14:05:30 by the server's clock); unset means now"`
}

type captureOut struct {
	ContentType string `header:"Content-Type"`
	Offset      uint64 `header:"Middleman-Offset" doc:"The offset as of which the screen is shown"`
	Cols        uint16 `header:"Middleman-Cols"`
	Rows        uint16 `header:"Middleman-Rows"`
	Hash        string `header:"Middleman-Hash" doc:"The hash of the text of the screen, or of the rows; unset for a session of an earlier build"`
	Steady      string `header:"Middleman-Steady" doc:"The hash of the same text without what moves by itself (spinners, seconds of work, the time of day in a status line), which expect takes too; unset for a session of an earlier build"`
	Note        string `header:"Middleman-Note" doc:"Why an earlier screen may differ from what was shown then; unset if it does not"`
	Body        []byte
}

func (s *Server) sessionRoutes() {
	start := route(http.MethodPost, "/workspaces/{workspace}/sessions", "start-session", "Start a session", accessFull)
	start.DefaultStatus = http.StatusCreated
	add(s, start, s.postSession)
	add(s, route(http.MethodGet, "/workspaces/{workspace}/sessions", "list-workspace-sessions", "Sessions of a workspace, oldest first", accessRead),
		func(ctx context.Context, in *sessionsIn) (*reply[api.Sessions], error) {
			return answer(s.ListSessions(ctx, in.Workspace, in.page(), in.query()))
		})
	add(s, route(http.MethodGet, "/sessions", "list-sessions", "All sessions, oldest first", accessRead),
		func(ctx context.Context, in *SessionsQuery) (*reply[api.Sessions], error) {
			return answer(s.ListSessions(ctx, "", in.page(), in.query()))
		})
	add(s, route(http.MethodGet, "/sessions/{session}", "get-session", "A session", accessSession), s.getSession)
	s.profileRoutes()
	stop := route(http.MethodDelete, "/sessions/{session}", "end-session", "Stop a session, or remove one that has ended", accessFull)
	stop.Description = "A running session is stopped with everything that it started, and stays listed as exited. An ended session is removed with its output."
	add(s, stop, s.deleteSession)
	rename := route(http.MethodPost, "/sessions/{session}/rename", "rename-session", "Give a session another name", accessFull)
	add(s, rename, func(ctx context.Context, in *renameSessionIn) (*reply[api.Session], error) {
		return answer(s.RenameSession(ctx, in.Session, in.Body.Name))
	})
	resume := route(http.MethodPost, "/sessions/{session}/resume", "resume-session", "Take up the conversation of an ended session again", accessFull)
	resume.Description = "Starts the program of the session's profile again, in the same workspace, in a session of its own. command, profile and prompt must not be set."
	resume.DefaultStatus = http.StatusCreated
	add(s, resume, s.postResume)
	status := route(http.MethodGet, "/sessions/{session}/status", "agent-status", "What a session's program does: works, waits for the user, is idle", accessSession)
	status.Description = "Told by the rules of the session's profile from the present screen and the title, or by the exit. Where no rule matches it is unknown."
	add(s, status, func(ctx context.Context, in *SessionPath) (*reply[agent.Report], error) {
		return answer(s.AgentStatus(ctx, in.Session))
	})
	report := route(http.MethodPost, "/sessions/{session}/report", "report-status", "Report what an agent's hook says", accessOwn)
	report.Description = "Taken over the Unix socket, with the token that the session's processes have as MIDDLEMAN_TOKEN. middleman report makes it from the JSON of the hook."
	add(s, report, func(ctx context.Context, in *reportIn) (*struct{}, error) {
		return nil, s.Report(ctx, in.Session, in.Body)
	})
	add(s, inputRoute(), s.postInput)
	add(s, promptRoute(), s.postPrompt)
	capture := route(http.MethodGet, "/sessions/{session}/capture", "capture", "The screen as text, text with colours, or JSON", accessSession)
	add(s, capture, s.getCapture)
	wait := route(http.MethodGet, "/sessions/{session}/wait", "wait", "Wait for the exit, for text, or for quiet", accessSession)
	wait.Description = "Searches the text of the present screen, and then of all new output, control sequences removed. In a regular expression ^ and $ match at each line. " +
		"If the session ends first, it searches once more, and then the problem is ended. The command line's wait means the same."
	add(s, wait, s.getWait)
}

func (s *Server) profileRoutes() {
	add(s, route(http.MethodGet, "/profiles", "list-profiles", "The profiles that a session can be started with: built-in ones and the user's", accessFull),
		func(ctx context.Context, _ *empty) (*reply[api.Profiles], error) { return answer(s.ListProfiles(ctx)) })
	add(s, route(http.MethodGet, "/workspaces/{workspace}/profiles", "list-workspace-profiles", "The same for a session of a workspace, with those of its repository that the user agreed to", accessFull),
		func(ctx context.Context, in *WorkspacePath) (*reply[api.Profiles], error) {
			return answer(s.ListWorkspaceProfiles(ctx, in.Workspace))
		})
}

func (s *Server) postSession(ctx context.Context, in *startIn) (*reply[api.Session], error) {
	if err := checkCallerEnv(ctx, in.Body.CallerEnv); err != nil {
		return nil, err
	}
	return answer(s.StartSession(ctx, in.Workspace, in.Body))
}

func (s *Server) postResume(ctx context.Context, in *resumeIn) (*reply[api.Session], error) {
	if err := checkCallerEnv(ctx, in.Body.CallerEnv); err != nil {
		return nil, err
	}
	return answer(s.ResumeSession(ctx, in.Session, in.Body))
}

func (s *Server) getSession(ctx context.Context, in *SessionPath) (*reply[api.Session], error) {
	v, err := s.Session(ctx, in.Session)
	if id, ok := caller(ctx); ok && id.scope == store.ScopeSession {
		v.Environment = nil // who may watch a screen is not told which secrets there are
	}
	return answer(v, err)
}

// checkCallerEnv refuses a caller's environment unless the request came over the
// Unix socket, which no other user and no browser can reach.
func checkCallerEnv(ctx context.Context, given [][]byte) error {
	if id, ok := caller(ctx); given == nil || ok && id.socket {
		return nil
	}
	return problemf(api.CodeForbidden, "caller_env is taken over the Unix socket only: name variables in env")
}

func (s *Server) deleteSession(ctx context.Context, in *stopIn) (*reply[api.Session], error) {
	grace, err := parseDuration("grace", in.Grace, 0, maxGrace)
	if err != nil {
		return nil, err
	}
	if in.Grace != "" && grace == 0 {
		grace = -1 // no grace; 0 would mean the session's own
	}
	return answer(s.EndSession(ctx, in.Session, grace, in.Keep))
}

func (s *Server) getCapture(ctx context.Context, in *captureIn) (*captureOut, error) {
	live, err := s.Terminal(ctx, in.Session)
	if err != nil {
		return nil, err
	}
	o := terminal.CaptureOptions{Format: terminal.CaptureFormat(in.Format), Scrollback: in.Scrollback}
	if o.At, err = moment(ctx, live, in.At); err != nil {
		return nil, err
	}
	if o.Rows, err = rows("rows", in.Rows); err != nil {
		return nil, err
	}
	if o.Scrollback && in.Rows != "" {
		return nil, problemf(api.CodeBadRequest, "give rows or scrollback, not both")
	}
	c, err := live.Capture(ctx, o)
	if err != nil {
		return nil, err
	}
	contentType := "text/plain; charset=utf-8"
	if in.Format == string(terminal.FormatJSON) {
		contentType = "application/json"
	}
	return &captureOut{ContentType: contentType, Offset: c.Offset, Cols: c.Size.Cols, Rows: c.Size.Rows, Hash: c.Hash, Steady: c.Steady, Note: c.Note, Body: c.Data}, nil
}

// moment parses the parameter at, and returns its offset; for a time, the session
// looks that up. It returns nil if text is "".
func moment(ctx context.Context, live terminal.Session, text string) (*uint64, error) {
	if text == "" {
		return nil, nil
	}
	m, err := recording.ParseMoment(text, time.Now())
	if err != nil {
		return nil, problemf(api.CodeBadRequest, "at: %v", err)
	}
	if !m.Time.IsZero() {
		m.Offset, err = live.OffsetAt(ctx, m.Time)
	}
	return &m.Offset, err
}

// rows parses a parameter that is rows of a screen. It returns the zero value if
// text is "".
func rows(name, text string) (terminal.Rows, error) {
	if text == "" {
		return terminal.Rows{}, nil
	}
	r, err := terminal.ParseRows(text)
	if err != nil {
		return r, problemf(api.CodeBadRequest, "%s: %v", name, err)
	}
	return r, nil
}

// offset parses a parameter that is an offset. It returns nil if text is "".
func offset(name, text string) (*uint64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, problemf(api.CodeBadRequest, "%s is %q: it must be an offset, a number of bytes", name, text)
	}
	return &n, nil
}

const (
	waitDefault  = 30 * time.Second
	waitMax      = time.Hour
	quietDefault = time.Second // how long without output is quiet
)

// waitIn has the parameters of a wait.
type waitIn struct {
	SessionPath
	For        string `query:"for" enum:"exit,text,regex,quiet" default:"exit"`
	Value      string `query:"value" doc:"The text, the regular expression (RE2), or how long it must be quiet, such as 2s"`
	Scrollback bool   `query:"scrollback" doc:"With text or regex: in the lines above the screen too"`
	From       string `query:"from" doc:"With text or regex: only in what is printed from this offset on, a number of bytes or now; the screen does not count then"`
	Timeout    string `query:"timeout" doc:"Such as 30s, which is the default; at most an hour"`
	Guest      string `query:"guest" doc:"As for the terminal: 1 for somebody who may only watch"`
}

func (s *Server) getWait(ctx context.Context, in *waitIn) (*reply[api.Waited], error) {
	limit, err := parseDuration("timeout", in.Timeout, waitDefault, waitMax)
	if err != nil {
		return nil, err
	}
	what := app.WaitFor{Kind: in.For, Value: in.Value, Scrollback: in.Scrollback}
	if in.From != "" {
		if what.From, err = await.ParseFrom(in.From); err != nil {
			return nil, problemf(api.CodeBadRequest, "from: %v", err)
		}
	}
	if what.Kind == "quiet" {
		if what.Quiet, err = parseDuration("value", in.Value, quietDefault, waitMax); err != nil {
			return nil, err
		}
	}
	return answer(s.Wait(ctx, in.Session, what, limit))
}

type spawnIn struct {
	SessionPath
	KeyHeader
	Body api.NewWorker
}

type sessionWorkersIn struct {
	SessionPath
	Wait string `query:"wait" doc:"How long to wait for all of them to have ended, such as 30s"`
}

type workersIn struct {
	Workspace string `query:"workspace" doc:"Only workers of sessions of that workspace, by its id"`
}

func (s *Server) workerRoutes() {
	spawn := route(http.MethodPost, "/sessions/{session}/workers", "spawn-worker", "Start a worker of a session", accessWorker)
	spawn.DefaultStatus = http.StatusCreated
	spawn.Description = "A worker works in the parent's directory, or in a worktree on a branch of its own within the parent's scope. The answer comes when the worker runs. If it cannot be made, only a record of it is left."
	add(s, spawn, s.postWorker)
	add(s, route(http.MethodGet, "/sessions/{session}/workers", "list-session-workers", "Workers of a session, ended ones too, oldest first", accessRead), s.getSessionWorkers)
	add(s, route(http.MethodGet, "/workers", "list-workers", "All workers, ended ones too, oldest first", accessRead), s.getWorkers)
}

func (s *Server) postWorker(ctx context.Context, in *spawnIn) (*reply[api.Spawned], error) {
	if err := checkCallerEnv(ctx, in.Body.Session.CallerEnv); err != nil {
		return nil, err
	}
	return answer(s.Spawn(ctx, in.Session, in.Body))
}

func (s *Server) getSessionWorkers(ctx context.Context, in *sessionWorkersIn) (*reply[api.Workers], error) {
	limit, err := parseDuration("wait", in.Wait, 0, maxPoll)
	if err != nil {
		return nil, err
	}
	list, err := s.SessionWorkers(ctx, in.Session, limit)
	return answer(api.Workers{Workers: list}, err)
}

func (s *Server) getWorkers(ctx context.Context, in *workersIn) (*reply[api.Workers], error) {
	list, err := s.ListWorkers(ctx, in.Workspace)
	return answer(api.Workers{Workers: list}, err)
}
