// Package listen opens the server's listeners. It takes the lock on the data
// directory, so that only one server uses it. It opens the Unix socket, which
// accepts processes of the same user only, and the TCP port, which no other
// program can get while browsers have a login for it.
package listen
