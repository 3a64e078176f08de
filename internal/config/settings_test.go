package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"middleman/internal/keydoc"
)

// Each key that the decoder knows is described, once, and nothing else is.
func TestSettingsAreDescribed(t *testing.T) {
	described := map[string]int{}
	for _, text := range texts {
		described[text.Key]++
	}
	for _, s := range Default().Settings() {
		if described[s.Key] != 1 || !strings.HasSuffix(s.About, ".") {
			t.Errorf("setting %s has %d descriptions, want one that ends with a full stop: %q", s.Key, described[s.Key], s.About)
		}
		delete(described, s.Key)
	}
	for key := range described {
		t.Errorf("a description is of %s, which is no setting", key)
	}
}

// The default of each setting can be written as it is described, each of the words
// of a setting is accepted, and another is not.
func TestSettingsTakeWhatTheyAreSaidToTake(t *testing.T) {
	for _, s := range Default().Settings() {
		if strings.HasPrefix(s.Key, "profiles.") {
			continue // see repoconfig
		}
		defaults := keydoc.TOML(s.Value)
		if strings.HasPrefix(s.Key, "tls.") && s.Key != "tls.local" {
			defaults = `""`
		}
		c := Default()
		raw := fmt.Appendf(nil, "%s = %s\n", s.Key, defaults)
		if err := c.parse(raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if set, err := SetIn(raw); err != nil || !slices.Equal(slices.Collect(maps.Keys(set)), []string{s.Key}) {
			t.Errorf("%s sets %v, %v", raw, set, err)
		}
		for _, value := range s.Values {
			c := Default()
			if err := c.parse(fmt.Appendf(nil, "%s = %q", s.Key, value)); err != nil {
				t.Errorf("%s does not take %s: %v", s.Key, value, err)
			}
		}
		if len(s.Values) > 0 && c.parse(fmt.Appendf(nil, "%s = \"other\"", s.Key)) == nil {
			t.Errorf("%s takes more than its words", s.Key)
		}
	}
}
