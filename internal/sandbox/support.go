package sandbox

import "fmt"

// minABI is the first ABI of Landlock that refuses to truncate files.
const minABI = 3

// Support says which methods this system has for this user.
type Support struct {
	// Bubblewrap is the path of bwrap, "" if it cannot be used. Then NoBubblewrap
	// says in a sentence what is missing and what to do.
	Bubblewrap   string
	Version      string // of bwrap, as "0.8.0"
	NoBubblewrap string
	// ABI is the version of the kernel's Landlock, 0 if there is none. NoLandlock
	// says why Landlock cannot be used.
	ABI        int
	NoLandlock string
	// Seatbelt is the path of sandbox-exec(1) of macOS.
	Seatbelt   string
	NoSeatbelt string
}

// Choose returns the method that enforces level here. None needs no method: "".
// An error says what was asked, what is missing and what to do.
func Choose(level Level, s Support) (Method, error) {
	switch {
	case !level.Known():
		return "", fmt.Errorf("sandbox %q: use none, workspace or strict", level)
	case level.rank() == 0:
		return "", nil
	case s.Bubblewrap != "":
		return Bubblewrap, nil
	case s.Seatbelt != "":
		return Seatbelt, nil
	case s.NoSeatbelt != "":
		return "", fmt.Errorf("sandbox %s: %s", level, s.NoSeatbelt)
	case level == Strict:
		return "", fmt.Errorf("sandbox strict needs bubblewrap: %s", s.NoBubblewrap)
	case s.ABI >= minABI:
		return Landlock, nil
	}
	return "", fmt.Errorf("sandbox %s needs bubblewrap or Landlock: %s; %s", level, s.NoBubblewrap, s.NoLandlock)
}
