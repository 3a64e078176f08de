#!/usr/bin/env bash
# scripts/ram-tmp.sh COMMAND...: runs COMMAND with a /tmp of its own in memory.
# The tests make and remove files all the time, and ext4 searches long for an
# inode that was not removed a moment ago: on two processors a quarter of all
# computing went there. Where no file system can be mounted, COMMAND just runs.
set -euo pipefail

if unshare --mount mount -t tmpfs tmpfs /tmp 2>/dev/null; then
	exec unshare --mount --propagation private \
		sh -c 'mount -t tmpfs -o mode=1777 tmpfs /tmp && exec "$@"' sh "$@"
fi
exec "$@"
