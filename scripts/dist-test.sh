#!/usr/bin/env bash
# scripts/dist-test.sh [--short]: what `make dist-test` does. It builds all files of
# a release twice, in two clones with caches of their own, and compares them; and it
# installs the .deb in a root that has nothing but it and busybox, uses it, upgrades
# it over a running session, upgrades the session's owner, and removes it.
# --short builds nothing but the package, of bin/middleman and of the same source
# with another version. As an ordinary user it needs user namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

skip() {
	echo "dist-test skipped: $*" >&2
	[ "${CI:-}" != true ]
	exit
}
fail() {
	echo "dist-test: $*" >&2
	exit 1
}
short=
[ "${1:-}" != --short ] || short=true
for tool in dpkg busybox unshare; do
	command -v "$tool" >/dev/null || skip "$tool is not installed; on Debian: apt-get install dpkg busybox-static util-linux"
done
spaces=(--mount --pid --fork)
[ "$(id -u)" -eq 0 ] || spaces+=(--user --map-root-user)
unshare "${spaces[@]}" true 2>/dev/null || skip "namespaces cannot be made"

work=$(mktemp -d)
clean() {
	status=$?
	chmod -R u+rwX "$work"
	rm -rf "$work"
	exit "$status"
}
trap clean EXIT
(cd scripts/dist && go vet . && go test . && go build -o "$work/dist" .)

# Two versions of one source, as packages.
for n in 1 2; do
	version=v0.1.0-test.$n
	make --no-print-directory -s build VERSION="$version" BINARY="$work/middleman$n"
	"$work/dist" -out "$work/out$n" -version "$version" -targets "linux/$(go env GOARCH)" -prebuilt "$work/middleman$n"
	(cd "$work/out$n" && sha256sum --quiet -c SHA256SUMS)
done

# A root for them: an empty database of packages, and busybox for a shell.
root=$work/root
mkdir -p "$root"/{bin,dev,proc,tmp,root,etc,var/lib/dpkg/{info,updates}}
touch "$root/var/lib/dpkg/status" "$root/dev/"{null,tty,zero,urandom}
mkdir "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
printf 'root:x:0:0::/root:/bin/sh\n' >"$root/etc/passwd"
install -m 755 "$(command -v busybox)" "$root/bin/busybox"
for name in sh cat sleep ls; do ln -s busybox "$root/bin/$name"; done
install -m 755 scripts/dist-root.sh "$root/test.sh"
mkdir "$root/packages"
cp "$work"/out1/*.deb "$root/packages/old.deb"
cp "$work"/out2/*.deb "$root/packages/new.deb"

before=$(cd "$root" && find . -path ./var -prune -o -print | sort)
# dpkg runs outside: the package has no scripts, and the root no dpkg. It is asked
# for by way of a FIFO, while the session runs inside.
mkfifo "$root/ask" "$root/done"
apply() {
	local flags=(--root="$root" --log="$work/dpkg.log" --force-not-root)
	case $1 in
	old | new) dpkg "${flags[@]}" --install "$root/packages/$1.deb" ;;
	remove) dpkg "${flags[@]}" --remove middleman ;;
	esac >>"$work/dpkg.out" 2>&1
}
serve() {
	while read -r wish <"$root/ask" && [ "$wish" != end ]; do
		if apply "$wish"; then echo yes; else cat "$work/dpkg.out" >&2; echo no; fi >"$root/done"
	done
}
serve &
timeout -k 5 120 unshare "${spaces[@]}" --kill-child bash -c '
	set -e
	for node in null tty zero urandom; do mount --bind "/dev/$node" "$0/dev/$node"; done
	mount -t devpts -o ptmxmode=0666 devpts "$0/dev/pts"
	mount -t proc proc "$0/proc"
	exec chroot "$0" /bin/sh /test.sh' "$root" || { status=$?; echo end >"$root/ask" & wait; fail "the package was not used as it must be ($status)"; }
echo end >"$root/ask"
wait
rm -rf "$root/ask" "$root/done" "$root/tmp/"* "$root/root/"{.local,.config,.cache}
before=$(grep -v -e '^./ask$' -e '^./done$' <<<"$before")
after=$(cd "$root" && find . -path ./var -prune -o -print | sort)
[ "$before" = "$after" ] || fail "removing the package left: $(diff <(echo "$before") <(echo "$after"))"
echo "dist-test: the .deb was installed, used, upgraded over a running session, and removed"
[ -z "$short" ] || exit 0

# The same commit in two places, compiled twice, gives the same files.
for n in 1 2; do
	git clone -q . "$work/clone$n/x$n"
	(cd "$work/clone$n/x$n" && GOCACHE=$work/cache$n "$work/dist" -out "$work/release$n")
	rm -rf "$work/cache$n"
done
diff -r "$work/release1" "$work/release2" || fail "two builds of one commit differ"
echo "dist-test: two builds gave the same $(wc -l <"$work/release1/SHA256SUMS") files"
