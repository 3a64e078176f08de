package workspace

import "context"

// InspectRetired returns what Retire would destroy. Commits on the workspace's
// own branch do not count, because the branch stays.
func (m *Manager) InspectRetired(ctx context.Context, w Workspace) (Loss, error) {
	return m.keeping().Inspect(ctx, w)
}

// Retire deletes w but keeps its branch. If anything else would be lost it
// refuses, as Delete does without discard.
func (m *Manager) Retire(ctx context.Context, w Workspace, progress Progress) (Loss, error) {
	return m.keeping().Delete(ctx, w, false, progress)
}

// keeping returns a copy of m that deletes no branch.
func (m *Manager) keeping() *Manager {
	return &Manager{base: m.base, prefix: m.prefix, keepBranches: true, inspector: m.inspector, deletes: m.deletes, private: m.private}
}
