package sandbox

import (
	"strings"
	"testing"
)

// The text of a profile: what is said later counts, and no path ends its string.
func TestSeatbeltProfile(t *testing.T) {
	got, ok := strings.CutPrefix(seatbeltProfile(Policy{
		Dir: "/Users/u/w", Temp: "/private/t", Writable: []string{`/Users/u/w "x"`}, Hidden: []string{"/Users/u/.ssh", "/Users"},
		Show: []string{"/Users/u/bin"}, ReadOnly: []string{`/Users/u/w "x"/.git`}, Network: Network{Off: true},
	}), seatbeltBase)
	const want = `(deny network*)
(allow network* (local ip "localhost:*") (remote ip "localhost:*"))
(deny file-read* file-write* (subpath "/Users"))
(deny file-read* file-write* (subpath "/Users/u/.ssh"))
(allow file-read* (subpath "/Users/u/bin"))
(deny file-write* (subpath "/Users/u/bin"))
(allow file-read* file-write* (subpath "/Users/u/w \"x\""))
(allow file-read* file-write* (subpath "/private/t"))
(allow file-read-metadata (literal "/private"))
(allow file-read-metadata (literal "/Users/u"))
(allow file-read-metadata (literal "/Users"))
(allow file-read-metadata (literal "/Users/u"))
(allow file-read-metadata (literal "/Users"))
(deny file-write* (subpath "/Users/u/w \"x\"/.git"))
`
	if !ok || got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
