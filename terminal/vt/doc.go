// Package vt is a terminal's screen without the window: it is fed what a
// program writes and holds what a person would see, with every mode that the
// program has set.
//
// A Terminal is fed by Terminal.Write, cut anywhere. It can be read as text
// (Terminal.Text), as text with colours (Terminal.ANSI), as structured data
// (Terminal.Cells), and as a snapshot (Terminal.AppendSnapshot): bytes that
// bring any terminal that was reset into the same state. Titles, bells and the
// like come out as Events; queries are answered through Options.Answer.
//
// # What it understands
//
// table.go lists every sequence with the function that implements it; modes
// are in mode.go, SGR is in sgr.go. Input is UTF-8, invalid bytes are U+FFFD,
// and C1 controls are known as the characters U+0080 to U+009F only.
//
// The outcome is that of xterm.js 6 with its unicode-graphemes addon, widths
// and grapheme clusters included; where it is not, testdata/differences.txt
// gives the reason.
//
// # What it promises
//
// Memory is bounded whatever is fed: 64 KiB for 80x24 with nothing in the
// scrollback, below 16 MiB at any size with any input. Nothing that is fed can
// make a Terminal panic or hang, and the outcome does not depend on how the
// input was cut. A snapshot can be taken after any byte, also within a
// sequence or a rune, and the Terminal that it is fed to goes on as the first
// one would.
//
// The package never acts on what it is fed: it touches no clipboard, opens no
// link, and runs nothing. It starts no goroutine. A Terminal is not safe for
// concurrent use.
package vt
