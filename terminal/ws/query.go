package ws

import (
	"fmt"
	"net/url"
	"strconv"

	"middleman/terminal"
)

// Defaults of a person's viewer.
const (
	defaultMaxLag     = 1 << 20
	defaultScrollback = 1000
)

// GuestKey is the key of terminal.AttachOptions.Guest.
const GuestKey = "guest"

// ParseQuery reads the query of the WebSocket's address: mode (attach or
// watch), from, cols and rows, takeover=1, scrollback (lines that a snapshot
// draws first, default 1000, negative is all) and max_lag (bytes behind that
// are still useful, default 1 MiB, 0 is all that is kept) and guest=1. Unknown
// keys are skipped.
func ParseQuery(q url.Values) (Options, error) {
	a := terminal.AttachOptions{
		Mode: terminal.ModeAttach, Client: "web", MaxLag: defaultMaxLag, Scrollback: defaultScrollback,
	}
	if q.Has("mode") {
		a.Mode = terminal.Mode(q.Get("mode"))
	}
	if a.Mode != terminal.ModeAttach && a.Mode != terminal.ModeWatch {
		return Options{}, fmt.Errorf("mode is %q: it must be attach or watch", a.Mode)
	}
	from, err := parseNumber(q, "from", 64)
	if err != nil {
		return Options{}, err
	}
	if q.Has("from") {
		a.From = &from
	}
	if a.Size, err = parseSize(q); err != nil {
		return Options{}, err
	}
	if q.Has("max_lag") {
		if a.MaxLag, err = parseNumber(q, "max_lag", 64); err != nil {
			return Options{}, err
		}
	}
	if q.Has("scrollback") {
		if a.Scrollback, err = strconv.Atoi(q.Get("scrollback")); err != nil {
			return Options{}, fmt.Errorf("scrollback is %q: it must be a number of lines", q.Get("scrollback"))
		}
	}
	if q.Has("takeover") {
		if a.Takeover, err = strconv.ParseBool(q.Get("takeover")); err != nil {
			return Options{}, fmt.Errorf("takeover is %q: it must be 1 or 0", q.Get("takeover"))
		}
	}
	if q.Has(GuestKey) {
		if a.Guest, err = strconv.ParseBool(q.Get(GuestKey)); err != nil {
			return Options{}, fmt.Errorf("%s is %q: it must be 1 or 0", GuestKey, q.Get(GuestKey))
		}
	}
	return Options{Attach: a}, nil
}

// Query returns the query that ParseQuery reads o from. The name of the client,
// and what only a local viewer can ask for, is not in it.
func Query(o terminal.AttachOptions) url.Values {
	q := url.Values{
		"mode": {string(o.Mode)}, "max_lag": {strconv.FormatUint(o.MaxLag, 10)}, "scrollback": {strconv.Itoa(o.Scrollback)},
	}
	if o.From != nil {
		q.Set("from", strconv.FormatUint(*o.From, 10))
	}
	if o.Size.Cols > 0 && o.Size.Rows > 0 {
		q.Set("cols", strconv.Itoa(int(o.Size.Cols)))
		q.Set("rows", strconv.Itoa(int(o.Size.Rows)))
	}
	if o.Takeover {
		q.Set("takeover", "1")
	}
	if o.Guest {
		q.Set(GuestKey, "1")
	}
	return q
}

// parseSize returns the zero Size where neither cols nor rows are given.
func parseSize(q url.Values) (terminal.Size, error) {
	cols, err := parseNumber(q, "cols", 16)
	if err != nil {
		return terminal.Size{}, err
	}
	rows, err := parseNumber(q, "rows", 16)
	if err != nil {
		return terminal.Size{}, err
	}
	if (q.Has("cols") || q.Has("rows")) && (cols == 0 || rows == 0) {
		return terminal.Size{}, fmt.Errorf("size is %q x %q: cols and rows must both be positive", q.Get("cols"), q.Get("rows"))
	}
	return terminal.Size{Cols: uint16(cols), Rows: uint16(rows)}, nil
}

// parseNumber returns 0 where the key is not given.
func parseNumber(q url.Values, key string, bits int) (uint64, error) {
	if !q.Has(key) {
		return 0, nil
	}
	n, err := strconv.ParseUint(q.Get(key), 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%s is %q: it must be a number of at most %d bits", key, q.Get(key), bits)
	}
	return n, nil
}
