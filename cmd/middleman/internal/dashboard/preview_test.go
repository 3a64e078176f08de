package dashboard

import (
	"strings"
	"testing"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/plaintext"
	"middleman/terminal/vt"
)

// What a program draws stands in its own cells, below the list and in a peek: what is
// invisible, and what would join a line of ours, is U+FFFD there.
func TestPreviewOfInvisible(t *testing.T) {
	const bad = "\ufffd"
	for _, tc := range []struct{ name, in, want string }{
		{"text", "naïve e\u0301 日本 ░", "naïve e\u0301 日本 ░"},
		{"drawn on purpose", "⠀⣀⡠ \u0600١ ❤️ 1️⃣ 👩‍💻.", "⠀⣀⡠ \u0600١ ❤️ 1️⃣ 👩‍💻."},
		{"bidirectional", "a\u202eb\u2066c\u200fd", "a" + bad + "b" + bad + "c" + bad + "d"},
		{"zero width", "a\u200bb\u00adc", "a" + bad + "b" + bad + "c"},
		{"combined with a letter", "rm\u200d x\U000e0041y", "r" + bad + " " + bad + "y"},
		{"combined with a wide letter", "日\U000e0041x", bad + " x"},
		{"the first cell", "\u202e\u200bx", bad + bad + "x"},
		{"a tag in the first cell", "\U000e0041x", bad + "x"},
		{"a mark without a letter", "\u0301x", bad + "x"},
		{"a mark without a letter here", "ab\x1b[1D\x1b[1X\u0301c", "a" + bad + "c"},
		{"a selector too many", "😀\ufe0f\ufe0f.", bad + " ."},
		{"a link", "\x1b]8;;http://a/\u202e\x1b\\b\x1b]8;;\x1b\\", "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDashboard(t.Context(), &cli.CLI{}, nil, "/")
			d.cols, d.rows = 60, 20
			d.all = rowsOf(someList(), nil)
			d.listed, d.widths = true, widthsOf(d.all)
			d.sift()
			for i, r := range d.table {
				if r.hasSession() {
					d.choose(i)
					break
				}
			}
			r, _ := d.selected()
			s := &screen{id: r.id, vt: vt.New(vt.Options{Cols: 60, Rows: 4}), used: 1}
			s.vt.Write([]byte(tc.in))
			d.preview = preview{id: r.id, screen: s}
			for _, d.pane = range []pane{nil, d.newPeek(r)} {
				shown := unstyled(d.View().Content)
				if !strings.Contains(shown, "\n"+tc.want+"\n") {
					t.Errorf("%q is not a line of\n%q", tc.want, shown)
				}
				for r := range strings.SplitSeq(shown, "") {
					if strings.Contains(tc.want, r) {
						continue
					}
					if plaintext.Text(r) != r {
						t.Errorf("%q is drawn", r)
					}
				}
			}
		})
	}
}
