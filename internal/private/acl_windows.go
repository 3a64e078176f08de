package private

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// OwnSID returns the id of this process's user.
var OwnSID = sync.OnceValues(func() (*windows.SID, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("read the user of this process: %w", err)
	}
	return user.User.Sid, nil
})

// systemSIDs are the accounts that may do everything on a system anyway, as root
// may on Unix: the system itself, its administrators, and its installer.
var systemSIDs = sync.OnceValue(func() (sids []*windows.SID) {
	for _, text := range []string{
		"S-1-5-18",     // the system
		"S-1-5-32-544", // administrators
		"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464", // TrustedInstaller
	} {
		if sid, err := windows.StringToSid(text); err == nil {
			sids = append(sids, sid)
		}
	}
	return sids
})

// isTrusted reports whether a SID is this user's, one of systemSIDs, or stands
// for a file's owner or creator.
func isTrusted(sid *windows.SID) bool {
	if own, err := OwnSID(); err == nil && sid.Equals(own) {
		return true
	}
	for _, s := range systemSIDs() {
		if sid.Equals(s) {
			return true
		}
	}
	return sid.IsWellKnown(windows.WinCreatorOwnerSid) || sid.IsWellKnown(windows.WinCreatorOwnerRightsSid)
}

// OnlyOurs returns the attributes of an object that belongs to this user and that
// nobody else may use. What is made below a directory with them inherits that.
func OnlyOurs() (*windows.SecurityAttributes, error) {
	own, err := OwnSID()
	if err != nil {
		return nil, err
	}
	sd, err := windows.SecurityDescriptorFromString(fmt.Sprintf("O:%sD:P(A;OICI;GA;;;%s)", own, own))
	if err != nil {
		return nil, fmt.Errorf("make a security descriptor: %w", err)
	}
	sa := &windows.SecurityAttributes{SecurityDescriptor: sd}
	sa.Length = uint32(unsafe.Sizeof(*sa))
	return sa, nil
}

// Rights that change a file or a directory, or who may do so.
const (
	fileWriteData   = 0x2  // of a directory: make a file in it
	fileAppendData  = 0x4  // of a directory: make a directory in it
	fileDeleteChild = 0x40 // delete or rename what is in it
	takeOver        = windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER | windows.GENERIC_ALL | fileDeleteChild
	write           = takeOver | fileWriteData | fileAppendData | windows.GENERIC_WRITE
)

// inheritOnly marks an entry that holds for what is made below, and not for the
// directory itself.
const inheritOnly = 0x8

// judgeACL returns what is wrong with the access control list of a file or a
// directory, or nil. Others than this user and the system may have none of the
// rights of forbidden. The owner must be this user or, unless ours is set, the
// system.
func judgeACL(path string, forbidden windows.ACCESS_MASK, ours bool) *Problem {
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return &Problem{Path: path, What: "does not tell who may use it: " + err.Error()}
	}
	return judgeDescriptor(path, sd, forbidden, ours)
}

func judgeDescriptor(path string, sd *windows.SECURITY_DESCRIPTOR, forbidden windows.ACCESS_MASK, ours bool) *Problem {
	owner, _, err := sd.Owner()
	if err != nil || owner == nil {
		return &Problem{Path: path, What: "has no owner", Foreign: true}
	}
	if !mayOwn(owner, ours) {
		return &Problem{Path: path, What: "belongs to " + NameOf(owner) + ", and not to you", Foreign: true}
	}
	acl, _, err := sd.DACL()
	if err != nil && !errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) {
		return &Problem{Path: path, What: "does not tell who may use it: " + err.Error()}
	}
	if acl == nil {
		return &Problem{Path: path, What: "is writable by everyone: it has no access control list"}
	}
	for i := range uint32(acl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(acl, i, &ace); err != nil {
			return &Problem{Path: path, What: "does not tell who may use it: " + err.Error()}
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE || ace.Header.AceFlags&inheritOnly != 0 {
			continue
		}
		if sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart)); ace.Mask&forbidden != 0 && !isTrusted(sid) {
			return &Problem{Path: path, What: "is writable by " + NameOf(sid)}
		}
	}
	return nil
}

// mayOwn reports whether a file may belong to owner. What an administrator makes
// belongs to the administrators, so these count as this user where that is one.
func mayOwn(owner *windows.SID, ours bool) bool {
	own, err := OwnSID()
	switch {
	case err != nil:
		return false
	case owner.Equals(own):
		return true
	case ours:
		return owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) && isAdministrator()
	}
	return isTrusted(owner)
}

// isAdministrator reports whether this process has the administrators' rights.
var isAdministrator = sync.OnceValue(func() bool { return windows.GetCurrentProcessToken().IsElevated() })

// OwnUser returns the id of this process's user: a number, or on Windows a SID.
func OwnUser() (uid *int, sid string) {
	if own, err := OwnSID(); err == nil {
		sid = own.String()
	}
	return nil, sid
}

// NameOf returns the account of a SID, or the SID where that has no name.
func NameOf(sid *windows.SID) string {
	account, domain, _, err := sid.LookupAccount("")
	switch {
	case err != nil:
		return sid.String()
	case domain == "":
		return account
	}
	return domain + `\` + account
}
