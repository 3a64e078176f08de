package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Budget is a number of bytes, written as "2GiB"; 0, written as "none", keeps
// nothing, and one without a limit, written as "all", keeps everything.
type Budget int64

// keepAll is the Budget without a limit.
const keepAll Budget = -1

// UnmarshalText parses "none", "all", or what ParseBytes parses.
func (b *Budget) UnmarshalText(text []byte) error {
	switch string(text) {
	case "none":
		*b = 0
	case "all":
		*b = keepAll
	default:
		n, err := ParseBytes(string(text))
		if err != nil {
			return fmt.Errorf("want none, all or a size: %w", err)
		}
		*b = Budget(n)
	}
	return nil
}

// units maps the lower-case names of units to numbers of bytes.
var units = map[string]int64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// ParseBytes parses a number of bytes such as 0, 64MB, 16MiB or 4G.
func ParseBytes(text string) (int64, error) {
	digits := strings.TrimRight(text, "BKMGTibkmgt")
	unit, ok := units[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || !ok {
		return 0, fmt.Errorf("%q is not a number of bytes such as 0, 64MB (64,000,000) or 64MiB (64 times 1,048,576)", text)
	}
	if int64(n) > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is too large: it must be less than 8 EiB", text)
	}
	return int64(n) * unit, nil
}
