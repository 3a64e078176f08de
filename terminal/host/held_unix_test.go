//go:build unix

package host

import (
	"errors"
	"io"
	"os/exec"
	"testing"

	"github.com/creack/pty"

	"middleman/terminal"
)

// What the program reads of a held input before it waits in a write counts as typed,
// also where it read that before anybody looked. The rest is gone.
func TestTypeHeldTellsWhatWasRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reads int // of 3 bytes
		n     int
		err   error
	}{
		{"none", 0, 0, terminal.ErrChanged},
		{"one", 1, 1, nil},
		{"all but one", 2, 2, nil},
		{"all", 3, 3, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			master, tty, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			defer tty.Close()
			raw := exec.Command("stty", "raw", "-echo")
			raw.Stdin = tty
			if out, err := raw.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			settled := 0
			settle := func() error { // the second one comes after the typing
				if settled++; settled == 2 && tt.reads > 0 {
					_, err := io.ReadFull(tty, make([]byte, tt.reads))
					return err
				}
				return nil
			}
			n, err := TypeHeld(tty, settle, func() error { return nil }, func() (int, error) { return master.Write([]byte("yes")) })
			if n != tt.n || !errors.Is(err, tt.err) {
				t.Errorf("%d, %v, want %d, %v", n, err, tt.n, tt.err)
			}
			if left := unreadInput(int(tty.Fd())); left != 0 {
				t.Errorf("%d bytes are left", left)
			}
		})
	}
}
