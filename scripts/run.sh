#!/usr/bin/env bash
# scripts/run.sh BINARY REPOSITORY: what `make run` does.
set -euo pipefail
binary=$(realpath "$1")
repository=$(realpath "$2")
name=try-middleman

if ! "$binary" show "$name" >/dev/null 2>&1; then
	"$binary" new "$name" -d -C "$repository" >/dev/null
fi
echo "workspace $name of $repository is open: $binary attach $name"
echo "paste this line into a browser (it works once, for ten minutes):"
"$binary" open
