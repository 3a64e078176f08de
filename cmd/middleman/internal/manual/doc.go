// Package manual makes the manual: man pages and Markdown, from the commands with
// their help texts and from descriptions of keys of configuration files. Nothing is
// written for the manual alone.
package manual
