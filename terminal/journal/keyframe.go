package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"
)

// A keyframe, `<first offset>.key`, is what a terminal showed as of a
// segment's first offset: a header and the caller's bytes that draw it.
const (
	keySuffix   = ".key"
	tempSuffix  = ".new"
	keyMagic    = "mmkeyfr1"
	keyHeader   = 32       // magic, offset, time, columns, rows, CRC-32 of all else
	maxKeyframe = 64 << 20 // no screen is larger, see package vt
)

// Keyframe is a screen as of a segment's first offset.
type Keyframe struct {
	Offset     uint64
	Cols, Rows uint16
	// Sized is the time of the newest mark of a size that Data includes.
	Sized time.Time
	// Data draws it. The package does not look into it.
	Data []byte
}

// PutKeyframe stores k with the segment that begins at k.Offset. It does
// nothing where that segment was trimmed.
func (w *Writer) PutKeyframe(k Keyframe) error {
	path := auxPath(w.dir, k.Offset, keySuffix)
	if err := k.writeTo(path + tempSuffix); err != nil {
		os.Remove(path + tempSuffix)
		return fmt.Errorf("write keyframe: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if first, ok := w.segmentFrom(k.Offset); !ok || first != k.Offset {
		return os.Remove(path + tempSuffix)
	}
	if err := os.Rename(path+tempSuffix, path); err != nil {
		return fmt.Errorf("write keyframe: %w", err)
	}
	return nil
}

func (k Keyframe) writeTo(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(k.header())
	if err == nil {
		_, err = f.Write(k.Data)
	}
	return errors.Join(err, f.Close())
}

func (k Keyframe) header() []byte {
	h := make([]byte, 0, keyHeader)
	h = append(h, keyMagic...)
	h = binary.LittleEndian.AppendUint64(h, k.Offset)
	h = binary.LittleEndian.AppendUint64(h, uint64(k.Sized.UnixNano()))
	h = binary.LittleEndian.AppendUint16(h, k.Cols)
	h = binary.LittleEndian.AppendUint16(h, k.Rows)
	return binary.LittleEndian.AppendUint32(h, k.sum(h))
}

func (k Keyframe) sum(header []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(header), crc32.IEEETable, k.Data)
}

var errNotKeyframe = errors.New("not a keyframe, or damaged")

// ReadKeyframe reads the keyframe of the segment that begins at first. One
// that is missing is fs.ErrNotExist; one that is damaged is an error too.
func ReadKeyframe(dir string, first uint64) (Keyframe, error) {
	path := auxPath(dir, first, keySuffix)
	f, err := openRead(path)
	if err != nil {
		return Keyframe{}, fmt.Errorf("read keyframe: %w", err)
	}
	defer f.Close()
	p, err := io.ReadAll(io.LimitReader(f, maxKeyframe))
	if err != nil {
		return Keyframe{}, fmt.Errorf("read keyframe: %w", err)
	}
	k, ok := parseKeyframe(p)
	if !ok || k.Offset != first {
		return Keyframe{}, fmt.Errorf("read keyframe %s: %w", path, errNotKeyframe)
	}
	return k, nil
}

func parseKeyframe(p []byte) (k Keyframe, ok bool) {
	if len(p) < keyHeader || string(p[:8]) != keyMagic {
		return k, false
	}
	k = Keyframe{
		Offset: binary.LittleEndian.Uint64(p[8:]),
		Sized:  time.Unix(0, int64(binary.LittleEndian.Uint64(p[16:]))),
		Cols:   binary.LittleEndian.Uint16(p[24:]),
		Rows:   binary.LittleEndian.Uint16(p[26:]),
		Data:   p[keyHeader:],
	}
	return k, k.sum(p[:28]) == binary.LittleEndian.Uint32(p[28:])
}
