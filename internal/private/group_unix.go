//go:build unix

package private

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
)

// noGroup stands for no group.
const noGroup = -1

// ownGroup returns the id of the group whose only member is this user, or noGroup
// if there is none or that cannot be determined. Many systems give each user such
// a group and a umask of 002, so that the directories in a home are writable by
// it. For root it is noGroup, because other accounts run with root's group.
func ownGroup() int {
	if os.Geteuid() == 0 {
		return noGroup
	}
	users, err := os.Stat(usersFile)
	if err != nil {
		return noGroup
	}
	groups, err := os.Stat(groupsFile)
	if err != nil {
		return noGroup
	}
	return own.of(users, groups)
}

// Where the users and groups of the system are: passwd(5) and group(5).
const (
	usersFile  = "/etc/passwd"
	groupsFile = "/etc/group"
)

// own is the own group as of the files that were read last: a server runs for weeks, and
// somebody may become a member meanwhile.
var own lastGroup

type lastGroup struct {
	mu            sync.Mutex
	users, groups os.FileInfo
	id            int
}

// of returns the own group by these files, which it reads if they are others than before.
func (l *lastGroup) of(users, groups os.FileInfo) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if unchanged(l.users, users) && unchanged(l.groups, groups) {
		return l.id
	}
	l.id = noGroup
	u, err := os.ReadFile(usersFile)
	if err != nil {
		return noGroup
	}
	g, err := os.ReadFile(groupsFile)
	if err != nil {
		return noGroup
	}
	l.users, l.groups, l.id = users, groups, findOwnGroup(u, g, os.Geteuid())
	return l.id
}

// unchanged reports whether a file is the one of before, as far as its metadata tell.
func unchanged(before, now os.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// findOwnGroup finds the own group of the user uid in the content of passwd(5) and
// group(5). The own group is the primary group of this user alone, has the user's
// name, and lists no other member.
func findOwnGroup(users, groups []byte, uid int) int {
	var name, gid string
	primaries := map[string]int{} // by group: how many users have it as primary
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
