package journal

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// openRead opens a file that the writer may delete meanwhile.
func openRead(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err == nil {
		var h windows.Handle
		h, err = windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
			nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
		if err == nil {
			return os.NewFile(uintptr(h), path), nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: err}
}
