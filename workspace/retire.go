package workspace

import "context"

// InspectRetired says what Retire would destroy: commits on the workspace's
// own branch are not lost with its directory.
func (m *Manager) InspectRetired(ctx context.Context, w Workspace) (Loss, error) {
	return m.keeping().Inspect(ctx, w)
}

// Retire deletes w but for its branch, which stays in the repository. Where
// anything else would be lost it refuses, as Delete does without consent.
func (m *Manager) Retire(ctx context.Context, w Workspace, progress Progress) (Loss, error) {
	return m.keeping().Delete(ctx, w, false, progress)
}

// keeping is m, but for that it deletes no branch.
func (m *Manager) keeping() *Manager {
	return &Manager{base: m.base, prefix: m.prefix, keepBranches: true, inspector: m.inspector}
}
