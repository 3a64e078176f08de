// Package escape separates the text of terminal output from its control
// sequences, without a screen.
package escape
