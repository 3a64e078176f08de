#!/usr/bin/env bash
# scripts/root-tests.sh: runs, as root, the tests that an ordinary user skips:
# each Test function that calls testenv.NeedRoot, or what calls it, or makes what
# only root can, and the
# scripts with [root].
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" -eq 0 ] || { echo "root-tests: this needs root" >&2; exit 1; }
export CGO_ENABLED=0

found() {
	git ls-files -co --exclude-standard '*_test.go' | xargs awk '
		/^}/ { name = "" }
		/^func Test/ { name = $2; sub(/\(.*/, "", name) }
		name && /([nN]eedRoot|[sS]mallDisk|fullDisk|AsStranger|startInScope)\(|"unshare", "-m"|can be made in .run/ { dir = FILENAME; sub(/\/[^\/]*$/, "", dir); print "./" dir, name }'
}

status=0
for dir in $(found | cut -d' ' -f1 | sort -u); do
	names=$(found | awk -v dir="$dir" '$1 == dir { print $2 }' | sort -u | paste -sd'|')
	go test -count=1 -timeout 5m -run "^($names)\$" "$dir" || status=1
done
go test -count=1 -timeout 5m -run '^TestKindsOfRepository$/another_user' ./workspace || status=1
# A sandbox has to hold root too.
go test -count=1 -timeout 5m ./internal/sandbox/... || status=1
for dir in script hosts; do
	scripts=$(grep -l '\[root\]' cmd/middleman/testdata/$dir/*.txtar | xargs -n1 basename -s .txtar | paste -sd'|')
	go test -count=1 -timeout 5m -run "^TestScripts\$/^($scripts)\$|^TestHostScripts\$/./^($scripts)\$" ./cmd/middleman || status=1
done
exit "$status"
