#!/usr/bin/env bash
# scripts/as-user.sh COMMAND...: runs COMMAND in a copy of this checkout, as an
# ordinary user who is made for the purpose and is gone afterwards. For root
# alone; an ordinary user runs COMMAND right here. The copy has what git knows
# and what is new, and the history.
#
# The user's own directories, Go's caches among them, are below
# /var/tmp/middleman-ci, which is root's: nobody else can put anything there.
# What was built is kept there for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" -eq 0 ] || exec "$@"

user=middleman-ci
place=/var/tmp/$user
[ ! -L "$place" ] || { echo "$place is a symbolic link: remove it" >&2; exit 1; }
install -d -m 0755 -o root -g root "$place"
if ! id "$user" >/dev/null 2>&1; then
	useradd --system --user-group --shell /bin/bash --home-dir "$place/home" --no-create-home "$user"
fi
install -d -m 0700 -o "$user" -g "$user" "$place/home"

copy=$(mktemp -d "$place/copy.XXXXXX")
cleanup() {
	# A directory that a test has left unwritable is no obstacle to root.
	rm -rf "$copy"
}
trap cleanup EXIT
git clone --quiet --no-hardlinks . "$copy/main"
# What is changed here and not committed is tried too.
git ls-files -z --deleted | (cd "$copy/main" && xargs -0r rm -f --)
git ls-files -z --modified --others --exclude-standard --deduplicate |
	while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
	tar --null --files-from=- -cf - | tar -xf - -C "$copy/main"
chown -R "$user:$user" "$copy"

# Modules that are here need not be fetched again: the user reads them from a
# copy of root's cache, which Go verifies by go.sum as any.
modules=$(go env GOMODCACHE)
if [ -d "$modules/cache/download" ]; then
	proxy="file://$place/modules,$(go env GOPROXY)"
	install -d -m 0755 "$place/modules"
	cp -ru "$modules/cache/download/." "$place/modules/"
	chmod -R a+rX "$place/modules"
else
	proxy=$(go env GOPROXY)
fi

# Nor need what root has compiled for .ci/run, on a fresh machine.
if [ -d "$place/compiled" ] && [ ! -e "$place/home/.cache/go-build" ]; then
	install -d -m 0700 -o "$user" -g "$user" "$place/home/.cache"
	cp -r "$place/compiled" "$place/home/.cache/go-build"
	chown -R "$user:$user" "$place/home/.cache/go-build"
fi

# The user starts as after a login: of root's environment only what is no
# secret and what tools need to reach their registries comes along.
keep=(CI TERM LANG SHORT REPEAT SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy)
environment=(HOME="$place/home" USER="$user" LOGNAME="$user" SHELL=/bin/bash
	PATH="$(dirname "$(command -v go)"):/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
	GOPROXY="$proxy" GOFLAGS="$(go env GOFLAGS)")
for name in "${keep[@]}"; do
	if [ -n "${!name+set}" ]; then environment+=("$name=${!name}"); fi
done
(cd "$copy/main" && "$copy/main/scripts/ram-tmp.sh" env -i "${environment[@]}" setpriv --reuid "$user" --regid "$user" --init-groups -- "$@")
