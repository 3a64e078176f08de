package service

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnitQuotes(t *testing.T) {
	text, err := systemdUnit(Options{
		Executable: `/opt/odd 100% $x/"mid"\dleman`,
		Args:       []string{"serve", "--listen", "a$b%c"},
		Env:        []string{"PATH=/a b:/c$d%e"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`ExecStart="/opt/odd 100%% $x/\"mid\"\\dleman" "serve" "--listen" "a$$b%%c"` + "\n",
		`Environment="PATH=/a b:/c$d%%e"` + "\n",
		"KillMode=process\n", "Type=notify\n", marker,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func TestAgentIsXML(t *testing.T) {
	odd := `/opt/<&>"'/middleman`
	text, err := launchdAgent(Options{Executable: odd, Args: []string{"serve"}, Env: []string{"PATH=/a&b"}, Log: "/l"})
	if err != nil {
		t.Fatal(err)
	}
	var strs []string
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			strs = append(strs, string(data))
		}
	}
	if all := strings.Join(strs, "\n"); !strings.Contains(all, odd+"\nserve\n") || !strings.Contains(all, "PATH\n/a&b\n") {
		t.Errorf("got %q", strs)
	}
}

func TestRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"a relative path": {Executable: "middleman"},
		"a new line":      {Executable: "/m", Args: []string{"a\nExecStart=/evil"}},
		"no UTF-8":        {Executable: "/m", Env: []string{"A=\xff"}},
	} {
		if _, err := systemdUnit(o); err == nil {
			t.Errorf("%s: no error from Unit", name)
		}
		if _, err := launchdAgent(o); err == nil {
			t.Errorf("%s: no error from Agent", name)
		}
	}
}

func TestInstalled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", unitName)
	if there, err := Installed(path); there || err != nil {
		t.Errorf("none: %v, %v", there, err)
	}
	text, err := systemdUnit(Options{Executable: "/m"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(path, text); err != nil {
		t.Fatal(err)
	}
	if there, err := Installed(path); !there || err != nil {
		t.Errorf("ours: %v, %v", there, err)
	}
	if err := os.WriteFile(path, []byte("[Service]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if there, err := Installed(path); !there || !errors.Is(err, ErrForeign) {
		t.Errorf("foreign: %v, %v", there, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
