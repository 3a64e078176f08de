//go:build unix

package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/testenv"
	"middleman/tmux"
)

// A tmux that does not do one of the things that are relied on is not used, and
// it is said which: a wrapper passes all on but for one thing.
func TestSelfCheckNamesWhatFails(t *testing.T) {
	t.Parallel()
	real := testenv.RequireTool(t, "tmux")
	// The control client's commands come by a FIFO: a wrapper for them filters
	// its standard input.
	client := func(filter string) string {
		return `case " $* " in *" -C attach-session "*) sed -u ` + "'" + filter + "'" + ` | exec "$tmux" "$@" ;; *) exec "$tmux" "$@" ;; esac`
	}
	without := func(word string, args int) string {
		return fmt.Sprintf(`n=$#; skip=0
for arg; do
	if [ "$arg" = %s ]; then skip=%d; fi
	if [ $skip -gt 0 ]; then skip=$((skip - 1)); else set -- "$@" "$arg"; fi
done
shift $n; exec "$tmux" "$@"`, word, args)
	}
	for _, tt := range []struct{ name, script, want string }{
		{"none", `exec "$tmux" "$@"`, ""},
		{"new-session", `case " $* " in *" new-session "*) echo no sessions today >&2; exit 1 ;; esac; exec "$tmux" "$@"`, "make the tmux session: "},
		{"a mark", without("@middleman_pane", 2), "make the tmux session: "},
		{"the pipe", without("pipe-pane", 5), "connect to the pane: "},
		{"keys", client(`s/ 61\b/ 62/`), "keys did not arrive as they were typed"},
		{"paste", client(`s/pasteb -d[rS]*/pasteb -d/`), "a paste did not arrive as it was"},
		{"resize", client(`s/^resize-window.*/refresh-client/`), "a resize did not hold"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := testenv.ShortDir(t)
			wrapper := filepath.Join(dir, "wrapped")
			script := "#!/bin/sh\ntmux=" + real + "\nif [ \"$1\" = -V ]; then exec $tmux -V; fi\n" + tt.script + "\n"
			testenv.WriteProgram(t, wrapper, script)
			s := tmux.New(tmux.Options{Sessions: dir, Runtime: filepath.Join(dir, "run"), Tmux: wrapper})
			err := s.Usable(context.Background())
			if tt.want == "" && err == nil {
				return
			}
			if err == nil || tt.want == "" || !strings.Contains(err.Error(), wrapper+" does not do what sessions need: "+tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if _, again := s.Config(context.Background()); again == nil {
				t.Error("a session would be started")
			}
		})
	}
}

// What has passed is not tried again, by another process either, until the
// program changes; nothing of it is left.
func TestSelfCheckIsDoneOnce(t *testing.T) {
	t.Parallel()
	real := testenv.RequireTool(t, "tmux")
	dir := testenv.ShortDir(t)
	wrapper, log := filepath.Join(dir, "wrapped"), filepath.Join(dir, "log")
	write := func(comment string) {
		t.Helper()
		script := "#!/bin/sh\n# " + comment + "\necho \"$*\" >>" + log + "\nexec " + real + " \"$@\"\n"
		testenv.WriteProgram(t, wrapper, script)
	}
	sessions := func() int {
		t.Helper()
		s := tmux.New(tmux.Options{Sessions: dir, Runtime: filepath.Join(dir, "run"), Tmux: wrapper})
		if err := s.Usable(context.Background()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), " tmux-pane ")
	}
	write("first")
	if n := sessions(); n != 1 {
		t.Errorf("tried %d times", n)
	}
	if n := sessions(); n != 1 {
		t.Errorf("tried %d times, where it was known", n)
	}
	write("second, which is longer")
	if n := sessions(); n != 2 {
		t.Errorf("tried %d times after a change", n)
	}
	eventually(t, "nothing runs", func() bool { return exec.Command("pgrep", "-f", wrapper).Run() != nil })
}

// A process that is killed while it tries a tmux out leaves nothing.
func TestSelfCheckOfAKilledProcessLeavesNothing(t *testing.T) {
	t.Parallel()
	real := testenv.RequireTool(t, "tmux")
	for _, at := range []string{"list-sessions", "-- /bin/sh", "tmux-pane", "pipe-pane"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			temp := testenv.ShortDir(t)
			wrapper := script(t, `if [ "$1" = -V ]; then exec `+real+` -V; fi
`+real+` "$@" & case "$*" in *"`+at+`"*) kill -9 $PPID ;; esac; wait $!`)
			cmd := exec.Command(os.Args[0], tryOutProgram, temp, wrapper)
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			out, err := cmd.CombinedOutput()
			if at != "list-sessions" && err == nil {
				t.Fatalf("it was not killed: %s", out)
			}
			defer func() {
				if t.Failed() {
					left, _ := filepath.Glob(filepath.Join(temp, "run", tmux.TryDir, "*", "*"))
					runs, _ := exec.Command("pgrep", "-af", temp).Output() // none is an error
					t.Logf("left: %q, running: %s", left, runs)
				}
			}()
			eventually(t, "nothing left", func() bool {
				dirs, err := filepath.Glob(filepath.Join(temp, "run", tmux.TryDir, "*"))
				return err == nil && len(dirs) == 0
			})
			eventually(t, "nothing runs", func() bool {
				return exec.Command("pgrep", "-f", temp+"/run/try/").Run() != nil
			})
		})
	}
}

// A server that comes up when who tried it out has gone, with its files, ends by
// itself, also where nobody can reach it any more.
func TestSelfCheckThatIsOverBeforeItsServerStarts(t *testing.T) {
	t.Parallel()
	for _, socket := range []string{"is there", "is gone"} {
		t.Run(socket, func(t *testing.T) {
			t.Parallel()
			dir := testenv.ShortDir(t)
			run := filepath.Join(dir, "run")
			real := testenv.RequireTool(t, "tmux")
			o := tmux.Options{Sessions: dir, Runtime: run, Tmux: real}
			if socket == "is gone" {
				o.Tmux = script(t, `case "$*" in *kill-server) rm -f `+filepath.Join(run, tmux.SocketFile)+` ;; esac; exec `+real+` "$@"`)
			}
			// What it is told with may be cut off by its end.
			err := tmux.StartTry(t.Context(), o, filepath.Join(run, "never.fifo"))
			eventually(t, "nothing runs", func() bool { return exec.Command("pgrep", "-f", run).Run() != nil })
			if _, gone := os.Stat(run); !errors.Is(gone, fs.ErrNotExist) {
				t.Errorf("%s is there still; the start: %v", run, err)
			}
		})
	}
}

// tryOutProgram is the argument with which the test binary tries a tmux out.
const tryOutProgram = "try-tmux-out"

func tryOut(dir, program string) int {
	s := tmux.New(tmux.Options{Sessions: dir, Runtime: filepath.Join(dir, "run"), Tmux: program})
	if err := s.Usable(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
