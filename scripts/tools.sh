#!/usr/bin/env bash
# Installs what the tests need where that can be done without asking (Debian,
# as root), and names it elsewhere. Tests of a tool that is missing say that
# they were skipped; with CI=true a missing tool is an error.
set -euo pipefail

declare -A package=([git]=git [tmux]=tmux [chromium]=chromium [node]=nodejs [npm]=npm [vttest]=vttest)
missing=()
for tool in git tmux chromium node npm vttest; do
	command -v "$tool" >/dev/null || missing+=("$tool")
done
[ ${#missing[@]} -eq 0 ] && exit 0

packages=()
for tool in "${missing[@]}"; do packages+=("${package[$tool]}"); done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
	echo "installing for the tests: ${packages[*]}" >&2
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"; } >/dev/null
	exit 0
fi
echo "the tests of these tools are skipped, because they are not installed: ${missing[*]}" >&2
echo "on Debian: apt-get install ${packages[*]}" >&2
[ "${CI:-}" != true ]
