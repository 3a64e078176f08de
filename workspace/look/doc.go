// Package look inspects workspaces and changes nothing. ForDelete says what a
// delete would destroy. Other functions give a workspace's status, its
// differences from its base (Compare, Commits), and what merging two workspaces
// would do (Forecast).
//
// The repository may be hostile. No program that its configuration names runs.
// A failed inspection never means "nothing there": it is an error. Before a
// delete that error wraps model.ErrUnknown or another reason to refuse.
package look
