package workspace

import "strings"

// maxLine is how many bytes of an incomplete line of git's are kept.
const maxLine = 64 << 10

// progressReader reads git's progress reports.
type progressReader struct {
	tell func(string)
	rest string
}

// counted maps git's titles of progress reports to our words.
var counted = map[string]string{
	"Updating files": "files", "Receiving objects": "objects received", "Resolving deltas": "deltas resolved",
}

// Write takes lines such as "Updating files:  12% (360/3000)\r" in any pieces.
func (r *progressReader) Write(p []byte) (int, error) {
	r.rest += string(p)
	for {
		end := strings.IndexAny(r.rest, "\r\n")
		if end < 0 {
			break
		}
		what, how, _ := strings.Cut(r.rest[:end], ":")
		r.rest = r.rest[end+1:]
		if things := counted[what]; things != "" {
			how, _, _ = strings.Cut(how, ",")
			r.tell(strings.Join(strings.Fields(how), " ") + " " + things)
		}
	}
	r.rest = r.rest[max(0, len(r.rest)-maxLine):]
	return len(p), nil
}
