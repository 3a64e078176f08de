// Package conpty is the host of a session on Windows: a pseudo console, and a job
// that holds all processes of the session. They end with the owner, which alone
// has the job's handle. On other systems the package is empty.
package conpty
