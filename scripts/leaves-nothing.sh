#!/usr/bin/env bash
# scripts/leaves-nothing.sh COMMAND...: runs COMMAND with a temporary directory
# of its own, and fails where it leaves a file there or a process that was
# given that directory.
set -euo pipefail

TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/mm-XXXXXX")
export TMPDIR
status=0
"$@" || status=$?

# Processes of this user that have the directory in their environment.
left=()
for environ in /proc/[0-9]*/environ; do
	pid=${environ#/proc/}
	pid=${pid%/environ}
	if [ "$pid" != $$ ] && [ "$pid" != "$BASHPID" ] && tr '\0' '\n' <"$environ" 2>/dev/null | grep -qxF "TMPDIR=$TMPDIR"; then
		left+=("$pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || true)")
	fi
done 2>/dev/null
if [ ${#left[@]} -gt 0 ]; then
	printf 'left running: %s\n' "${left[@]}" >&2
	status=1
fi
files=$(find "$TMPDIR" -mindepth 1 -maxdepth 2 2>/dev/null)
if [ -n "$files" ]; then
	printf 'left in the temporary directory:\n%s\n' "$files" >&2
	status=1
fi
chmod -R u+rwX "$TMPDIR"
rm -rf "$TMPDIR"
exit "$status"
