package private

import (
	"encoding/binary"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// othersInACL reports whether the access control list of a file (acl(5)) names another
// user, or another group than this user's own, that may write. The mode does not tell:
// where there is a list, the bits of the group are what all that it names have at most.
func othersInACL(path string) bool {
	var raw [16 << 10]byte // more than a file system stores
	n, err := unix.Getxattr(path, "system.posix_acl_access", raw[:])
	if err != nil {
		return !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP)
	}
	return namesOthers(raw[:n], uint32(os.Geteuid()), ownGroup())
}

// namesOthers is othersInACL for the content of a list, as linux/posix_acl_xattr.h has it:
// a version, and for each entry a tag, permissions and an id.
func namesOthers(list []byte, user uint32, group int) bool {
	const (
		version, headerBytes, entryBytes = 2, 4, 8
		namedUser, namedGroup            = 0x02, 0x08
		mayWrite                         = 0x02
	)
	if len(list) < headerBytes || binary.LittleEndian.Uint32(list) != version || (len(list)-headerBytes)%entryBytes != 0 {
		return true
	}
	for list = list[headerBytes:]; len(list) > 0; list = list[entryBytes:] {
		tag, perm, id := binary.LittleEndian.Uint16(list), binary.LittleEndian.Uint16(list[2:]), binary.LittleEndian.Uint32(list[4:])
		switch {
		case perm&mayWrite == 0:
		case tag == namedUser && id != user && id != 0:
			return true
		case tag == namedGroup && int(id) != group:
			return true
		}
	}
	return false
}
