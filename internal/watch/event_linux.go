package watch

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"
)

// event is one event of inotify.
type event struct {
	watch int32
	mask  uint32
	name  string // of the entry of the watched directory; "" for the directory
}

// each calls take for each whole event in raw, as inotify(7) lays them out.
func each(raw []byte, take func(event)) {
	for len(raw) >= unix.SizeofInotifyEvent {
		e := event{watch: int32(binary.NativeEndian.Uint32(raw)), mask: binary.NativeEndian.Uint32(raw[4:])}
		end := uint64(unix.SizeofInotifyEvent) + uint64(binary.NativeEndian.Uint32(raw[12:]))
		if end > uint64(len(raw)) {
			return
		}
		e.name, _, _ = strings.Cut(string(raw[unix.SizeofInotifyEvent:end]), "\x00")
		take(e)
		raw = raw[end:]
	}
}
