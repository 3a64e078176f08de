// Package service makes the server a service of the user's: a systemd unit, or
// a launchd agent. It says what to write where and which commands to run;
// nothing else in middleman depends on there being one.
package service
