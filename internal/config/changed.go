package config

import "middleman/internal/keydoc"

// Changed returns the settings in which a and b differ, with b's values.
func Changed(a, b Config) (changed []keydoc.Key) {
	before := a.Settings()
	for i, k := range b.Settings() {
		if keydoc.TOML(k.Value) != keydoc.TOML(before[i].Value) {
			changed = append(changed, k)
		}
	}
	return changed
}
