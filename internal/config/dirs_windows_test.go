package config

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"
)

// Without settings everything is below %LOCALAPPDATA%.
func TestDefaultDirs(t *testing.T) {
	for _, name := range []string{"MIDDLEMAN_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	local, err := windows.KnownFolderPath(windows.FOLDERID_LocalAppData, windows.KF_FLAG_DEFAULT)
	if err != nil {
		t.Fatal(err)
	}
	want := Dirs{Data: filepath.Join(local, "middleman"), Config: filepath.Join(local, "middleman"), Runtime: filepath.Join(local, "middleman", "run")}
	if got, err := FindDirs(); got != want || err != nil {
		t.Errorf("the directories are %+v, %v; want %+v", got, err, want)
	}
}
