package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// simulated are facts of a system that has what is named. A name with a slash at its
// end is a directory.
func simulated(names ...string) facts {
	return facts{kind: func(path string) kind {
		switch {
		case slices.Contains(names, path+"/"):
			return directory
		case slices.Contains(names, path):
			return file
		}
		return missing
	}}
}

func TestRules(t *testing.T) {
	system := []string{"/tmp/", "/run/", "/h/.ssh/", "/h/.netrc", "/d/", "/d/w/", "/d/w/.env", "/w/", "/w/out/", "/w/.env", "/tmp/w/", "/tmp/.x", "/run/u/w/", "/s/", "/s/a/", "/w/c/", "/w/c/d/", "/w/c/d/key"}
	for _, c := range []struct {
		name string
		p    Policy
		want string
	}{
		{"the least", Policy{}, "/run emptied, /tmp temporary"},
		{"hidden", Policy{Hidden: []string{"/h/.ssh", "/h/.netrc"}}, "/h/.netrc hidden, /h/.ssh hidden, /run emptied, /tmp temporary"},
		{"hidden, not there", Policy{Hidden: []string{"/h/.aws"}}, "/run emptied, /tmp temporary"},
		{"a workspace in hidden state", Policy{Hidden: []string{"/d"}, Writable: []string{"/d/w"}}, "/d hidden, /d/w writable, /run emptied, /tmp temporary"},
		{"a hidden file in it", Policy{Hidden: []string{"/d/w/.env", "/d"}, Writable: []string{"/d/w"}},
			"/d hidden, /d/w writable, /d/w/.env hidden, /run emptied, /tmp temporary"},
		{"a hidden file deep in it, and what leads there", Policy{Hidden: []string{"/w/c/d/key", "/w/.env"}, Writable: []string{"/w"}},
			"/run emptied, /tmp temporary, /w writable, /w/.env hidden, /w/c held, /w/c/d held, /w/c/d/key hidden"},
		{"a read-only directory deep in it, and what leads there", Policy{ReadOnly: []string{"/w/c/d", "/w/.git", "/x/y"}, Writable: []string{"/w"}},
			"/run emptied, /tmp temporary, /w writable, /w/c held"},
		{"below what is hidden", Policy{Hidden: []string{"/w/c/d/key", "/w/c"}, Writable: []string{"/w"}},
			"/run emptied, /tmp temporary, /w writable, /w/c hidden"},
		{"writable in writable is not bound again", Policy{Writable: []string{"/w/out", "/w"}}, "/run emptied, /tmp temporary, /w writable"},
		{"hidden in what is gone already", Policy{Hidden: []string{"/tmp/.x"}}, "/run emptied, /tmp temporary"},
		{"a workspace in /tmp and in /run", Policy{Writable: []string{"/tmp/w", "/run/u/w"}},
			"/run emptied, /run/u/w writable, /tmp temporary, /tmp/w writable"},
		{"shown in shown", Policy{Hidden: []string{"/d"}, Show: []string{"/d/w", "/d/w/.env"}}, "/d hidden, /d/w shown, /run emptied, /tmp temporary"},
		{"shown in the root", Policy{Show: []string{"/s"}}, "/run emptied, /tmp temporary"},
		{"one path in two lists", Policy{Hidden: []string{"/s"}, Writable: []string{"/s"}}, "/run emptied, /s writable, /tmp temporary"},
		{"another directory for temporary files", Policy{TempPaths: []string{"/s"}, Writable: []string{"/s/a"}},
			"/run emptied, /s temporary, /s/a writable, /tmp temporary"},
	} {
		var got []string
		for _, r := range rules(c.p, simulated(system...)) {
			got = append(got, r.path+" "+[]string{"asRoot", "held", "emptied", "temporary", "hidden", "shown", "writable"}[r.rule])
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, strings.Join(got, ", "), c.want)
		}
	}
}

func TestBubblewrapArgv(t *testing.T) {
	f := simulated("/run/", "/tmp/", "/var/tmp/", "/proc/bus/", "/proc/kcore", "/sys/firmware/", "/h/.ssh/", "/h/.netrc", "/w/", "/r/.git/")
	f.root = true
	p := Policy{
		Level: Strict, Method: Bubblewrap, Dir: "/w", Temp: "/t", Writable: []string{"/w"}, Hidden: []string{"/h/.ssh", "/h/.netrc"},
		Binds:    []Bind{{From: "/o", To: "/base"}, {From: "/q/git", To: "/r/.git", Write: true}},
		ReadOnly: []string{"/w/.git", "/r/.git/config"}, Network: Network{Off: true},
	}
	want := "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL" +
		" --ro-bind / / --dev /dev --tmpfs /dev/shm --proc /proc --unshare-net" +
		" --ro-bind /proc/sys /proc/sys --ro-bind /proc/bus /proc/bus --ro-bind /dev/null /proc/kcore --tmpfs /sys/firmware" +
		" --ro-bind /dev/null /h/.netrc --tmpfs /h/.ssh --tmpfs /run --bind /t /tmp --bind /t /var/tmp --bind /w /w" +
		" --ro-bind /o /base --bind /q/git /r/.git --ro-bind /w/.git /w/.git --ro-bind /q/git/config /r/.git/config" +
		" --remount-ro /h/.ssh --remount-ro /run --chdir /w --seccomp 7"
	if got := strings.Join(bubblewrapArgv(p, f, 7), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f.root = false
	if argv := bubblewrapArgv(p, f, 7); slices.Contains(argv, "/proc/kcore") || slices.Contains(argv, "/sys/firmware") {
		t.Errorf("an ordinary user: %q", argv)
	}
	p.Network = Network{}
	if argv := bubblewrapArgv(p, f, 0); slices.Contains(argv, "--unshare-net") || slices.Contains(argv, "--seccomp") {
		t.Errorf("with a network and without a filter: %q", argv)
	}
	p.Network.Allow = []string{"example.org"}
	if argv := bubblewrapArgv(p, f, 0); !slices.Contains(argv, "--unshare-net") {
		t.Errorf("a list of hosts, and the network is the system's: %q", argv)
	}
}

// Kernels without openat2 refuse the same links.
func TestOpenRefusesLinks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"real/inner", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, opener := range map[string]func(string) (int, unix.Stat_t, error){"open": open, "openByName": openByName} {
		for path, want := range map[string]string{"": "", "real/inner": "", "link": "symbolic link", "link/inner": "symbolic link", "missing": "no such file"} {
			fd, info, err := opener(filepath.Join(dir, path))
			if err == nil {
				unix.Close(fd)
			}
			if want == "" && (err != nil || info.Mode&unix.S_IFMT != unix.S_IFDIR) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s of %q: mode %#o, %v, want %q", name, path, info.Mode, err, want)
			}
		}
	}
}
