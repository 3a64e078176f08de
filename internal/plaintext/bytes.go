package plaintext

import "fmt"

// Count says how many there are of what is called one, such as "1 file" or "3 files".
func Count(n int, one string) string {
	if n != 1 {
		one += "s"
	}
	return fmt.Sprintf("%d %s", n, one)
}

// Bytes formats a number of bytes for people, such as "12.3 KiB".
func Bytes(n int64) string {
	unit, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB"}
	for unit >= 1024 && len(units) > 1 {
		unit, units = unit/1024, units[1:]
	}
	if units[0] == "bytes" {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", unit, units[0])
}
