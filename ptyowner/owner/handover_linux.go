package owner

import (
	"errors"
	"fmt"
	"middleman/ptyowner/state"
	"os"

	"golang.org/x/sys/unix"
)

// seals make a memory file unchangeable (fcntl(2), F_ADD_SEALS).
const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// sealedFile returns a new file in memory that holds data and cannot be changed
// (memfd_create(2)).
func sealedFile(_ state.Dir, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("middleman-owner", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "owner state")
	_, err = file.Write(data)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// checkSealed returns an error unless file is one that sealedFile made.
func checkSealed(file *os.File) error {
	got, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("the owner's state is not in a memory file: %w", err)
	}
	if got&seals != seals {
		return errors.New("the owner's state is not sealed")
	}
	return nil
}

// openSelf opens the running executable, even if its file was replaced since.
func openSelf() (file *os.File, path string, err error) {
	if path, err = os.Readlink("/proc/self/exe"); err != nil {
		return nil, "", err
	}
	file, err = os.Open("/proc/self/exe")
	return file, path, err
}

// descriptorPath returns a path to an open file, even if the file was renamed
// or removed.
func descriptorPath(file *os.File) (string, error) {
	return fmt.Sprintf("/proc/self/fd/%d", file.Fd()), nil
}
