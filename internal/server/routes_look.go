package server

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"middleman/internal/api"
	"middleman/workspace"
)

type diffIn struct {
	WorkspacePath
	Against string   `query:"against" enum:"base,merge-base,head,upstream" doc:"What to compare with: the base as it is now, where the workspace left it (the default), its own HEAD, its upstream"`
	Format  string   `query:"format" enum:"patch,json" default:"json" doc:"Git's patch text, or which files differ"`
	Tracked bool     `query:"tracked" doc:"Leave untracked files out"`
	Path    []string `query:"path,explode" doc:"Files and directories, relative to the top; no patterns"`
	Max     int64    `query:"max" minimum:"0" default:"8388608" doc:"Bytes of patch text at most, 0 for all; the trailer Middleman-Left-Out says how many were cut off"`
}

type commitsIn struct {
	WorkspacePath
	PageQuery
	Against string `query:"against" enum:"base,upstream" doc:"Base as it is now (the default), or upstream"`
	Side    string `query:"side" enum:"ahead,behind" default:"ahead" doc:"ahead lists the commits that the workspace has beyond it, behind those that it lacks"`
}

type conflictsIn struct {
	WorkspacePath
	PageQuery
}

func (s *Server) lookRoutes() {
	diff := route(http.MethodGet, "/workspaces/{workspace}/diff", "diff-workspace", "Differences between the checkout and what it is compared with", accessRead)
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[workspace.Diff](), true, "Diff")
	diff.Responses = answerOf("text/x-diff", "With format=patch git's patch text, else the files")
	diff.Responses["200"].Content["application/json"] = &huma.MediaType{Schema: schema}
	add(s, diff, s.getDiff)
	add(s, route(http.MethodGet, "/workspaces/{workspace}/commits", "list-commits", "Commits ahead or behind, newest first", accessRead), s.getCommits)
	conflicts := route(http.MethodGet, "/workspaces/{workspace}/conflicts", "forecast-conflicts", "Which live workspaces of the repository it would conflict with", accessRead)
	conflicts.Description = "Commits are merged without changing anything. Uncommitted files that both workspaces change are named, but whether those would conflict is not known."
	add(s, conflicts, s.getConflicts)
}

// getDiff streams a comparison, as patch text or as JSON.
func (s *Server) getDiff(ctx context.Context, in *diffIn) (*stream, error) {
	w, err := s.Lookable(ctx, in.Workspace)
	if err != nil {
		return nil, err
	}
	request := workspace.DiffRequest{Against: workspace.Against(in.Against), Tracked: in.Tracked, Paths: in.Path}
	return raw(func(out http.ResponseWriter, r *http.Request) {
		answer := &lateAnswer{ResponseWriter: out}
		err := s.Compare(r.Context(), w, request, func(ctx context.Context, c *workspace.Comparison) error {
			if in.Format == "patch" {
				return sendPatch(ctx, answer, c, in.Max)
			}
			return sendFiles(ctx, answer, c)
		})
		switch {
		case err == nil:
		case !answer.begun:
			refuse(out, s.problem(err))
		default:
			s.Log.Warn("diff was cut off", "workspace", w.Name, "error", err)
			panic(http.ErrAbortHandler) // a broken answer is the only way to tell that it is incomplete
		}
	}), nil
}

// lateAnswer records whether an answer has begun. Until then the handler can
// still refuse.
type lateAnswer struct {
	http.ResponseWriter
	begun bool
}

func (a *lateAnswer) Write(p []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(p)
}

func sendFiles(ctx context.Context, out http.ResponseWriter, c *workspace.Comparison) error {
	files, err := c.Files(ctx)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(files)
	if err != nil {
		return err
	}
	out.Header().Set("Content-Type", "application/json")
	_, err = out.Write(append(raw, '\n'))
	return err
}

func sendPatch(ctx context.Context, out *lateAnswer, c *workspace.Comparison, most int64) error {
	h := out.Header()
	h.Set("Content-Type", "text/x-diff")
	h.Set("Trailer", "Middleman-Left-Out")
	h.Set("Middleman-Against", string(c.Against))
	h.Set("Middleman-Commit", c.Commit)
	leftOut, err := c.Patch(ctx, out, most)
	if err != nil && !out.begun {
		for _, name := range []string{"Content-Type", "Trailer", "Middleman-Against", "Middleman-Commit"} {
			h.Del(name)
		}
	}
	if err == nil {
		h.Set("Middleman-Left-Out", strconv.FormatInt(leftOut, 10))
	}
	return err
}

func (s *Server) getCommits(ctx context.Context, in *commitsIn) (*reply[workspace.Commits], error) {
	return answer(s.Commits(ctx, in.Workspace, workspace.CommitsRequest{
		Against: workspace.Against(in.Against), Behind: in.Side == "behind", Cursor: in.Cursor, Limit: in.Limit,
	}))
}

func (s *Server) getConflicts(ctx context.Context, in *conflictsIn) (*reply[api.Conflicts], error) {
	return answer(s.Conflicts(ctx, in.Workspace, in.Cursor, in.Limit))
}
