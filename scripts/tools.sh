#!/usr/bin/env bash
# Installs what the tests need where that can be done without asking (Debian,
# as root), and names it elsewhere. Tests of a tool that is missing say that
# they were skipped; with CI=true a missing tool is an error.
# With --dist it is about what `make dist-test` needs.
# With --bench it is about the peers of `make bench`, and with --vm about what
# `make vm-test` runs older kernels with: none of these is needed.
set -euo pipefail
PATH=$PATH:/usr/sbin # where sshd is

declare -A package=([git]=git [tmux]=tmux [chromium]=chromium [node]=nodejs [npm]=npm [vttest]=vttest [bwrap]=bubblewrap [htop]=htop [sshd]=openssh-server
	[groff]=groff-base [zsh]=zsh [fish]=fish
	[dtach]=dtach [screen]=screen [ttyd]=ttyd
	[qemu-system-x86_64]=qemu-system-x86 [busybox]=busybox-static [cpio]=cpio [dpkg]=dpkg)
tools=(git tmux chromium node npm vttest bwrap htop groff zsh fish sshd)
purpose="the tests of these tools are skipped"
optional=
case ${1:-} in
--bench)
	tools=(tmux dtach screen ttyd)
	purpose="make bench compares with none of these"
	optional=true
	;;
--dist)
	tools=(dpkg busybox)
	purpose="make dist-test installs no package"
	;;
--vm)
	tools=(qemu-system-x86_64 busybox cpio)
	purpose="make vm-test runs no older kernels"
	optional=true
	;;
esac
missing=()
for tool in "${tools[@]}"; do
	command -v "$tool" >/dev/null || missing+=("$tool")
done
[ ${#missing[@]} -eq 0 ] && exit 0

packages=()
for tool in "${missing[@]}"; do packages+=("${package[$tool]}"); done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
	apt-get update -qq >/dev/null || [ -n "$optional" ]
	if [ -n "$optional" ]; then # not every release has each of them
		mapfile -t packages < <(apt-cache --no-all-versions show "${packages[@]}" 2>/dev/null | sed -n 's/^Package: //p')
		[ ${#packages[@]} -eq 0 ] && exit 0
	fi
	echo "installing: ${packages[*]}" >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null || [ -n "$optional" ]
	exit
fi
echo "$purpose, because they are not installed: ${missing[*]}" >&2
echo "on Debian: apt-get install ${packages[*]}" >&2
[ -n "$optional" ] || [ "${CI:-}" != true ]
