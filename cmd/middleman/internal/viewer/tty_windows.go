package viewer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"middleman/terminal"
)

// IsTerminal reports whether f is a console.
func IsTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// Size returns the size of the first of files that is a console, or the zero
// Size.
func Size(files ...*os.File) terminal.Size {
	for _, f := range files {
		var info windows.ConsoleScreenBufferInfo
		if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) == nil {
			return terminal.Size{
				Cols: uint16(info.Window.Right - info.Window.Left + 1),
				Rows: uint16(info.Window.Bottom - info.Window.Top + 1),
			}
		}
	}
	return terminal.Size{}
}

// DiscardInput drops a console's unread input.
func DiscardInput(f *os.File) error {
	if err := windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())); err != nil {
		return fmt.Errorf("discard what was typed: %w", err)
	}
	return nil
}

func rawMode(*os.File) (restore func() error, err error) {
	return nil, fmt.Errorf("attach to a session from a console: %w", errors.ErrUnsupported)
}

// keyboard never reads, because rawMode fails before.
type keyboard struct{}

func newKeyboard(*os.File) (*keyboard, error) { return &keyboard{}, nil }

func (*keyboard) read([]byte, time.Duration) (int, error) { return 0, io.EOF }
func (*keyboard) lend() bool                              { return false }
func (*keyboard) lent()                                   {}
func (*keyboard) waitFor(bool) []int                      { return nil }
func (*keyboard) readNow([]byte) int                      { return 0 }
func (*keyboard) wake()                                   {}
func (*keyboard) close()                                  {}

// notifyResize does nothing: a console sends no such signal.
func notifyResize(chan os.Signal) {}

// hangup is the signal for a closed console.
const hangup = syscall.SIGHUP
