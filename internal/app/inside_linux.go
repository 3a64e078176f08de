package app

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// inside are the processes whose directory is root or below it. What cannot be looked
// at is another user's.
func inside(root string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil || root == "" {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		dir, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if err == nil && (dir == root || strings.HasPrefix(dir, root+"/")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
