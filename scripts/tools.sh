#!/usr/bin/env bash
# Installs what the tests need where that can be done without asking (Debian,
# as root), and names it elsewhere. Tests of a tool that is missing say that
# they were skipped; with CI=true a missing tool is an error.
# With --bench it is about the peers of `make bench`, of which none is needed.
set -euo pipefail

declare -A package=([git]=git [tmux]=tmux [chromium]=chromium [node]=nodejs [npm]=npm [vttest]=vttest [bwrap]=bubblewrap [htop]=htop
	[groff]=groff-base [zsh]=zsh [fish]=fish
	[dtach]=dtach [screen]=screen [ttyd]=ttyd)
tools=(git tmux chromium node npm vttest bwrap htop groff zsh fish)
purpose="the tests of these tools are skipped"
if [ "${1:-}" = --bench ]; then
	tools=(tmux dtach screen ttyd)
	purpose="make bench compares with none of these"
	CI=
fi
missing=()
for tool in "${tools[@]}"; do
	command -v "$tool" >/dev/null || missing+=("$tool")
done
[ ${#missing[@]} -eq 0 ] && exit 0

packages=()
for tool in "${missing[@]}"; do packages+=("${package[$tool]}"); done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
	apt-get update -qq >/dev/null
	if [ "${1:-}" = --bench ]; then # not every release has each of them
		mapfile -t packages < <(apt-cache --no-all-versions show "${packages[@]}" 2>/dev/null | sed -n 's/^Package: //p')
		[ ${#packages[@]} -eq 0 ] && exit 0
	fi
	echo "installing: ${packages[*]}" >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
	exit 0
fi
echo "$purpose, because they are not installed: ${missing[*]}" >&2
echo "on Debian: apt-get install ${packages[*]}" >&2
[ "${CI:-}" != true ]
