package private

// MaxSocketPath is how long the path of a Unix socket may be on every system,
// without its final NUL (unix(7): sun_path).
const MaxSocketPath = 103
