package workspace

import "strings"

// maxLine bounds the end of a line of git's that is kept until the rest comes.
const maxLine = 64 << 10

// progressReader reads what git says of how far it is.
type progressReader struct {
	tell func(string)
	rest string
}

// counted are the things that git counts, and what they are called here.
var counted = map[string]string{
	"Updating files": "files", "Receiving objects": "objects received", "Resolving deltas": "deltas resolved",
}

// Write takes "Updating files:  12% (360/3000)\r" in any pieces.
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
