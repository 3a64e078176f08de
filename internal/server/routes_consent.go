package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"middleman/internal/api"
	"middleman/internal/approve/queue"
	"middleman/internal/audit"
	"middleman/internal/store"
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

// ApprovalPath is the path parameter of an approval.
type ApprovalPath struct {
	Approval string `path:"approval" doc:"Id of an approval"`
}

type requestApprovalIn struct {
	SessionPath
	KeyHeader
	Body api.NewApproval
}

// ApprovalsQuery is part of requests for a list of approvals.
type ApprovalsQuery struct {
	PageQuery
	All bool `query:"all" doc:"Include those that were decided"`
}

type sessionApprovalsIn struct {
	SessionPath
	ApprovalsQuery
}

type answerApprovalIn struct {
	ApprovalPath
	KeyHeader
	Body api.ApprovalAnswer
}

// approvalRoutes are the routes of what agents ask to be allowed.
func (s *Server) approvalRoutes() {
	request := route(http.MethodPost, "/sessions/{session}/approvals", "request-approval", "Ask for the use of a tool, as the permission hook of a session's agent", accessOwn)
	request.Description = "Answers when a rule or the user has decided. If the request ends before, nobody waits for a decision any more; asked again with the same id, it waits again, or gets the decision that was made meanwhile."
	add(s, request, s.postApproval)
	add(s, route(http.MethodGet, "/sessions/{session}/approvals", "list-session-approvals", "Requests of a session's agent that wait for approval, oldest first", accessRead),
		func(ctx context.Context, in *sessionApprovalsIn) (*reply[api.Approvals], error) {
			return answer(s.ListApprovals(ctx, store.ApprovalQuery{SessionID: in.Session, All: in.All}, in.page()))
		})
	add(s, route(http.MethodGet, "/approvals", "list-approvals", "Requests of agents that wait for approval, oldest first", accessRead),
		func(ctx context.Context, in *ApprovalsQuery) (*reply[api.Approvals], error) {
			return answer(s.ListApprovals(ctx, store.ApprovalQuery{All: in.All}, in.page()))
		})
	add(s, route(http.MethodGet, "/approvals/{approval}", "get-approval", "A request of an agent, and its decision", accessRead),
		func(ctx context.Context, in *ApprovalPath) (*reply[api.Approval], error) {
			return answer(s.Approval(ctx, in.Approval))
		})
	decide := route(http.MethodPost, "/approvals/{approval}", "answer-approval", "Allow or deny what an agent waits for", accessFull)
	decide.Description = "Of several answers the first counts; the others are refused with 409 and say whose that was."
	add(s, decide, s.postAnswer)
}

// postApproval answers once it is decided. A denial by a rule goes to the log of
// refusals, where an agent that asks all the time pushes out nothing else.
func (s *Server) postApproval(ctx context.Context, in *requestApprovalIn) (*reply[api.Approval], error) {
	a, err := s.RequestApproval(ctx, in.Session, in.Body)
	if err == nil && a.State == api.ApprovalDenied && a.DecidedBy == queue.ByRule && s.options.Audit != nil {
		s.options.Audit.Refuse(audit.Record{Event: audit.Approval, By: actor(ctx), Outcome: audit.Refused, What: "session " + in.Session + " " + a.Summary, Detail: a.Rule})
	}
	return answer(a, err)
}

func (s *Server) postAnswer(ctx context.Context, in *answerApprovalIn) (*reply[api.Approval], error) {
	a, err := s.AnswerApproval(ctx, in.Approval, in.Body, decider(ctx))
	audit.Note(ctx, fmt.Sprintf("%s session %s %s", in.Body.Decision, a.SessionID, a.Summary))
	return answer(a, err)
}

// decider says who a caller is, for the record of a decision.
func decider(ctx context.Context) string {
	by := actor(ctx)
	if by.Kind == socketSubject {
		return "command line"
	}
	return strings.TrimSpace(by.Kind + " " + cmp.Or(by.Name, by.ID))
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
