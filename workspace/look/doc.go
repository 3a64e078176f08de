// Package look finds out how a workspace stands, and changes nothing: what a
// delete would destroy (ForDelete), its status, what differs between it and its
// base (Compare, Commits), and what would happen if two came together (Forecast).
//
// The repository may be hostile. Nothing of its configuration runs, and a look
// that fails is never read as "nothing there": it is an error, and what was asked
// for before a delete then wraps model.ErrUnknown or another reason to refuse.
package look
