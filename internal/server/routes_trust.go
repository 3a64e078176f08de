package server

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"middleman/internal/api"
	"middleman/internal/setup"
	"middleman/workspace"
)

type approveIn struct {
	WorkspacePath
	KeyHeader
	Body api.Approve
}

type workspaceIn struct{ WorkspacePath }

// DirectoryQuery is a directory of the user's.
type DirectoryQuery struct {
	Directory string `query:"directory" required:"true" doc:"Absolute: where the user stands"`
}

type revokeIn struct {
	DirectoryQuery
	KeyHeader
	DryRun bool `query:"dry_run" doc:"Only count them"`
}

type approveDirectoryIn struct {
	KeyHeader
	Body api.ApproveIn
}

func (s *Server) trustRoutes() {
	const what = "Nothing of a repository's configuration is used before the user agreed to exactly its content, by hash."
	show := route(http.MethodGet, "/workspaces/{workspace}/trust", "get-workspace-config", "The configuration in a workspace's checkout", accessFull)
	show.Description = what
	add(s, show, s.getConfig)
	approve := route(http.MethodPost, "/workspaces/{workspace}/trust", "trust-workspace-config", "Agree to the configuration in a workspace's checkout", accessFull)
	approve.Description = what + " Refused with 409 where it is not what the hash names."
	add(s, approve, s.postTrust)
	add(s, route(http.MethodGet, "/workspaces/{workspace}/setup-log", "get-setup-log", "What setup or teardown printed last", accessFull), s.getSetupLog)
	add(s, route(http.MethodGet, "/config", "get-config", "The configuration in the checkout that a directory is in", accessFull), s.getConfigIn)
	add(s, route(http.MethodGet, "/trust", "list-trust", "What the user agreed to", accessFull), s.getTrust)
	add(s, route(http.MethodPost, "/trust", "trust-config", "Agree to the configuration in the checkout that a directory is in", accessFull), s.postTrustIn)
	add(s, route(http.MethodDelete, "/trust", "revoke-trust", "Take back what the user agreed to in a directory's repository", accessFull), s.deleteTrust)
}

func (s *Server) getConfig(ctx context.Context, in *workspaceIn) (*reply[api.RepoConfig], error) {
	w, c, err := s.worktreeConfig(ctx, in.Workspace)
	return &reply[api.RepoConfig]{configView(w.Root, c)}, err
}

func (s *Server) postTrust(ctx context.Context, in *approveIn) (*reply[api.Approved], error) {
	w, c, err := s.worktreeConfig(ctx, in.Workspace)
	if err != nil {
		return nil, err
	}
	if err := s.trust(ctx, c, in.Body.Hash); err != nil {
		return nil, err
	}
	c.trusted = true
	out := api.Approved{Config: configView(w.Root, c)}
	if !in.Body.Setup {
		return &reply[api.Approved]{out}, nil
	}
	err = s.work.run(ctx, func(ctx context.Context) error {
		if w, err = s.setUpAgain(ctx, in.Workspace); err != nil {
			return err
		}
		v, err := s.wholeWorkspace(ctx, w)
		out.Workspace = &v
		return err
	})
	return &reply[api.Approved]{out}, err
}

func (s *Server) getSetupLog(ctx context.Context, in *workspaceIn) (*reply[api.SetupLog], error) {
	w, err := s.Store.Workspace(ctx, in.Workspace)
	if err != nil {
		return nil, err
	}
	log, err := setup.ReadLog(s.Dirs.SetupLog(w.ID))
	if errors.Is(err, fs.ErrNotExist) {
		err = problemf(api.CodeNotFound, "nothing was run to set up workspace %s", w.Name)
	}
	if err != nil {
		return nil, err
	}
	return &reply[api.SetupLog]{api.SetupLog{Text: string(log)}}, nil
}

func (s *Server) getConfigIn(ctx context.Context, in *DirectoryQuery) (*reply[api.RepoConfig], error) {
	top, c, err := s.configIn(ctx, in.Directory)
	return &reply[api.RepoConfig]{configView(top, c)}, err
}

func (s *Server) postTrustIn(ctx context.Context, in *approveDirectoryIn) (*reply[api.Approved], error) {
	top, c, err := s.configIn(ctx, in.Body.Directory)
	if err != nil {
		return nil, err
	}
	err = s.trust(ctx, c, in.Body.Hash)
	c.trusted = err == nil
	return &reply[api.Approved]{api.Approved{Config: configView(top, c)}}, err
}

func (s *Server) getTrust(ctx context.Context, _ *struct{}) (*reply[api.Trusts], error) {
	list, err := s.Store.TrustedConfigs(ctx)
	out := api.Trusts{Trusted: []api.Trust{}}
	for _, c := range list {
		out.Trusted = append(out.Trusted, api.Trust{GitDir: c.GitDir, Hash: c.Hash, Content: string(c.Content), ApprovedAt: c.ApprovedAt})
	}
	return &reply[api.Trusts]{out}, err
}

func (s *Server) deleteTrust(ctx context.Context, in *revokeIn) (*reply[api.Revoked], error) {
	_, gitDir, err := workspace.Checkout(ctx, in.Directory)
	if err != nil {
		return nil, err
	}
	if !in.DryRun {
		n, err := s.Store.Distrust(ctx, gitDir)
		return &reply[api.Revoked]{api.Revoked{Revoked: n}}, err
	}
	list, err := s.Store.TrustedConfigs(ctx)
	var out api.Revoked
	for _, c := range list {
		if c.GitDir == gitDir {
			out.Revoked++
		}
	}
	return &reply[api.Revoked]{out}, err
}
