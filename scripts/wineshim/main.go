// Command wineshim writes the bcryptprimitives.dll that Wine 8 lacks and every Go
// program needs on Windows. The library has no code: its one export, ProcessPrng,
// is forwarded to advapi32.SystemFunction036, which fills a buffer with random
// bytes too.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
)

const (
	dll       = "bcryptprimitives.dll\x00"
	function  = "ProcessPrng\x00"
	forwarded = "advapi32.SystemFunction036\x00"

	base      = 0x180000000
	section   = 0x1000 // where the only section is loaded: the export table
	alignment = 0x200  // of the file
)

// Offsets in the section: the export directory of 40 bytes, then its tables.
const (
	functions = 40
	names     = functions + 4
	ordinals  = names + 4
	text      = ordinals + 2
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: wineshim FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], image(exports()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "wineshim:", err)
		os.Exit(1)
	}
}

// put appends values in the byte order of the format.
func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err) // a value without a fixed size
		}
	}
}

// exports returns the section: the export directory of the PE format, its
// tables, and their strings.
func exports() []byte {
	dllAt := uint32(section + text)
	functionAt := dllAt + uint32(len(dll))
	forwardedAt := functionAt + uint32(len(function))
	var b bytes.Buffer
	put(&b,
		uint32(0), uint32(0), uint32(0), dllAt, uint32(1), // flags, time, version, name, first ordinal
		uint32(1), uint32(1), // functions, names
		uint32(section+functions), uint32(section+names), uint32(section+ordinals),
		forwardedAt, functionAt, uint16(0),
		[]byte(dll+function+forwarded))
	return b.Bytes()
}

// image returns the whole file: headers, then the section.
func image(exports []byte) []byte {
	size := uint32(len(exports))
	var b bytes.Buffer
	b.WriteString("MZ")
	b.Write(make([]byte, 58))
	put(&b, uint32(64), []byte("PE\x00\x00"),
		// File header: amd64, one section, a DLL.
		uint16(0x8664), uint16(1), uint32(0), uint32(0), uint32(0), uint16(240), uint16(0x2022),
		// Optional header: sizes, no entry point, alignments, versions.
		uint16(0x20b), uint16(0), uint32(0), uint32(alignment), uint32(0), uint32(0), uint32(0),
		uint64(base), uint32(section), uint32(alignment),
		uint16(6), uint16(0), uint16(0), uint16(0), uint16(6), uint16(0), uint32(0),
		// Sizes of image and headers, console subsystem, no execution of data.
		uint32(2*section), uint32(alignment), uint32(0), uint16(3), uint16(0x100),
		uint64(0x100000), uint64(0x1000), uint64(0x100000), uint64(0x1000), uint32(0),
		// 16 data directories: exports only.
		uint32(16), uint32(section), size, make([]byte, 15*8),
		// The section.
		[]byte(".edata\x00\x00"), size, uint32(section), uint32(alignment), uint32(alignment), make([]byte, 12), uint32(0x40000040))
	b.Write(make([]byte, alignment-b.Len()))
	b.Write(exports)
	b.Write(make([]byte, 2*alignment-b.Len()))
	return b.Bytes()
}
