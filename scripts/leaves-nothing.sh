#!/usr/bin/env bash
# scripts/leaves-nothing.sh COMMAND...: runs COMMAND with a temporary directory
# of its own, and fails where it leaves a file there or a process that was
# given that directory.
set -euo pipefail

TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/mm-XXXXXX")
chmod 711 "$TMPDIR" # tests with a second user, as root, go through it; nobody can list it
export TMPDIR
status=0
"$@" || status=$?

# Processes that have the directory in their arguments or their environment.
left=()
for proc in /proc/[0-9]*; do
	pid=${proc#/proc/}
	[ "$pid" != $$ ] || continue
	if cat "$proc/cmdline" "$proc/environ" 2>/dev/null | tr '\0' '\n' | grep -qF "$TMPDIR"; then
		left+=("$pid $(tr '\0' ' ' <"$proc/cmdline" 2>/dev/null || true)")
	fi
done
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
