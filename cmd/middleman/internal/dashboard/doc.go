// Package dashboard is what middleman shows without arguments on a terminal: all
// sessions in groups, the screen of the selected one, and keys for what is done with
// them.
//
// It follows the events of the server, or reads the disk where none runs. It asks a
// session for its screen only while that is selected, and only when the session says
// that something has changed. While it is not shown it asks nobody. What changes
// something is done by the commands of middleman: the dashboard runs their command
// lines. Text of sessions goes through package plaintext or terminal/vt before it is
// shown.
package dashboard
