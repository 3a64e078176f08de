// Package service makes the server a service of the user: a systemd unit or a
// launchd agent. It says which file to write and which commands to run. Nothing
// else in middleman depends on a service.
package service
