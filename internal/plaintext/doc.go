// Package plaintext shows text that is not ours: names, titles, messages, files
// and output that programs and repositories made. What would steer a terminal,
// hide, or change the order of what is read is spelled out.
//
// It promises that what it writes holds no control character but the line feed
// and the tab, no C1 control in either encoding, no bidirectional or other
// invisible formatting character, and is valid UTF-8. It never drops anything.
package plaintext
