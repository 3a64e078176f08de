#!/usr/bin/env bash
# scripts/run-test.sh: `make run` twice as a newcomer types it, with an empty
# home, then away with all that it started. Fails where one of them fails, the
# second finds another workspace or server than the first, or a process is left.
set -euo pipefail
cd "$(dirname "$0")/.."

home=$(mktemp -d "${TMPDIR:-/tmp}/mm-run-XXXXXX")
GOCACHE=$(go env GOCACHE)
GOMODCACHE=$(go env GOMODCACHE)
export GOCACHE GOMODCACHE HOME=$home
unset XDG_RUNTIME_DIR XDG_DATA_HOME XDG_CONFIG_HOME XDG_STATE_HOME MIDDLEMAN_HOME
server=
clean() {
	if [ -n "$server" ]; then # or the command would start another
		bin/middleman rm try-middleman --discard-work --stop-sessions >/dev/null 2>&1 || true
		if kill "$server" 2>/dev/null; then tail --pid="$server" -f /dev/null; fi
	fi
	chmod -R u+rwX "$home"
	rm -rf "$home"
}
trap clean EXIT

serve=$home/.local/share/middleman/run/serve.json
for try in 1 2; do
	printed=$(make --no-print-directory run </dev/null)
	found=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$serve")
	: "${server:=$found}" # which clean ends
	grep -q 'http://middleman-[a-z2-7]*\.localhost:[0-9]*/' <<<"$printed" || { printf 'run %s printed no link:\n%s\n' "$try" "$printed" >&2; exit 1; }
	[ "$server" = "$found" ] || { echo "run $try started another server" >&2; exit 1; }
	[ "$(bin/middleman ls --json | grep -o '"name": *"try-middleman"' | wc -l)" -eq 1 ] || { echo "run $try: not one workspace" >&2; exit 1; }
done
bin/middleman rm try-middleman --discard-work --stop-sessions
kill "$server"
tail --pid="$server" -f /dev/null
server=
binary=$(realpath bin/middleman)
for cmdline in /proc/[0-9]*/cmdline; do # owners and tmux name their directories, a server its binary
	if tr '\0' ' ' <"$cmdline" 2>/dev/null | grep -qF -e "$home" -e "$binary serve"; then
		echo "left running: $(tr '\0' ' ' <"$cmdline")" >&2
		exit 1
	fi
done 2>/dev/null
echo "make run twice: one server, one workspace, nothing left"
