package server

import (
	"context"
	"net/http"

	"middleman/internal/api"
)

type approveIn struct {
	WorkspacePath
	KeyHeader
	Body api.Approve
}

type workspaceIn struct{ WorkspacePath }

// DirectoryQuery is the query parameter of the user's directory.
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
	approve.Description = what + " Refused with 409 if the content does not have that hash."
	add(s, approve, s.postTrust)
	add(s, route(http.MethodGet, "/workspaces/{workspace}/setup-log", "get-setup-log", "The last output of setup or teardown", accessFull), s.getSetupLog)
	add(s, route(http.MethodGet, "/config", "get-config", "The configuration in the checkout that a directory is in", accessFull), s.getConfigIn)
	add(s, route(http.MethodGet, "/trust", "list-trust", "The user's agreements", accessFull), s.getTrust)
	add(s, route(http.MethodPost, "/trust", "trust-config", "Agree to the configuration in the checkout that a directory is in", accessFull), s.postTrustIn)
	add(s, route(http.MethodDelete, "/trust", "revoke-trust", "Revoke the user's agreements for a directory's repository", accessFull), s.deleteTrust)
}

func (s *Server) getConfig(ctx context.Context, in *workspaceIn) (*reply[api.RepoConfig], error) {
	return answer(s.Config(ctx, in.Workspace))
}

func (s *Server) postTrust(ctx context.Context, in *approveIn) (*reply[api.Approved], error) {
	return answer(s.Approve(ctx, in.Workspace, in.Body))
}

func (s *Server) getSetupLog(ctx context.Context, in *workspaceIn) (*reply[api.SetupLog], error) {
	return answer(s.SetupLog(ctx, in.Workspace))
}

func (s *Server) getConfigIn(ctx context.Context, in *DirectoryQuery) (*reply[api.RepoConfig], error) {
	return answer(s.ConfigIn(ctx, in.Directory))
}

func (s *Server) postTrustIn(ctx context.Context, in *approveDirectoryIn) (*reply[api.Approved], error) {
	return answer(s.ApproveIn(ctx, in.Body))
}

func (s *Server) getTrust(ctx context.Context, _ *struct{}) (*reply[api.Trusts], error) {
	return answer(s.Trusted(ctx))
}

func (s *Server) deleteTrust(ctx context.Context, in *revokeIn) (*reply[api.Revoked], error) {
	return answer(s.Revoke(ctx, in.Directory, in.DryRun))
}
