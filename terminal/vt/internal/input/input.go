// Package input makes what benchmarks of terminal screens are fed.
package input

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// plain is a log without styles, of at least size bytes.
func plain(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "2026-01-02T15:04:05.%06d host service[%d]: request %d took %d ms and returned %d bytes\r\n",
			i%1000000, 1000+i%7, i, i*7%950, i*13%65536)
	}
	return b.Bytes()
}

// Coloured is what a compiler and a build system print, of at least size bytes.
func Coloured(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "\x1b[1msrc/module%d/file%d.c:%d:%d: \x1b[35mwarning: \x1b[0munused variable \x1b[1m‘value%d’\x1b[0m [\x1b[35;1m-Wunused-variable\x1b[0m]\r\n",
			i%31, i%97, i%1999, i%77, i)
		fmt.Fprintf(&b, "\x1b[32m[%3d%%] \x1b[0mBuilding C object src/CMakeFiles/module%d.dir/file%d.c.o\r\n", i%100, i%31, i%97)
	}
	return b.Bytes()
}

// fullScreen is a program that draws a screen of 80x24 again and again, of at
// least size bytes.
func fullScreen(size int) []byte {
	var b bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	b.WriteString("\x1b[?1049h\x1b[2J")
	for frame := 0; b.Len() < size; frame++ {
		b.WriteString("\x1b[?2026h\x1b[H\x1b[7m top - frame \x1b[K\x1b[0m\r\n")
		for row := 2; row <= 23; row++ {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[38;5;%dm%6d \x1b[1muser\x1b[0m \x1b[48;2;%d;20;30m%5.1f\x1b[0m  process %d │ running\x1b[K",
				row, random.IntN(256), random.IntN(99999), random.IntN(256), float64(random.IntN(1000))/10, random.IntN(500))
		}
		b.WriteString("\x1b[24;1H\x1b[30;42mF1Help  F2Setup\x1b[K\x1b[0m\x1b[?2026l")
	}
	return b.Bytes()
}

// Kinds are all of them, by name.
var Kinds = []struct {
	Name string
	Make func(size int) []byte
}{
	{"plain", plain},
	{"coloured", Coloured},
	{"fullscreen", fullScreen},
}
