#!/bin/sh
# What scripts/dist-test.sh runs in the root with the package and busybox alone. It
# asks for packages by writing to /ask, and reads from /done when that is done.
set -eu
export PATH=/usr/bin:/bin HOME=/root TERM=xterm
cd /root

# dpkg installs or removes, or ends the test.
dpkg() {
	echo "$1" >/ask
	read -r done </done
	[ "$done" = yes ]
}
fail() {
	echo "dist-test: $*" >&2
	middleman doctor >&2 || true
	exit 1
}
has() { case $1 in *"$2"*) ;; *) fail "$3: it says $1" ;; esac }

dpkg old
has "$(middleman --version)" v0.1.0-test.1 "the old version"
for file in man/man1/middleman.1.gz man/man5/middleman-settings.5.gz doc/middleman/docs/guide.md bash-completion/completions/middleman zsh/vendor-completions/_middleman fish/vendor_completions.d/middleman.fish doc/middleman/copyright; do
	[ -s "/usr/share/$file" ] || fail "there is no $file"
done
if busybox grep -r '^mm()\|^function mm' /usr/share/bash-completion /usr/share/zsh /usr/share/fish; then
	fail "the first Tab would define mm"
fi
middleman new first -d --mode directory -- cat
middleman send first --enter 'before the upgrade'
middleman wait first --text 'before the upgrade' --scrollback --timeout 30s
pid() { middleman ls --sessions --json | busybox sed -n 's/^ *"pid": \([0-9]*\),$/\1/p'; }
before=$(pid)

dpkg new
has "$(middleman --version)" v0.1.0-test.2 "the new version"
middleman send first --enter 'after the upgrade'
middleman wait first --text 'after the upgrade' --scrollback --timeout 30s
has "$(middleman upgrade)" 'v0.1.0-test.1 -> v0.1.0-test.2' "middleman upgrade"
middleman server restart
middleman send first --enter 'with the new owner'
middleman wait first --text 'with the new owner' --scrollback --timeout 30s
screen=$(middleman capture first)
for text in before after with; do has "$screen" "$text the" "the screen"; done
[ "$(pid)" = "$before" ] || fail "the session's program was process $before, and is now $(pid)"

# Removing the package ends nothing: the session still runs.
busybox cp /usr/bin/middleman /tmp/kept
dpkg remove
[ ! -e /usr/bin/middleman ] || fail "the program is still there"
/tmp/kept send first --enter 'without the package'
/tmp/kept wait first --text 'without the package' --scrollback --timeout 30s
/tmp/kept rm first --discard-work --stop-sessions
/tmp/kept server stop
