package repoconfig

import (
	"strings"
	"testing"
)

// Each key that the decoder knows is described, once, and nothing else is.
func TestKeysAreDescribed(t *testing.T) {
	described := map[string]int{}
	for _, text := range texts {
		described[text.Key]++
	}
	keys := Keys()
	if len(keys) < 10 {
		t.Errorf("there are %d keys", len(keys))
	}
	for _, k := range keys {
		if described[k.Key] != 1 || !strings.HasSuffix(k.About, ".") {
			t.Errorf("key %s has %d descriptions, want one that ends with a full stop: %q", k.Key, described[k.Key], k.About)
		}
		delete(described, k.Key)
		for _, value := range k.Values {
			text := "[profiles.p]\ncommand = [\"sh\"]\n" + strings.TrimPrefix(k.Key, "profiles.NAME.") + " = \"" + value + "\"\n"
			if _, err := Parse([]byte(text)); err != nil {
				t.Errorf("%s does not take %s: %v", k.Key, value, err)
			}
		}
	}
	for key := range described {
		t.Errorf("a description is of %s, which is no key", key)
	}
}
