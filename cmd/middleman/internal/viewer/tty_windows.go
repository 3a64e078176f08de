package viewer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	console "github.com/charmbracelet/x/windows"
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

// modes returns the modes in which a console passes every key and every sequence
// on, from those in which it is. Quick edit would let a click stop all output.
func modes(in, out uint32) (rawIn, rawOut uint32) {
	rawIn = in &^ (windows.ENABLE_PROCESSED_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_ECHO_INPUT |
		windows.ENABLE_MOUSE_INPUT | windows.ENABLE_QUICK_EDIT_MODE)
	rawIn |= windows.ENABLE_VIRTUAL_TERMINAL_INPUT | windows.ENABLE_WINDOW_INPUT | windows.ENABLE_EXTENDED_FLAGS
	rawOut = out | windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_WRAP_AT_EOL_OUTPUT |
		windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING | windows.DISABLE_NEWLINE_AUTO_RETURN
	return rawIn, rawOut
}

// rawMode makes the console of f pass every key on, as a terminal does, and
// understand what a terminal understands. restore undoes that.
func rawMode(f *os.File) (restore func() error, err error) {
	in := windows.Handle(f.Fd())
	// It is the console's own screen, also where standard output is something else.
	screen, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the console: %w", err)
	}
	out := windows.Handle(screen.Fd())
	var inBefore, outBefore uint32
	err = errors.Join(windows.GetConsoleMode(in, &inBefore), windows.GetConsoleMode(out, &outBefore))
	if err != nil {
		screen.Close()
		return nil, fmt.Errorf("read console modes: %w", err)
	}
	restore = func() error {
		err := errors.Join(windows.SetConsoleMode(in, inBefore), windows.SetConsoleMode(out, outBefore), screen.Close())
		if err != nil {
			return fmt.Errorf("restore console modes: %w", err)
		}
		return nil
	}
	rawIn, rawOut := modes(inBefore, outBefore)
	if err := errors.Join(windows.SetConsoleMode(in, rawIn), windows.SetConsoleMode(out, rawOut)); err != nil {
		return nil, fmt.Errorf("set console modes; Windows 10 1809 and newer have them: %w", errors.Join(err, restore()))
	}
	return restore, nil
}

// keyboard reads a console. wake ends a blocked read.
type keyboard struct {
	in     windows.Handle
	woken  windows.Handle // an event
	keys   consoleKeys
	unread []byte // what records typed that had no room in the reader's buffer
}

func newKeyboard(f *os.File) (*keyboard, error) {
	woken, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return nil, fmt.Errorf("watch the keyboard: %w", err)
	}
	return &keyboard{in: windows.Handle(f.Fd()), woken: woken}, nil
}

// read waits for keys for at most timeout, or for ever if that is negative. It
// returns 0 and nil at the timeout. It returns io.EOF when wake was called.
func (k *keyboard) read(p []byte, timeout time.Duration) (int, error) {
	deadline := time.Now().Add(timeout)
	for len(k.unread) == 0 {
		ms := uint32(windows.INFINITE)
		if timeout >= 0 {
			ms = uint32(max(0, time.Until(deadline)).Milliseconds())
		}
		which, err := windows.WaitForMultipleObjects([]windows.Handle{k.woken, k.in}, false, ms)
		switch {
		case err != nil:
			return 0, fmt.Errorf("wait for keys: %w", err)
		case which == windows.WAIT_OBJECT_0:
			return 0, io.EOF
		case which == uint32(windows.WAIT_TIMEOUT):
			return 0, nil
		}
		if err := k.take(); err != nil {
			return 0, err
		}
	}
	n := copy(p, k.unread)
	k.unread = k.unread[n:]
	return n, nil
}

// take reads the events that are there, of which there is one at least.
func (k *keyboard) take() error {
	var records [64]console.InputRecord
	var n uint32
	if err := console.ReadConsoleInput(k.in, &records[0], uint32(len(records)), &n); err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	for _, r := range records[:n] {
		switch r.EventType {
		case console.KEY_EVENT:
			e := r.KeyEvent()
			k.unread = k.keys.append(k.unread, consoleKey{
				down: e.KeyDown, repeats: e.RepeatCount, code: e.VirtualKeyCode, char: uint16(e.Char),
				ctrl: e.ControlKeyState&(console.LEFT_CTRL_PRESSED|console.RIGHT_CTRL_PRESSED) != 0,
			})
		case console.WINDOW_BUFFER_SIZE_EVENT:
			tellResize()
		}
	}
	return nil
}

// The keyboard is never lent: an attachment cannot wait for a console here.
func (*keyboard) lend() bool         { return false }
func (*keyboard) lent()              {}
func (*keyboard) waitFor(bool) []int { return nil }
func (*keyboard) readNow([]byte) int { return 0 }

// wake ends the current read and all later ones with io.EOF.
func (k *keyboard) wake() { _ = windows.SetEvent(k.woken) }

// close closes the event. No read may run any more.
func (k *keyboard) close() { windows.CloseHandle(k.woken) }

// resized is where the present viewer learns of a new size: a console tells it
// among its keys, and a process has one console.
var resized atomic.Pointer[chan os.Signal]

// notifyResize sends to changed when the console's size changes while keys are
// read. If changed is full that is dropped, because an earlier one is still to be
// handled.
func notifyResize(changed chan os.Signal) { resized.Store(&changed) }

func tellResize() {
	if changed := resized.Load(); changed != nil {
		select {
		case *changed <- syscall.Signal(0):
		default:
		}
	}
}

// hangup is what Go makes of a console that is closed.
const hangup = syscall.SIGTERM
