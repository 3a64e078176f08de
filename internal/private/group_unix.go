//go:build unix

package private

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
)

// noGroup is no group's id.
const noGroup = -1

// ownGroup is the id of the group that this user alone is in, noGroup where
// there is none or that cannot be told. Many systems give each user such a
// group and a umask of 002, so that a home's directories are writable by it.
// Root has none: other accounts run with its group.
var ownGroup = sync.OnceValue(func() int {
	if os.Geteuid() == 0 {
		return noGroup
	}
	users, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return noGroup
	}
	groups, err := os.ReadFile("/etc/group")
	if err != nil {
		return noGroup
	}
	return findOwnGroup(users, groups, os.Geteuid())
})

// findOwnGroup reads passwd(5) and group(5). A group is a user's own where it
// is their primary group and nobody else's, has their name, and lists nobody
// else.
func findOwnGroup(users, groups []byte, uid int) int {
	var name, gid string
	primaries := map[string]int{} // users of each
	for line := range bytes.Lines(users) {
		fields := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(fields) < 4 {
			continue
		}
		primaries[fields[3]]++
		if fields[2] == strconv.Itoa(uid) {
			name, gid = fields[0], fields[3]
		}
	}
	if name == "" || primaries[gid] != 1 {
		return noGroup
	}
	found := noGroup
	for line := range bytes.Lines(groups) {
		fields := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(fields) < 4 || fields[2] != gid {
			continue
		}
		if fields[0] != name || fields[3] != "" && fields[3] != name {
			return noGroup
		}
		if id, err := strconv.Atoi(gid); err == nil {
			found = id
		}
	}
	return found
}
