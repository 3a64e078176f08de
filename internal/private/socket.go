package private

// MaxSocketPath is the number of bytes that the path of a Unix socket may have on
// every system, without the final NUL (sun_path of unix(7)).
const MaxSocketPath = 103
