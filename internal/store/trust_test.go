package store

import "testing"

func TestTrust(t *testing.T) {
	s := open(t)
	trusted := func(gitDir, hash, want string) {
		t.Helper()
		got, err := s.Trusted(ctx, gitDir, hash)
		if want == "" {
			wantErr(t, err, ErrNotFound)
			return
		}
		if err != nil || string(got) != want {
			t.Errorf("%s %s: %q, %v, want %q", gitDir, hash, got, err, want)
		}
	}
	trusted("/a", "1", "")
	for _, c := range []TrustedConfig{
		{"/a", "1", []byte("one"), t0}, {"/a", "1", []byte("not recorded again"), t0}, {"/a", "2", []byte("two"), t0}, {"/b", "1", []byte("one"), t0},
	} {
		must(t, s.Trust(ctx, c))
	}
	trusted("/a", "1", "one")
	trusted("/a", "2", "two")
	trusted("/a", "3", "")
	trusted("/c", "1", "")
	list, err := s.TrustedConfigs(ctx)
	if err != nil || len(list) != 3 || list[0].Hash != "1" || string(list[0].Content) != "one" || !list[0].ApprovedAt.Equal(t0) || list[2].GitDir != "/b" {
		t.Errorf("%+v, %v", list, err)
	}
	if n, err := s.Distrust(ctx, "/a"); err != nil || n != 2 {
		t.Errorf("distrust: %d, %v", n, err)
	}
	trusted("/a", "1", "")
	trusted("/b", "1", "one")
}
