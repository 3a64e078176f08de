package escape

import (
	"bytes"
	"io"
	"strconv"
)

// maxBlanks is the longest movement that stands for blanks. A longer one asks where the
// line ends.
const maxBlanks = 500

// PlainText returns a writer that passes the text of terminal output to w. It
// removes control sequences, and control characters except newline and tab. A
// movement to the right (CUF, ECMA-48 8.3.20) becomes blanks: the pseudo consoles
// of Windows draw blanks so. It holds back an incomplete sequence.
func PlainText(w io.Writer) io.Writer {
	p := &plainText{w: w}
	p.split.Text = p.text
	p.split.Sequence = func(sequence []byte, _ bool) { p.blanks(sequence) }
	return p
}

type plainText struct {
	w     io.Writer
	split Splitter
	out   []byte
}

func (p *plainText) Write(b []byte) (int, error) {
	p.out = p.out[:0]
	p.split.Write(b)
	if len(p.out) == 0 {
		return len(b), nil
	}
	if _, err := p.w.Write(p.out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// blanks adds those of a movement to the right, nothing for another sequence.
func (p *plainText) blanks(sequence []byte) {
	number, csi := bytes.CutPrefix(sequence, []byte("\x1b["))
	number, right := bytes.CutSuffix(number, []byte("C"))
	if !csi || !right {
		return
	}
	n := 1 // also for 0
	if len(number) > 0 {
		given, err := strconv.ParseUint(string(number), 10, 16)
		if err != nil || given > maxBlanks {
			return
		}
		n = max(1, int(given))
	}
	p.out = append(p.out, bytes.Repeat([]byte(" "), n)...)
}

func (p *plainText) text(b []byte) {
	for _, c := range b {
		if c >= 0x20 && c != 0x7f || c == '\n' || c == '\t' {
			p.out = append(p.out, c)
		}
	}
}
