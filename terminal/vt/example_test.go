package vt_test

import (
	"fmt"

	"middleman/terminal/vt"
)

func Example() {
	t := vt.New(vt.Options{Cols: 20, Rows: 3})
	fmt.Fprint(t, "\x1b]2;build\a\x1b[1mdone\x1b[0m in 3 s\r\n$ ")
	fmt.Print(t.Text(vt.TextOptions{}))
	fmt.Println(t.Title())
	// Output:
	// done in 3 s
	// $
	// build
}

// A snapshot brings another terminal into the same state.
func ExampleTerminal_AppendSnapshot() {
	t := vt.New(vt.Options{Cols: 20, Rows: 3})
	fmt.Fprint(t, "\x1b[?1049h\x1b[2;3H\x1b[31mediting")

	other := vt.New(vt.Options{Cols: 20, Rows: 3})
	other.Write(t.AppendSnapshot(nil, vt.SnapshotOptions{Scrollback: -1}))
	fmt.Printf("%q %d %d\n", other.Text(vt.TextOptions{}), other.Cursor().Col, other.Cursor().Row)
	// Output: "\n  editing\n" 9 1
}

// Queries are answered, and what does not show is reported.
func ExampleOptions() {
	t := vt.New(vt.Options{
		Answer: func(b []byte) { fmt.Printf("answer %q\n", b) },
		Event:  func(e vt.Event) { fmt.Println(e.Kind, e.Text) },
	})
	fmt.Fprint(t, "\x1b[6n\x1b]9;tests passed\a")
	// Output:
	// answer "\x1b[1;1R"
	// notification tests passed
}

func ExampleTerminal_Cells() {
	t := vt.New(vt.Options{Cols: 20, Rows: 3})
	fmt.Fprint(t, "plain \x1b[1;32mok")
	for _, run := range t.Cells().Lines[0].Runs {
		fmt.Printf("%q %+v\n", run.Text, run.Style != nil && run.Style.Bold)
	}
	// Output:
	// "plain " false
	// "ok" true
}
