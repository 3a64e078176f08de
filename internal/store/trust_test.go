package store

import "testing"

func TestTrust(t *testing.T) {
	s := open(t)
	trusted := func(gitDir, hash string, want bool) {
		t.Helper()
		if got, err := s.Trusted(ctx, gitDir, hash); err != nil || got != want {
			t.Errorf("%s %s: %v, %v", gitDir, hash, got, err)
		}
	}
	trusted("/a", "1", false)
	must(t, s.Trust(ctx, "/a", "1", t0))
	must(t, s.Trust(ctx, "/a", "1", t0)) // agreed already
	must(t, s.Trust(ctx, "/a", "2", t0))
	must(t, s.Trust(ctx, "/b", "1", t0))
	trusted("/a", "1", true)
	trusted("/a", "3", false)
	trusted("/c", "1", false)
	if n, err := s.Distrust(ctx, "/a"); err != nil || n != 2 {
		t.Errorf("distrust: %d, %v", n, err)
	}
	trusted("/a", "1", false)
	trusted("/b", "1", true)
}
