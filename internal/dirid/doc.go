// Package dirid tells a directory from another that comes to its path, and knows it again
// where it was moved. Bind mounts and the rules of Landlock stay with a directory when it
// is moved; a path does not.
//
// An identity is the device, the inode and the time of birth: inodes are used again, and
// the time tells such directories apart, unless one was removed and the other made within
// a tick of the clock, which is some milliseconds. There is none on file systems that do
// not record that time, such as proc, nor on systems other than Linux.
package dirid
