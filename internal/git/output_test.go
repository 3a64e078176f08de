package git

import "testing"

// The message that a directory could not be read is found wherever it stands, however it
// is written, and if more follows than is kept. A directory that is gone has nothing.
func TestUnlisted(t *testing.T) {
	const message = "warning: could not open directory 'b/': Permission denied\n"
	for _, cut := range []int{0, 1, 20, len(message) - 1, len(message)} {
		var stderr tail
		for _, part := range []string{"warning: other\n", message[:cut], message[cut:], "x\n"} {
			if n, err := stderr.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		for range 1000 {
			if _, err := stderr.Write([]byte("warning: LF will be replaced by CRLF\n")); err != nil {
				t.Fatal(err)
			}
		}
		if want := "could not open directory 'b/': Permission denied"; stderr.unlisted != want {
			t.Errorf("cut at %d: %q, want %q", cut, stderr.unlisted, want)
		}
	}
	var stderr tail
	if _, err := stderr.Write([]byte("warning: could not open directory 'b/': No such file or directory\n")); err != nil || stderr.unlisted != "" {
		t.Errorf("one that is gone: %q, %v", stderr.unlisted, err)
	}
}
