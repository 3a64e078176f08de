package backendtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// testLeft: a job that outlives its program is told, and ended by a stop.
func testLeft(f *fixture) {
	file := filepath.Join(f.TempDir(), "pid")
	s := f.sh(`nohup sh -c 'echo $$ >` + file + `.new; mv ` + file + `.new ` + file + `; exec sleep 1000' >` + file + `.out 2>&1 &
		while ! [ -e ` + file + ` ]; do sleep 0.01; done; exit 7`)
	f.ended(s)
	b, err := os.ReadFile(file)
	f.ok(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	f.ok(err)
	left := func() []int {
		st, err := s.Status(f.ctx)
		f.ok(err)
		return st.Left
	}
	f.eventually(fmt.Sprintf("process %d is told as left", pid), func() bool { return slices.Equal(left(), []int{pid}) })
	f.ok(s.Stop(f.ctx, 0))
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		f.Errorf("process %d after the stop: %v, want %v", pid, err, unix.ESRCH)
	}
	if got := left(); len(got) > 0 {
		f.Errorf("left after the stop: %v", got)
	}
	if st := f.ended(s); st.Exit.Code != 7 {
		f.Errorf("exit %+v after the stop, want code 7", st.Exit)
	}
}
