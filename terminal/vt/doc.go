// Package vt is a terminal's screen without the window: it is fed what a
// program writes and holds what a person would see, with every mode that the
// program has set.
//
// A Terminal is written to by Terminal.Write. It can be read as text
// (Terminal.Text), as text with colours (Terminal.ANSI), as structured data
// (Terminal.Cells), and as a snapshot (Terminal.AppendSnapshot): bytes that
// bring any terminal that was reset into the same state. Titles, bells and the
// like come out as Events; queries are answered through Options.Answer.
//
// The outcome is that of xterm.js 6 with its unicode-graphemes addon; where it
// is not, testdata/differences.txt gives the reason. Memory stays bounded
// whatever is fed, and nothing that is fed can make a Terminal panic or hang.
//
// The package never acts on what it is fed: it touches no clipboard, opens no
// link, and runs nothing. It starts no goroutine. A Terminal is not safe for
// concurrent use.
//
// To find a sequence, begin at table.go: it lists them all with the function
// that implements each.
package vt
