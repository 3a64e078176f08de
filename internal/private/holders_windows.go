package private

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// maxHeldFiles bounds the files of which WhoHolds asks who has them open, and
// maxHolders the processes that it names.
const (
	maxHeldFiles = 4096
	maxHolders   = 8
)

// WhoHolds returns err. If it says that a process has dir, or something in it,
// open, which Windows neither renames nor deletes then, it also names the processes
// that have, as far as the system tells, and what to do.
func WhoHolds(err error, dir string) error {
	if !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return err
	}
	found, askErr := askHolders(filesIn(dir))
	switch {
	case askErr == nil && len(found) > 0:
	case errors.Is(err, windows.ERROR_SHARING_VIOLATION): // it does not tell whose current directory is in dir
		return fmt.Errorf("%w (a program has a file in it open, or has it as its current directory: end that program, or leave the directory, first)", err)
	default:
		return err // which says all that is known
	}
	return fmt.Errorf("%w; files in it are open in %s: end that first", err, strings.Join(found, ", "))
}

// filesIn returns the first files in a directory.
func filesIn(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		if len(files) == maxHeldFiles {
			return fs.SkipAll
		}
		return nil // what cannot be read is left out
	})
	return files
}

var (
	restartManager      = windows.NewLazySystemDLL("rstrtmgr.dll")
	rmStartSession      = restartManager.NewProc("RmStartSession")
	rmRegisterResources = restartManager.NewProc("RmRegisterResources")
	rmGetList           = restartManager.NewProc("RmGetList")
	rmEndSession        = restartManager.NewProc("RmEndSession")
)

// holder is RM_PROCESS_INFO of restartmanager.h.
type holder struct {
	pid      uint32
	start    windows.Filetime
	app      [256]uint16
	service  [64]uint16
	kind     uint32
	status   uint32
	session  uint32
	restarts int32
}

func (h *holder) String() string {
	return fmt.Sprintf("%s (process %d)", windows.UTF16ToString(h.app[:]), h.pid)
}

// askHolders asks Windows's Restart Manager which processes have files open.
func askHolders(files []string) (found []string, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	names := make([]*uint16, len(files))
	for i, file := range files {
		if names[i], err = windows.UTF16PtrFromString(file); err != nil {
			return nil, err
		}
	}
	if err := rmGetList.Find(); err != nil {
		return nil, err
	}
	var session uint32
	var key [33]uint16 // CCH_RM_SESSION_KEY and a zero
	if code, _, _ := rmStartSession.Call(uintptr(unsafe.Pointer(&session)), 0, uintptr(unsafe.Pointer(&key[0]))); code != 0 {
		return nil, syscall.Errno(code)
	}
	defer rmEndSession.Call(uintptr(session))
	code, _, _ := rmRegisterResources.Call(uintptr(session), uintptr(len(names)), uintptr(unsafe.Pointer(&names[0])), 0, 0, 0, 0)
	if code != 0 {
		return nil, syscall.Errno(code)
	}
	var holders [maxHolders]holder
	needed, count, reasons := uint32(0), uint32(len(holders)), uint32(0)
	code, _, _ = rmGetList.Call(uintptr(session), uintptr(unsafe.Pointer(&needed)), uintptr(unsafe.Pointer(&count)),
		uintptr(unsafe.Pointer(&holders[0])), uintptr(unsafe.Pointer(&reasons)))
	more := syscall.Errno(code) == windows.ERROR_MORE_DATA
	if code != 0 && !more {
		return nil, syscall.Errno(code)
	}
	for i := range min(count, maxHolders) {
		found = append(found, holders[i].String())
	}
	if more {
		found = append(found, "others")
	}
	return found, nil
}
