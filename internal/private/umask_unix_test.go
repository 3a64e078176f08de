//go:build unix

package private

import "testing"

func TestParseUmask(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		want       int
	}{
		{"empty", "", 0o022},
		{"commented", "# UMASK 077\n#UMASK 077\n", 0o022},
		{"set", "MAIL_DIR\t/var/mail\nUMASK\t\t027\n", 0o027},
		{"not a number", "UMASK 9x\n", 0o022},
		{"too large", "UMASK 7777\n", 0o022},
		{"another word", "UMASKS 077\nHOME_MODE 0700\n", 0o022},
	} {
		if got := parseUmask([]byte(tt.file)); got != tt.want {
			t.Errorf("%s: %04o, want %04o", tt.name, got, tt.want)
		}
	}
}
