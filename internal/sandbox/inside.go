package sandbox

// Variables of the programs in a sandbox.
const (
	// LevelVariable has the level. It is set in no other session.
	LevelVariable = "MIDDLEMAN_SANDBOX"
	// SocketVariable has the path of the socket where the server takes requests
	// with the token of a session, see config.Dirs.OwnSocket.
	SocketVariable = "MIDDLEMAN_SOCKET"
)
