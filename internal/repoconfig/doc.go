// Package repoconfig reads .middleman.toml, what a repository wants for its
// workspaces.
//
// The file is content of a repository, so untrusted: reading it runs nothing,
// and nothing that it says may be used before the user agreed to exactly these
// bytes, which their hash names. Whoever uses it reads the bytes once, and
// hashes and parses those: what the file is a moment later does not matter.
package repoconfig
