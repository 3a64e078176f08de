#!/usr/bin/env bash
# scripts/systemd-test.sh BINARY: what `make systemd-test` does. It boots a real
# systemd in namespaces, runs BINARY there as a user's unit and as the system's,
# and ends the units in every way: the sessions must not notice.
#
# That systemd must reach nothing of this machine: as any boot it would empty
# /tmp, for one. So its root is a tmpfs that it is pivoted into, with /usr bound
# read-only, /proc/sys read-only and no other unit than those below, and it is
# started only where the kernel's list of mounts shows that.
set -euo pipefail

self=$(realpath "$0")
systemd=/usr/lib/systemd/systemd

skip() {
	echo "systemd-test skipped: $*" >&2
	[ "${NEED_SYSTEMD:-}" != true ]
	exit
}

# Stage 1, on the machine: a cgroup and a mount namespace of our own.
outer() {
	binary=$(realpath "$1")
	[ "$(uname -s)" = Linux ] || skip "this is not Linux"
	[ "$(id -u)" -eq 0 ] || skip "it needs root, to make namespaces"
	for tool in "$systemd" systemd-run systemctl unshare pivot_root setpriv tmux git; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
	cgroups=$(awk '{ for (i = 7; i <= NF; i++) if ($i == "-" && $(i+1) == "cgroup2") print $5 }' /proc/self/mountinfo | head -n 1)
	[ -n "$cgroups" ] || skip "no cgroup2 is mounted"
	group=$cgroups/middleman-test.$$
	mkdir "$group" 2>/dev/null || skip "$cgroups cannot be written"
	work=$(mktemp -d)
	mkdir "$work/root"
	trap clean EXIT
	unshare --mount --propagation private --pid --fork --uts --ipc --net --cgroup -- \
		mount -t tmpfs none "$work/root" 2>/dev/null || skip "namespaces with mounts of their own cannot be made"
	bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \
		timeout -k 5 100 unshare --mount --propagation private -- bash "$self" --populate "$work/root" "$binary"
}

clean() {
	status=$?
	# Whatever is left in the cgroup is of this test, and of nobody else.
	if [ -e "$group/cgroup.kill" ]; then
		echo 1 >"$group/cgroup.kill"
	fi
	local limit=$((SECONDS + 10))
	while [ -n "$(find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null)" ]; do
		[ $SECONDS -lt $limit ] || { echo "systemd-test: processes in $group do not end" >&2; exit 1; }
	done
	find "$group" -depth -type d -exec rmdir {} +
	rmdir "$work/root" "$work"
	exit "$status"
}

# Stage 2: the root file system, on a tmpfs that nobody else sees.
populate() {
	root=$1 binary=$2
	mount -t tmpfs -o mode=755 middleman-test "$root"
	cd "$root"
	mkdir -p usr etc/systemd/{system,user,none} proc sys dev/{pts,shm} run tmp var/lib/systemd home/tester old opt/bin "opt/odd 100% \$x" opt/result
	chmod 1777 tmp dev/shm
	mount --bind /usr usr
	mount -o remount,bind,ro usr
	for link in bin sbin lib lib64 lib32 libx32; do
		[ ! -L "/$link" ] || cp -P "/$link" .
	done
	cp -a /etc/alternatives etc/
	for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
		IFS=: read -r name major minor <<<"$node"
		mknod -m 666 "dev/$name" c "$major" "$minor"
	done
	ln -s pts/ptmx dev/ptmx
	ln -s /proc/self/fd dev/fd
	cp "$binary" opt/bin/middleman
	cp "$binary" "opt/odd 100% \$x/middleman"
	cp "$self" opt/test.sh
	printf 'root:x:0:0::/root:/bin/sh\ntester:x:4321:4321::/home/tester:/bin/sh\n' >etc/passwd
	printf 'root:x:0:\ntester:x:4321:\n' >etc/group
	printf '0123456789abcdef0123456789abcdef\n' >etc/machine-id
	printf '[Manager]\nDefaultTimeoutStopSec=2s\n' >etc/systemd/system.conf
	chown 4321:4321 home/tester
	units
	unshare --mount --propagation private --pid --fork --kill-child --uts --ipc --net --cgroup -- \
		bash "$self" --enter "$root" || true
	[ -e "$root/opt/result/booted" ] || skip "$systemd did not come up: $(cat "$root/opt/result/log" 2>/dev/null)"
	cat "$root/opt/result/log"
	[ "$(cat "$root/opt/result/status" 2>/dev/null)" = passed ]
}

units() {
	for dir in system user; do
		for target in sysinit basic shutdown default exit; do
			printf '[Unit]\nDescription=%s\n' "$target" >"etc/systemd/$dir/$target.target"
		done
	done
	cat >etc/systemd/system/test.service <<-'END'
		[Unit]
		SuccessAction=exit-force
		FailureAction=exit-force
		[Service]
		Type=exec
		ExecStart=/bin/bash /opt/test.sh --inside
		StandardOutput=append:/opt/result/log
		StandardError=append:/opt/result/log
	END
	cat >etc/systemd/system/user@.service <<-'END'
		[Service]
		Type=notify
		User=tester
		ExecStart=/usr/lib/systemd/systemd --user
		Environment=HOME=/home/tester XDG_RUNTIME_DIR=/run/user/4321 SYSTEMD_GENERATOR_PATH=/etc/systemd/none
		Environment=SYSTEMD_UNIT_PATH=/home/tester/.config/systemd/user:/etc/systemd/user
		Delegate=yes
		KillMode=mixed
		TimeoutStopSec=5
	END
	cat >etc/systemd/system/asroot.service <<-'END'
		[Service]
		Type=notify
		Environment=HOME=/root MIDDLEMAN_HOME=/var/lib/asroot SHELL=/bin/sh
		ExecStart=/opt/bin/middleman serve --listen 127.0.0.1:0
		KillMode=control-group
	END
	cat >etc/systemd/system/refused.service <<-'END'
		[Service]
		Type=notify
		User=tester
		Environment=MIDDLEMAN_HOME=/home/tester/refused XDG_RUNTIME_DIR=/run/nobody SHELL=/bin/sh
		StandardOutput=append:/run/refused.log
		StandardError=append:/run/refused.log
		ExecStart=/opt/bin/middleman serve --listen 127.0.0.1:0
		KillMode=process
	END
}

# Stage 3: process 1 of a namespace leaves the machine's files behind.
enter() {
	cd "$1"
	mount -t proc proc proc
	mount --bind proc/sys proc/sys
	mount -o remount,bind,ro proc/sys
	if [ -e proc/sysrq-trigger ]; then
		mount --bind dev/null proc/sysrq-trigger
		mount -o remount,bind,ro proc/sysrq-trigger
	fi
	mount -t sysfs -o ro sysfs sys
	mount -t cgroup2 cgroup2 sys/fs/cgroup
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
	pivot_root . old
	cd /
	umount -l /old
	rmdir /old
	only_ours
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=middleman-test SYSTEMD_LOG_TARGET=null \
		SYSTEMD_UNIT_PATH=/etc/systemd/system SYSTEMD_GENERATOR_PATH=/etc/systemd/none \
		"$systemd" --system --unit=test.service
}

# only_ours ends the test where anything that can be written is not its own.
only_ours() {
	local own number point options rest type
	own=$(awk '$5 == "/" { print $3 }' /proc/self/mountinfo | tail -n 1)
	while read -r _ _ number _ point options rest; do
		type=${rest##*- }
		case ${type%% *},$options, in
		*,ro,*) ;;
		tmpfs,*) [ "$number" = "$own" ] || die "$point is a tmpfs of the machine" ;;
		proc,* | devpts,* | cgroup2,*) ;;
		*) die "$point can be written: $options $rest" ;;
		esac
	done </proc/self/mountinfo
	[ ! -w /proc/sys/kernel/pid_max ] || die "/proc/sys can be written"
	[ $$ -eq 1 ] || die "this is not the first process of a namespace"
}

die() {
	touch /opt/result/booted # so that this is no reason to skip
	echo "systemd-test: $*" | tee -a /opt/result/log >&2
	exit 1
}

# Stage 4: the test itself, a unit of that systemd.
inside() {
	touch /opt/result/booted
	export PATH=/opt/bin:/usr/sbin:/usr/bin:/sbin:/bin
	mkdir -p /run/user/4321
	chown 4321:4321 /run/user/4321
	chmod 700 /run/user/4321
	trap 'echo "line $LINENO: $BASH_COMMAND"' ERR
	set -E
	as_a_user_unit
	as_a_system_unit
	where_no_scope_is_to_be_had
	echo passed >/opt/result/status
}

tester() {
	setpriv --reuid 4321 --regid 4321 --clear-groups env -i PATH="$PATH" HOME=/home/tester USER=tester SHELL=/bin/sh \
		XDG_RUNTIME_DIR=/run/user/4321 MIDDLEMAN_HOME="${tester_home:-/home/tester/mm}" "$@"
}

asroot() { MIDDLEMAN_HOME=/var/lib/asroot HOME=/root "$@"; }

# session RUN NAME BACKEND starts a session and prints its id and program's pid.
session() {
	"$1" middleman new "$2" -d --mode directory --backend "$3" --json -- sleep 1000 |
		sed -n 's/.*"id": "\(s[0-9a-z]*\)".*/\1/p; s/.*"pid": \([0-9]*\).*/\1/p' | paste -s -d ' '
}

# A program is in a cgroup of its own below its scope, where that may be made.
unit_of() { sed -n 's/\/program$//; s/^0::.*\///p' "/proc/$1/cgroup"; }

is() { [ "$1" = "$2" ] || { echo "$3: $1, want $2"; return 1; }; }

lives() { # lives RUN NAME PID: the program runs, and the command line finds it
	kill -0 "$3"
	local list
	list=$("$1" middleman ls --sessions)
	grep -q "$2.*running" <<<"$list" || { echo "$2 does not run: $list"; return 1; }
}

nothing_of_systemd_in() {
	! tr '\0' '\n' <"/proc/$1/environ" |
		grep -E '^(NOTIFY_SOCKET|INVOCATION_ID|SYSTEMD_|LISTEN_|JOURNAL_STREAM|MANAGERPID|WATCHDOG_)' ||
		{ echo "of systemd in process $1"; return 1; }
}

refuses() { # refuses TEXT COMMAND...
	local said
	if said=$("${@:2}" 2>&1); then echo "not refused: ${*:2}"; return 1; fi
	case $said in *"$1"*) ;; *) echo "$said, want $1"; return 1 ;; esac
}

service_beside_another_server() {
	local status=0
	tester middleman serve --background
	tester mkdir -p /home/tester/.config/systemd/user
	tester middleman service install || status=$?
	kill "$(sed 's/.*"pid": *\([0-9]*\).*/\1/' <(tr -d '\n' </home/tester/mm/run/serve.json))"
	while [ -e /home/tester/mm/run/serve.json ]; do :; done
	return "$status"
}

as_a_user_unit() {
	systemctl start user@4321.service
	local said odd="/opt/odd 100% \$x/middleman" unit=middleman.service id pid gone_id gone_pid tmux_id tmux_pid id2 pid2 owner
	refuses "a server runs already" service_beside_another_server
	printf '[Service]\n' | tester tee /home/tester/.config/systemd/user/$unit >/dev/null
	refuses "was not written by middleman" tester "$odd" service install
	tester "$odd" service install --no-start --force
	is "$(tester systemctl --user show -P ActiveState $unit)" inactive "the unit with --no-start"
	tester "$odd" service install -n | grep '^would run: systemctl --user restart'
	tester "$odd" service install --listen 127.0.0.1:0
	is "$(tester systemctl --user show -P ActiveState $unit)" active "the unit"
	tester "$odd" service install --listen 127.0.0.1:0 # again is no harm
	# The worst that can be set: all of the unit's processes end with it.
	mkdir -p /home/tester/.config/systemd/user/$unit.d
	printf '[Service]\nKillMode=control-group\n' >/home/tester/.config/systemd/user/$unit.d/worst.conf
	tester systemctl --user daemon-reload
	read -r id pid < <(session tester mine pty-owner)
	mv "$odd" "$odd.gone" # a binary that was replaced still starts sessions
	read -r gone_id gone_pid < <(session tester gone pty-owner)
	read -r id2 pid2 < <(session tester gonetoo tmux)
	tester middleman stop "$id2"
	mv "$odd.gone" "$odd"
	is "$(unit_of "$gone_pid")" "middleman-$gone_id.scope" "a session of a binary that is gone"
	tester middleman stop "$gone_id"
	read -r tmux_id tmux_pid < <(session tester muxed tmux)
	is "$(unit_of "$pid")" "middleman-$id.scope" "a session of a user's unit"
	owner=$(awk '{ print $4 }' "/proc/$pid/stat")
	is "$(unit_of "$owner")" "middleman-$id.scope" "its owner"
	case $(unit_of "$tmux_pid") in middleman-tmux-*.scope) ;; *) is "$(unit_of "$tmux_pid")" "a scope" "a session of tmux" ;; esac
	is "$(tr '\0' ' ' <"/proc/$owner/environ")" "PATH=/usr/local/bin:/usr/bin:/bin GOMAXPROCS=2 " "the owner's environment"
	for p in "$pid" "$tmux_pid" "$owner"; do nothing_of_systemd_in "$p"; done
	tester middleman doctor | grep -E '^(ok|note).*systemd'

	tester systemctl --user restart $unit
	lives tester mine "$pid"
	said=$(tester middleman server status) # whole: a pipe that grep closes would end it
	grep -q "^run by  *$unit\$" <<<"$said"
	server=$(tester systemctl --user show -P MainPID $unit)
	said=$(tester middleman server restart 2>&1)
	grep -q "^run: systemctl --user restart" <<<"$said" || { echo "$said"; return 1; }
	[ "$(tester systemctl --user show -P MainPID $unit)" != "$server" ] || { echo "systemctl did not restart the server"; return 1; }
	server=$(tester systemctl --user show -P MainPID $unit)
	refuses "goes on with the program that the unit names" tester middleman server restart --program "$odd"
	is "$(tester systemctl --user show -P MainPID $unit)" "$server" "the server that was not restarted"
	lives tester mine "$pid"
	tester middleman server stop
	is "$(tester systemctl --user show -P ActiveState $unit)" inactive "the unit of a stopped server"
	tester systemctl --user reset-failed $unit # of so many starts in so little time
	tester systemctl --user start $unit
	lives tester muxed "$tmux_pid"
	tester systemctl --user kill --signal=KILL $unit
	lives tester mine "$pid" # Restart=on-failure, or the command line starts another
	until [ "$(tester systemctl --user show -P ActiveState $unit)" = active ]; do :; done
	group=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$(tester systemctl --user show -P MainPID $unit)/cgroup")
	echo 1 >"$group/cgroup.kill"
	lives tester mine "$pid"
	lives tester muxed "$tmux_pid"
	until [ "$(tester systemctl --user show -P ActiveState $unit)" = active ]; do :; done
	tester systemctl --user stop $unit
	kill -0 "$pid" "$tmux_pid" "$owner"
	tester systemctl --user start $unit
	lives tester mine "$pid"
	tester middleman stop "$id"
	read -r id2 pid2 < <(session tester second tmux)
	tester middleman stop "$tmux_id"
	lives tester second "$pid2" # whose tmux server the first session's owner has started
	tester middleman stop "$id2"
	! kill -0 "$pid" 2>/dev/null || { echo "a stopped program lives"; return 1; }
	until ! tester systemctl --user is-active -q "middleman-$id.scope"; do :; done
	tester middleman service status
	tester "$odd" service uninstall
	is "$(ls /home/tester/.config/systemd/user | tr '\n' ' ')" "middleman.service.d " "after an uninstall"
	echo "ok: a user's unit"
}

as_a_system_unit() {
	local id pid
	systemctl start asroot.service
	read -r id pid < <(session asroot mine pty-owner)
	is "$(unit_of "$pid")" "middleman-$id.scope" "a session of a system unit"
	nothing_of_systemd_in "$pid"
	systemctl restart asroot.service
	lives asroot mine "$pid"
	systemctl stop asroot.service
	kill -0 "$pid"
	asroot middleman stop "$id"
	echo "ok: a system unit"
}

# The unit's user has no manager, and the system's does not take orders from it.
where_no_scope_is_to_be_had() {
	local id pid tmux_id tmux_pid tester_home=/home/tester/refused
	systemctl start refused.service
	grep "middleman open" /run/refused.log
	! grep "log in with http" /run/refused.log || return 1
	read -r id pid < <(session tester mine pty-owner)
	is "$(unit_of "$pid")" refused.service "a session without a scope"
	grep -h "ends with the server's unit" "$tester_home/data/sessions/$id/owner.log" ||
		{ cat "$tester_home/data/sessions/$id"/*.log; return 1; }
	tester middleman doctor | grep "refused.service" || { tester middleman doctor; return 1; }
	systemctl restart refused.service # KillMode=process
	lives tester mine "$pid"
	read -r tmux_id tmux_pid < <(session tester muxed tmux)
	is "$(unit_of "$tmux_pid")" refused.service "a session of tmux without a scope"
	grep -h "tmux sessions end with the server's unit" "$tester_home/data/sessions/$tmux_id/owner.log"
	# That they do shows that it is the scope which keeps the others.
	mkdir /etc/systemd/system/refused.service.d
	printf '[Service]\nKillMode=control-group\nTimeoutStopSec=1\n' >/etc/systemd/system/refused.service.d/worst.conf
	systemctl daemon-reload
	systemctl stop refused.service
	! kill -0 "$pid" 2>/dev/null || { echo "what has no scope outlived its unit"; return 1; }
	echo "ok: no scope to be had, and said so"
}

case ${1:-} in
--populate) populate "$2" "$3" ;;
--enter) enter "$2" ;;
--inside) inside ;;
-* | "") echo "usage: $0 BINARY" >&2; exit 2 ;;
*) outer "$1" ;;
esac
