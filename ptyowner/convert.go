package ptyowner

import (
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// The wire has shapes of its own, because they are permanent and those of
// package terminal are not.

func wireSize(s terminal.Size) wire.Size {
	return wire.Size{Cols: s.Cols, Rows: s.Rows, XPixels: s.XPixels, YPixels: s.YPixels}
}

func terminalSize(s wire.Size) terminal.Size {
	return terminal.Size{Cols: s.Cols, Rows: s.Rows, XPixels: s.XPixels, YPixels: s.YPixels}
}

func terminalWriter(w *wire.Writer) *terminal.Writer {
	if w == nil {
		return nil
	}
	return &terminal.Writer{Client: w.Client, Since: w.Since}
}

func wireExit(e terminal.Exit) wire.Exit {
	return wire.Exit{
		Code: e.Code, Signal: e.Signal, SignalName: e.SignalName,
		Offset: e.Offset, Time: e.Time, Size: wireSize(e.Size), Title: e.Title,
	}
}

func terminalExit(e wire.Exit) terminal.Exit {
	return terminal.Exit{
		Code: e.Code, Signal: e.Signal, SignalName: e.SignalName,
		Offset: e.Offset, Time: e.Time, Size: terminalSize(e.Size), Title: e.Title,
	}
}

func wireEvent(e terminal.Event) wire.Event {
	w := wire.Event{Kind: string(e.Kind), Offset: e.Offset, Text: e.Text}
	if e.Size != nil {
		s := wireSize(*e.Size)
		w.Size = &s
	}
	if e.Writer != nil {
		w.Writer = &wire.Writer{Client: e.Writer.Client, Since: e.Writer.Since}
	}
	return w
}

func terminalEvent(w wire.Event) terminal.Event {
	e := terminal.Event{Kind: terminal.EventKind(w.Kind), Offset: w.Offset, Text: w.Text}
	if w.Size != nil {
		s := terminalSize(*w.Size)
		e.Size = &s
	}
	e.Writer = terminalWriter(w.Writer)
	return e
}
