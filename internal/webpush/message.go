package webpush

import (
	"bytes"
	"encoding/json"

	"middleman/internal/api"
	"middleman/internal/plaintext"
)

// message is what a browser's service worker reads.
type message struct {
	Items []messageItem `json:"items"`
	// More is how many items there was no room for.
	More int `json:"more,omitempty"`
}

// messageItem is one item of a notice. Session is an opaque id, by which the page
// finds the session. Name and Reason are content.
type messageItem struct {
	Kind    string `json:"kind"`
	Session string `json:"session"`
	Name    string `json:"name,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

const (
	maxName   = 100 // bytes of a name, and of a reason, which fit in any case
	maxReason = 400
)

// text returns the text of a message, with as many of the newest items as have room.
func text(items []api.NoticeItem, content bool) []byte {
	m := message{}
	for _, i := range items {
		item := messageItem{Kind: i.Kind, Session: i.Session}
		if i.Runtime != "" {
			item.Session = i.Runtime + ":" + i.Session // as the page has it
		}
		if content {
			item.Name = cut(i.WorkspaceName+"/"+i.SessionName, maxName)
			if i.Runtime != "" {
				item.Name += " on " + cut(i.Runtime, maxName)
			}
			item.Reason = cut(i.Reason, maxReason)
		}
		m.Items = append(m.Items, item)
	}
	for {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(m) // strings and numbers always can be
		if data := bytes.TrimSpace(b.Bytes()); len(data) <= maxText {
			return data
		}
		m.Items, m.More = m.Items[1:], m.More+1
	}
}

// cut returns s in a form that is safe to show, and not much longer than most bytes.
func cut(s string, most int) string {
	s = plaintext.Line(s)
	for i := range s {
		if i > most {
			return s[:i] + "…"
		}
	}
	return s
}
