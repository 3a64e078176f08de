package basedir

import (
	"fmt"
	"os"
)

// checkOwned refuses a base that is no directory. Who may write to it is left
// to the access control list that it inherits from the user's profile.
func checkOwned(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at base directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("base directory %s is no directory: %w", dir, ErrUnsafeBase)
	}
	return nil
}

// OwnedBy: there are no bits that would lend an owner's rights.
func OwnedBy(os.FileInfo) (user, group bool) { return true, true }

func checkAncestor(string) error { return nil }
