package escape

import "io"

// PlainText returns a writer that passes the text of terminal output to w. It
// removes control sequences, and control characters except newline and tab. It
// holds back an incomplete sequence.
func PlainText(w io.Writer) io.Writer {
	p := &plainText{w: w}
	p.split.Text = p.text
	p.split.Sequence = func([]byte, bool) {}
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

func (p *plainText) text(b []byte) {
	for _, c := range b {
		if c >= 0x20 && c != 0x7f || c == '\n' || c == '\t' {
			p.out = append(p.out, c)
		}
	}
}
