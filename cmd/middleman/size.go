package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are those of a number of bytes, by their name in lower case.
var units = map[string]int64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// parseBytes reads a number of bytes such as 0, 64MB, 16MiB or 4G.
func parseBytes(text string) (int64, error) {
	digits := strings.TrimRight(text, "BKMGTibkmgt")
	unit, ok := units[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || !ok {
		return 0, fmt.Errorf("%q is not a number of bytes such as 0, 64MB (millions) or 64MiB (of 1024 each way)", text)
	}
	if int64(n) > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is more than can be counted", text)
	}
	return int64(n) * unit, nil
}
