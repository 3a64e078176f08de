package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPrint(t *testing.T) {
	type inner struct {
		A string   `json:"a"`
		B []string `json:"b"`
	}
	for _, tt := range []struct {
		name   string
		json   bool
		result any
		want   string
	}{
		{"text", false, inner{}, "in words\n"},
		{"struct", true, inner{A: "<&>"}, "{\n  \"schema\": 1,\n  \"a\": \"<&>\",\n  \"b\": null\n}\n"},
		{"embedded", true, struct {
			First bool `json:"first"`
			inner
		}{true, inner{B: []string{}}}, "{\n  \"schema\": 1,\n  \"first\": true,\n  \"a\": \"\",\n  \"b\": []\n}\n"},
		{"map", true, map[string]any{"a": []int{1}}, "{\n  \"schema\": 1,\n  \"a\": [\n    1\n  ]\n}\n"},
		{"nothing", true, struct{}{}, "{\n  \"schema\": 1\n}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := os.Create(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			c := New(nil, out, io.Discard)
			c.JSON = tt.json
			err = c.Print(tt.result, func() error {
				_, err := io.WriteString(c.Out, "in words\n")
				return err
			})
			if err != nil || c.Out.Flush() != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(out.Name()); err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	for _, tt := range []struct {
		name       string
		cols, last int
		want       string
	}{
		{"no terminal", 0, 2, "NAME      BRANCH              PATH\nfix       middleman/fix-long  /home/me/src/project/fix\n日本-rep  -                   /x\nshort\n"},
		{"wide enough", 60, 2, "NAME      BRANCH              PATH\nfix       middleman/fix-long  /home/me/src/project/fix\n日本-rep  -                   /x\nshort\n"},
		{"the last gives way", 35, 2, "NAME      BRANCH              PATH\nfix       middleman/fix-long  /hom…\n日本-rep  -                   /x\nshort\n"},
		{"then the widest", 25, 2, "NAME      BRANCH       P…\nfix       middleman/…  /…\n日本-rep  -            /x\nshort\n"},
		{"the last fits whole", 54, WholeLast, "NAME      BRANCH              PATH\nfix       middleman/fix-long  /home/me/src/project/fix\n日本-rep  -                   /x\nshort\n"},
		{"the last does not", 53, WholeLast, "NAME      BRANCH\nfix       middleman/fix-long\n日本-rep  -\nshort\n"},
		{"nor the widest", 22, WholeLast, "NAME      BRANCH\nfix       middleman/f…\n日本-rep  -\nshort\n"},
		{"and no further", 10, 2, "NAME    B…\nfix     m…\n日本-…  -…\nshort\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			table := &Table{out: &out, cols: tt.cols, last: tt.last}
			for _, row := range [][]string{{"NAME", "BRANCH", "PATH"}, {"fix", "middleman/fix-long", "/home/me/src/project/fix"}, {"日本-rep", "-", "/x"}, {"short", "", ""}} {
				table.Row(row...)
			}
			if err := table.Flush(); err != nil || out.String() != tt.want {
				t.Errorf("%v\n%s\nwant\n%s", err, out.String(), tt.want)
			}
		})
	}
}

// What another machine dates, whose clock may be ahead, is never younger than now.
func TestAge(t *testing.T) {
	for _, tt := range []struct {
		since time.Duration
		want  string
	}{{0, "0s"}, {-time.Hour, "0s"}, {-1 << 62, "0s"}, {90 * time.Second, "1m"}, {3 * time.Hour, "3h"}, {72 * time.Hour, "3d"}} {
		if got := Age(time.Now().Add(-tt.since)); got != tt.want {
			t.Errorf("%s ago: %q, want %q", tt.since, got, tt.want)
		}
	}
	if got := Age(time.Time{}); got != "-" {
		t.Errorf("no time: %q", got)
	}
}
