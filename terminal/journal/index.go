package journal

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"time"
)

// The index of a segment, `<first offset>.idx`, says when its bytes came and
// which size the terminal had. It is a header and then records, all of
// recordBytes: offset, time (nanoseconds of Unix time), columns, rows, kind,
// nothing, the low half of a CRC-32 of what is before it; little endian.
const (
	indexSuffix = ".idx"
	indexMagic  = "mmindex1" // then the segment's first offset, then zeros
	recordBytes = 24
	crcAt       = recordBytes - 2

	// markInterval is how much time one record of output stands for at least.
	markInterval = 10 * time.Millisecond
	// indexSlack bounds an index: it is no larger than its segment and this
	// much, with resizes four times this much.
	indexSlack = 64 << 10
	// pendingRecords is how many records wait for a disk that takes none.
	pendingRecords = 32
)

// MarkKind is the kind of a Mark.
type MarkKind uint8

// The kinds of mark.
const (
	MarkOutput MarkKind = iota + 1 // bytes from Offset on were written at Time
	MarkResize                     // the size holds from Offset on
	MarkSize                       // the size that held when the segment began
)

// Mark is one record of a segment's index. Times never decrease, whatever the
// clock does, and each change of size has a time of its own.
type Mark struct {
	Kind       MarkKind
	Offset     uint64
	Time       time.Time
	Cols, Rows uint16
}

// appendRecord appends m as it is on disk.
func appendRecord(dst []byte, m Mark) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, m.Offset)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(m.Time.UnixNano()))
	dst = binary.LittleEndian.AppendUint16(dst, m.Cols)
	dst = binary.LittleEndian.AppendUint16(dst, m.Rows)
	dst = append(dst, byte(m.Kind), 0)
	return binary.LittleEndian.AppendUint16(dst, uint16(crc32.ChecksumIEEE(dst[at:])))
}

// parseRecord is the reverse of appendRecord; ok is false for a record that
// is damaged or of a kind that this build does not know.
func parseRecord(p []byte) (m Mark, ok bool) {
	if uint16(crc32.ChecksumIEEE(p[:crcAt])) != binary.LittleEndian.Uint16(p[crcAt:]) {
		return m, false
	}
	m.Offset = binary.LittleEndian.Uint64(p)
	m.Time = time.Unix(0, int64(binary.LittleEndian.Uint64(p[8:])))
	m.Cols = binary.LittleEndian.Uint16(p[16:])
	m.Rows = binary.LittleEndian.Uint16(p[18:])
	m.Kind = MarkKind(p[20])
	return m, m.Kind >= MarkOutput && m.Kind <= MarkSize
}

func indexHeader(dst []byte, first uint64) []byte {
	dst = append(dst, indexMagic...)
	dst = binary.LittleEndian.AppendUint64(dst, first)
	return binary.LittleEndian.AppendUint64(dst, 0)
}

// clock returns times that never decrease: the wall clock at the start, plus
// what the monotonic clock has counted since. It jumps ahead with the wall
// clock when that is more than a second ahead, because the monotonic clock
// stands still while a machine sleeps. It never goes back with it.
type clock struct {
	start time.Time
	wall  int64 // nanoseconds of Unix time that start stands for
	last  int64
}

// begin starts the clock, no earlier than last.
func (c *clock) begin(last time.Time) {
	c.start = time.Now()
	c.wall = c.start.UnixNano()
	if !last.IsZero() {
		c.last = last.UnixNano()
		c.wall = max(c.wall, c.last)
	}
}

// now returns nanoseconds of Unix time, later than each time before.
func (c *clock) now() int64 {
	t := time.Now()
	at := c.wall + int64(t.Sub(c.start))
	if skew := t.UnixNano() - at; skew > int64(time.Second) {
		c.wall += skew
		at += skew
	}
	c.last = max(at, c.last+1)
	return c.last
}

// index writes the index of a Writer's last segment. A record that cannot be
// written is tried again with the next one, and in the end left out: an
// incomplete index tells less, but costs no output.
type index struct {
	clock      clock
	size       Mark     // the newest size of all, Cols 0 where none is known
	file       *os.File // nil where there is none
	first      uint64   // the segment's first offset
	written    int64    // bytes that are on disk
	lastOutput int64
	pending    []byte // records that are not on disk
	buf        [pendingRecords * recordBytes]byte
}

// begin makes the index of a new segment, whose output begins at off.
func (x *index) begin(dir string, first, off uint64, now int64) {
	x.end()
	f, err := os.OpenFile(auxPath(dir, first, indexSuffix), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	x.file, x.first, x.written, x.lastOutput = f, first, 0, now
	x.pending = indexHeader(x.buf[:0], first)
	if x.size.Cols > 0 {
		x.add(Mark{Kind: MarkSize, Offset: off, Time: time.Unix(0, now), Cols: x.size.Cols, Rows: x.size.Rows})
	}
	x.add(Mark{Kind: MarkOutput, Offset: off, Time: time.Unix(0, now)})
	x.flush()
}

// restore reads size and time from the index of the last segment. With reopen
// it also goes on writing that index.
func (x *index) restore(dir string, last segment, reopen bool) {
	marks := OpenMarks(dir, last.first)
	defer marks.Close()
	var newest time.Time
	for {
		m, ok := marks.Next()
		if !ok {
			break
		}
		if m.Kind != MarkOutput {
			x.size = m
		}
		newest = m.Time
	}
	x.clock.begin(newest)
	x.lastOutput = x.clock.last
	if !reopen {
		return
	}
	if !marks.exists() {
		x.begin(dir, last.first, last.end(), x.clock.now())
		return
	}
	f, err := os.OpenFile(auxPath(dir, last.first, indexSuffix), os.O_WRONLY, 0)
	if err != nil {
		return
	}
	x.file, x.first, x.written, x.pending = f, last.first, marks.wholeBytes(), x.buf[:0]
}

// output records that the bytes from off on were written at now, at most once
// in markInterval.
func (x *index) output(off uint64, now int64) {
	if x.file == nil || now-x.lastOutput < int64(markInterval) || x.bytes() >= x.bound(off, indexSlack) {
		return
	}
	x.lastOutput = now
	if len(x.pending) < len(x.buf)/2 { // the rest is for sizes
		x.add(Mark{Kind: MarkOutput, Offset: off, Time: time.Unix(0, now)})
	}
	x.flush()
}

// resize records that the terminal has the size of m from m.Offset on.
func (x *index) resize(m Mark) {
	x.size = m
	if x.file == nil || x.bytes() >= x.bound(m.Offset, 4*indexSlack) {
		return
	}
	x.add(m)
	x.flush()
}

func (x *index) bytes() int64 { return x.written + int64(len(x.pending)) }

func (x *index) bound(off uint64, slack int64) int64 { return int64(off-x.first) + slack }

func (x *index) add(m Mark) {
	if len(x.pending)+recordBytes <= len(x.buf) {
		x.pending = appendRecord(x.pending, m)
	}
}

// flush writes the pending records. What a full disk wrote in part is
// overwritten the next time.
func (x *index) flush() {
	if fault("index") != nil {
		return
	}
	if _, err := x.file.WriteAt(x.pending, x.written); err == nil {
		x.written += int64(len(x.pending))
		x.pending = x.buf[:0]
	}
}

// end closes the index.
func (x *index) end() {
	if x.file == nil {
		return
	}
	if len(x.pending) > 0 {
		x.flush()
	}
	x.file.Close()
	x.file = nil
}
