#!/usr/bin/env bash
# scripts/race.sh COMMAND...: runs COMMAND, tests under the race detector, and
# fails where it found a race in any process: owners and launchers, whose
# standard error nobody reads, report into a directory too.
#
# A process under the detector sleeps for a second before it ends, so that the
# goroutines that are left may still race. Hundreds end one after the other, so
# they sleep for less.
set -euo pipefail

reports=$(mktemp -d "${TMPDIR:-/tmp}/mm-race-XXXXXX")
trap 'rm -rf "$reports"' EXIT
export GORACE="log_path=$reports/race atexit_sleep_ms=20"
status=0
"$@" || status=$?
for report in "$reports"/race.*; do
	[ -e "$report" ] || continue
	cat "$report" >&2
	status=1
done
exit "$status"
