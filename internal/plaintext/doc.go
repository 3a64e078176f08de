// Package plaintext shows text that is not ours: names, titles, messages, files
// and output of programs and repositories. It spells out characters that would
// steer a terminal, that are invisible, or that change the reading order.
//
// What it writes is valid UTF-8. It holds no control character but line feed
// and tab, no C1 control in either encoding, and no bidirectional or other
// invisible character, except within emoji. It never drops anything.
package plaintext
