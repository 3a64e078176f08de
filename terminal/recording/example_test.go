package recording_test

import (
	"fmt"
	"log"
	"os"

	"middleman/terminal/journal"
	"middleman/terminal/recording"
	"middleman/terminal/vt"
)

// What a terminal showed earlier is drawn from the journal of its output.
func ExampleRecording_At() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := journal.Create(dir, journal.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	w.MarkSize(20, 3)
	for _, p := range []string{"compiling\r\n", "\x1b[2J\x1b[Hdone\r\n"} {
		if err := w.Append([]byte(p)); err != nil {
			log.Fatal(err)
		}
	}
	for _, offset := range []uint64{11, 24} {
		screen, err := recording.Open(dir, recording.Options{}).At(offset)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %q\n", offset, screen.Terminal.Text(vt.TextOptions{}))
	}
	// Output:
	// 11 "compiling\n"
	// 24 "done\n"
}
