package sandbox

// Variables of the programs in a sandbox.
const (
	// LevelVariable has the level. It is set in no other session.
	LevelVariable = "MIDDLEMAN_SANDBOX"
	// SocketVariable has the path of the socket where the server takes requests
	// with the token of a session, see config.Dirs.OwnSocket. Under Landlock that
	// socket is out of reach, and config.Dirs.OwnFile beside it says what is used.
	SocketVariable = "MIDDLEMAN_SOCKET"
)
