#!/usr/bin/env bash
# What `make check` does. Each step names itself; the first that fails ends it.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '== %s\n' "$*"; }

step gofmt
unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'not gofmt-clean:\n%s\n' "$unformatted" >&2
	exit 1
fi
step go.mod is tidy
go mod tidy -diff
(cd tools && go mod tidy -diff)
step vet
go vet ./...
go vet -tags faults ./...
step staticcheck
(cd tools && go build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck)
bin/staticcheck ./...
step import directions and house rules
go test -count=1 ./internal/house
# Nobody runs or debugs these builds: they need not be fast, and SQLite compiles sooner.
plain='-gcflags=all=-N -l -dwarf=false'
for os in darwin windows; do
	step "build for $os"
	GOOS=$os GOARCH=amd64 CGO_ENABLED=0 go build "$plain" -o /dev/null ./...
	step "vet for $os"
	GOOS=$os GOARCH=amd64 CGO_ENABLED=0 go vet "$plain" ./...
done
# The files are those that were vetted for amd64, so that types alone can differ:
# SQLite need not be compiled once more.
step "types for darwin on arm64"
files() { GOOS=darwin GOARCH=$1 CGO_ENABLED=0 go list -test -f '{{.ImportPath}} {{.GoFiles}} {{.SFiles}}' ./...; }
diff <(files amd64) <(files arm64) || { echo 'other files for arm64: vet them too' >&2; exit 1; }
(cd tools && go build -o ../bin/typecheck ./typecheck)
GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 bin/typecheck ./...
