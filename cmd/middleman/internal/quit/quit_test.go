package quit

import "testing"

func TestTake(t *testing.T) {
	ended := 0
	ends := func() { ended++ }
	for _, tt := range []struct {
		name  string
		do    func()
		ended int
		asked bool
	}{
		{"before it is known what it means", take, 0, true},
		{"of a command that prints", func() { Ends(ends); take() }, 1, false},
		{"before it is known that a command prints", func() { take(); Ends(ends) }, 1, false},
		{"of a command that attaches", func() { Ends(ends); Detaches(); take() }, 0, true},
		{"before it is known that a command attaches", func() { take(); Detaches(); Ends(ends) }, 0, true},
		{"after it has attached", func() { Ends(ends); Detaches()(); take() }, 1, false},
		{"while it was attached", func() { undo := Detaches(); take(); undo() }, 0, false},
		{"of a command that hands it on", func() { Ends(func() {}); take() }, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			end, detaches, ended = nil, false, 0
			Asked()
			tt.do()
			if was := Asked(); ended != tt.ended || was != tt.asked {
				t.Errorf("ended %d times, asked %v; want %d, %v", ended, was, tt.ended, tt.asked)
			}
			if Asked() {
				t.Error("asked twice")
			}
		})
	}
}
