package private

import (
	"encoding/binary"
	"testing"
)

func TestNamesOthers(t *testing.T) {
	const me, mine = 1000, 1000
	type entry struct {
		tag, perm uint16
		id        uint32
	}
	const owner, named, group, namedGroup, mask, other = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
	base := []entry{{owner, 6, ^uint32(0)}, {group, 6, ^uint32(0)}, {mask, 6, ^uint32(0)}, {other, 4, ^uint32(0)}}
	for _, tt := range []struct {
		name string
		more []entry
		want bool
	}{
		{"nobody", nil, false},
		{"another who reads", []entry{{named, 4, 1001}}, false},
		{"another who writes", []entry{{named, 6, 1001}}, true},
		{"root", []entry{{named, 6, 0}}, false},
		{"oneself", []entry{{named, 6, me}}, false},
		{"one's own group", []entry{{namedGroup, 6, mine}}, false},
		{"another group that writes", []entry{{namedGroup, 2, 1001}}, true},
		{"another group that reads", []entry{{namedGroup, 5, 1001}}, false},
	} {
		list := binary.LittleEndian.AppendUint32(nil, 2)
		for _, e := range append(tt.more, base...) {
			list = binary.LittleEndian.AppendUint16(list, e.tag)
			list = binary.LittleEndian.AppendUint16(list, e.perm)
			list = binary.LittleEndian.AppendUint32(list, e.id)
		}
		if got := namesOthers(list, me, mine); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		if !namesOthers(list[:len(list)-1], me, mine) {
			t.Errorf("%s, cut off: nobody", tt.name)
		}
	}
	if !namesOthers([]byte{3, 0, 0, 0}, me, mine) {
		t.Error("of a version that is not known: nobody")
	}
}

// FuzzNamesOthers: whatever the list is, it is read to its end.
func FuzzNamesOthers(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 2, 0, 6, 0, 1, 2, 0, 0})
	f.Fuzz(func(t *testing.T, list []byte) { namesOthers(list, 1, 2) })
}
