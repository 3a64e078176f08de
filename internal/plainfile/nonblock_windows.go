package plainfile

// nonBlocking is 0: opening a file in a directory never waits for a writer.
const nonBlocking = 0
