package server

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"middleman/terminal"
)

type outputIn struct {
	SessionPath
	From string `query:"from" doc:"Offset of the first byte; unset means the oldest that is kept"`
}

func (s *Server) terminalRoutes() {
	output := route(http.MethodGet, "/sessions/{session}/output", "output", "The session's raw bytes up to now", accessSession)
	output.Responses = answerOf("application/octet-stream", "Bytes, the first of them at the offset that the header Middleman-Offset gives")
	add(s, output, s.getOutput)
}

// getOutput streams what is kept.
func (s *Server) getOutput(ctx context.Context, in *outputIn) (*stream, error) {
	from, err := offset("from", in.From)
	if err != nil {
		return nil, err
	}
	live, err := s.live(ctx, in.Session)
	if err != nil {
		return nil, err
	}
	out, at, err := openOutput(ctx, live, from)
	if err != nil {
		return nil, err
	}
	return raw(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Middleman-Offset", strconv.FormatUint(at, 10))
		_, err := io.Copy(w, out)
		if err := out.Close(); err != nil {
			s.Log.Warn("close output", "session", in.Session, "error", err)
		}
		if err != nil {
			// The status is sent: only a broken answer says that it is not whole.
			panic(http.ErrAbortHandler)
		}
	}), nil
}

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
