#!/usr/bin/env bash
# scripts/vm-test.sh: what `make vm-test` does. It runs the tests of
# internal/sandbox and its attempts to escape on this machine, and on kernels with
# an older Landlock, as root and as an ordinary user. Linux 6.1 has ABI 2, which middleman must refuse, and
# 6.12 has ABI 6.
#
# The kernels are Debian's own. apt downloads and verifies them; they are kept in
# the user's cache and not installed. Each runs in a virtual machine of its own,
# which needs neither KVM nor root. That machine has no disk and no network: its
# files are an initial RAM disk with the test binary, busybox and bubblewrap.
#
# What this machine cannot run is skipped, and named. With NEED_VM=true a skip is
# an error.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${XDG_CACHE_HOME:-$HOME/.cache}/middleman-vm-test
limit=300 # seconds for one machine, which needs 5 on an idle one; a machine that says nothing until then has failed
skipped=0 failed=0

skip() {
	echo "vm-test skipped: $*" >&2
	skipped=1
}

# On this machine.
native() {
	echo "== the kernel of this machine, $(uname -r)"
	go test -count=1 -timeout 5m -v ./internal/sandbox/... >"$work/native" 2>&1 || failed=1
	judge "$work/native" "$failed" ''
}

# judge OUTPUT STATUS ABI prints what came of a run of the tests, and counts it as
# failed unless a test has named the ABI.
judge() {
	if [ "$2" -ne 0 ] || ! grep -qE "landlock: ABI ${3:-[0-9]+}\b" "$1"; then
		echo "failed${3:+, or the kernel does not have ABI $3}; all of the output:" >&2
		cat "$1" >&2
		failed=1
		return
	fi
	grep '^vm: ' "$1" || true
	grep -oE 'landlock: ABI .*' "$1" | head -n 1
	echo "$(grep -c -- '^--- PASS' "$1") tests passed, $(grep -c -- '^--- SKIP' "$1" || true) were skipped"
	{ grep -A1 -- '^--- SKIP' "$1" || true; } | sed -n 's/^ *[a-z_]*\.go:[0-9]*: /  /p' | sort -u
}

# kernel VERSION prints the path of a kernel of that version, or nothing if there
# is none to be had.
kernel() {
	local found
	mkdir -p -m 700 "$cache"
	if ! download "$1" && [ "$(id -u)" -eq 0 ]; then # apt's lists may be old
		apt-get update -qq >/dev/null 2>&1 && download "$1" || true
	fi
	found=$(find "$cache" -name "linux-image-$1.*" -size +0 | sort -V | tail -n 1)
	[ -z "$found" ] || find "$cache" -name "linux-image-$1.*" ! -path "$found" -delete
	echo "$found"
}

# download VERSION puts apt's newest kernel of that version into the cache.
download() {
	local package version=${1//./\\.}
	package=$(apt-cache pkgnames "linux-image-$1." | grep -E "^linux-image-$version\.[0-9a-z.+-]*-cloud-amd64\$" | sort -V | tail -n 1)
	[ -n "$package" ] || return
	[ ! -s "$cache/$package" ] || return 0
	(cd "$work" && timeout -k 5 120 apt-get -qq -o APT::Sandbox::User=root download "$package" >&2) || return
	dpkg-deb --fsys-tarfile "$work/$package"_*.deb | tar -xO --wildcards './boot/vmlinuz-*' >"$work/vmlinuz" || return
	mv "$work/vmlinuz" "$cache/$package"
}

# ramdisk writes the files of the machine to $work/ramdisk. Its init says how the
# tests ended in lines that begin with $mark, which no test can guess.
ramdisk() {
	local root=$work/root program library
	mkdir -p "$root"/{bin,dev,etc,proc,sys,root,home/tester,t,run,tmp,var/tmp}
	install -m 755 "$(command -v busybox)" "$root/bin/busybox"
	CGO_ENABLED=0 go test -c -o "$root/t/" ./internal/sandbox ./internal/sandbox/escapes
	cp SECURITY.md "$root/" # a test compares with it
	# What TestBubblewrapHasNoVariables starts must load libraries, which busybox
	# does not.
	cat >"$root/t/all" <<-END
		cd /t
		status=0
		./sandbox.test -test.v -test.timeout ${limit}s -test.skip '^TestBubblewrapHasNoVariables\$' || status=1
		./escapes.test -test.v -test.timeout ${limit}s || status=1
		exit \$status
	END
	if program=$(command -v bwrap); then
		install -D -m 755 "$program" "$root/usr/bin/bwrap"
		for library in $(ldd "$program" | grep -oE '/[^ ]+'); do
			install -D "$library" "$root$library"
		done
	fi
	printf 'root:x:0:0::/root:/bin/sh\ntester:x:1000:1000::/home/tester:/bin/sh\n' >"$root/etc/passwd"
	printf 'root:x:0:\ntester:x:1000:\n' >"$root/etc/group"
	# bubblewrap pivots the root, which the kernel refuses for its first root file
	# system: so a bind of that is moved over it.
	cat >"$root/init" <<-'END'
		#!/bin/busybox sh
		/bin/busybox mkdir /n
		/bin/busybox mount --bind / /n
		cd /n
		/bin/busybox mount --move /n /
		exec /bin/busybox chroot . /bin/busybox sh /init2
	END
	cat >"$root/init2" <<-END
		/bin/busybox --install -s /bin
		export PATH=/usr/bin:/bin HOME=/root TMPDIR=/tmp
		mount -t proc proc /proc
		mount -t sysfs sysfs /sys
		mount -t securityfs securityfs /sys/kernel/security
		mount -t devtmpfs dev /dev
		mkdir -p /dev/pts /dev/shm
		mount -t devpts -o ptmxmode=666 devpts /dev/pts
		mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		mount -t tmpfs -o mode=1777 tmpfs /tmp
		mount -t tmpfs -o mode=755 tmpfs /run
		ip link set lo up
		chown 1000:1000 /home/tester
		chmod 1777 /var/tmp
		echo "vm: Linux \$(uname -r), security modules \$(cat /sys/kernel/security/lsm)"
		sh /t/all </dev/null 2>&1
		echo "$mark root \$?"
		su tester -c "HOME=/home/tester sh /t/all" </dev/null 2>&1
		echo "$mark tester \$?"
		poweroff -f
	END
	chmod 755 "$root" "$root/init"
	(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/ramdisk"
}

# machine VERSION ABI runs the tests in a virtual machine.
machine() {
	local image status=0
	image=$(kernel "$1")
	[ -n "$image" ] || { skip "no kernel $1 (Landlock ABI $2): apt does not have one, or could not download it"; return; }
	echo "== Linux $1, Landlock ABI $2"
	# QEMU 7.2 without KVM double-faults in 6.12 unless cx16 is off.
	timeout -k 5 "$limit" qemu-system-x86_64 -M pc -accel tcg -cpu max,cx16=off -smp 1 -m 768 \
		-nodefaults -no-user-config -display none -no-reboot -serial stdio -monitor none \
		-kernel "$image" -initrd "$work/ramdisk" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr lsm=landlock" </dev/null 2>&1 |
		tr -d '\r' >"$work/out" || status=$?
	for user in root tester; do
		grep -qx "$mark $user 0" "$work/out" || { echo "as $user: $(grep "^$mark $user " "$work/out" || echo "no answer in $limit seconds (status $status)")" >&2; status=1; }
	done
	judge "$work/out" "$status" "$2"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mark=done-$(od -An -tx1 -N8 /dev/urandom | tr -d ' \n')

[ "$(uname -s)" = Linux ] || { skip "this is not Linux"; exit; }
native
missing=()
for tool in qemu-system-x86_64 busybox cpio apt-cache dpkg-deb; do
	command -v "$tool" >/dev/null || missing+=("$tool")
done
if [ ${#missing[@]} -gt 0 ]; then
	skip "the older kernels, because these are not installed: ${missing[*]} (scripts/tools.sh --vm installs them on Debian, as root)"
elif [ "$(uname -m)" != x86_64 ]; then
	skip "the older kernels, because this machine is no x86-64"
else
	ramdisk
	machine 6.1 2
	machine 6.12 6
fi
[ "$failed" -eq 0 ] || exit 1
[ "$skipped" -eq 0 ] || [ "${NEED_VM:-}" != true ]
