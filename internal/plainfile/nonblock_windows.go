package plainfile

// nonBlocking is nothing: no name in a directory waits for anybody.
const nonBlocking = 0
