package plainfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"middleman/internal/plainfile"
)

func TestCheckPath(t *testing.T) {
	for path, want := range map[string]string{
		`C:\work\app`:         "",
		`c:/work/../app/`:     "",
		`\\server\share\work`: "",
		`C:\`:                 "",
		`C:\PROGRA~1\x`:       "",
		`C:\work\console`:     "",
		`C:\work\com10`:       "",
		`C:\work\.git`:        "",
		`C:\work\a..b`:        "",

		`C:\work\app:stream`:              "stream of a file",
		`C:\work\app::$DATA`:              "stream of a file",
		`C:\work\a:b\c`:                   "stream of a file",
		`C:\work\app.`:                    "ends in a dot",
		`C:\work\app `:                    "ends in a dot or a space",
		`C:\work.\app`:                    "ends in a dot",
		`C:\work\...`:                     "ends in a dot",
		`C:\work\NUL`:                     "name of a device",
		`C:\CON\app`:                      "name of a device",
		`C:\work\aux.txt`:                 "name of a device",
		`C:\work\COM1`:                    "name of a device",
		"C:\\work\\lpt\u00b9":             "name of a device",
		`C:\work\conin$`:                  "name of a device",
		`C:\work\a?b`:                     "allows in no name",
		"C:\\work\\a\nb":                  "allows in no name",
		`\\?\C:\work`:                     `after \\?\`,
		`\\.\pipe\x`:                      `after \\.\`,
		`\??\C:\work`:                     `after \??\`,
		`//?/C:/work`:                     `after \\?\`,
		`\\?\GLOBALROOT\Device\Harddisk0`: `after \\?\`,
	} {
		err := plainfile.CheckPath(path)
		if want == "" && err != nil || want != "" && (!errors.Is(err, plainfile.ErrRefused) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}

func TestExact(t *testing.T) {
	for path, want := range map[string]string{
		`C:\work\e.`:           `\\?\C:\work\e.`,
		`C:/work/../aux`:       `\\?\C:\aux`,
		`\\server\share\work `: `\\?\UNC\server\share\work `,
		`\\?\C:\work`:          `\\?\C:\work`,
		`work`:                 `work`,
	} {
		if got := plainfile.Exact(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// A short name and the full one are one path.
func TestFull(t *testing.T) {
	full := filepath.Join(plainfile.Full(t.TempDir()), "A Long Directory Name.With Dots")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	long, err := windows.UTF16PtrFromString(full)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]uint16, windows.MAX_LONG_PATH)
	if _, err := windows.GetShortPathName(long, &buf[0], uint32(len(buf))); err != nil {
		t.Fatal(err)
	}
	short := windows.UTF16ToString(buf)
	if got := plainfile.Full(short); got != full {
		t.Errorf("the full form of %s is %s, want %s", short, got, full)
	}
	if short == full {
		t.Log("this volume has no short names")
	}
	if none := filepath.Join(full, "none"); plainfile.Full(none) != none {
		t.Errorf("the full form of a missing file is %s", plainfile.Full(none))
	}
}
