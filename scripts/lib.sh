# shellcheck shell=bash
#
# scripts/lib.sh: what scripts/demo and scripts/test share.
#
# Finds a PostgreSQL to use and installs what is missing beside it, builds the extension from a copy
# of the tree, runs a throwaway server on it, and leaves nothing behind. Everything happens in one
# temporary folder; the source tree is only read, and a server that is already there is never touched.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly port=54321            # names the socket; no TCP port is opened
readonly oldest_major=15
readonly not_to_be_had=77      # exit status: something that is needed could not be had

pg_config=${PG_CONFIG:-}       # program that describes the server to use
major=                         # its major version
bin=                           # its programs
work=                          # the temporary folder
sock=                          # where sockets are; work, unless that path is too long
server_pid=
settings=()                    # name=value, by which a server finds the extension
install_args=()
dropin=                        # what forbids Debian to make a cluster, while it is in place
dropin_dir_is_ours=
uninterruptible=
stopped_by=
die_status=1
patience=30                    # tenths of a second until what does not end is forced to
leftovers=()                   # to be removed at the end, beside the temporary folder

# A server found by these would be somebody's.
for variable in ${!PG@}; do
	case $variable in
		PG_TEST_* | PGBUFPROBE_*) ;;
		*) unset "$variable" ;;
	esac
done
unset variable MAKEFLAGS MAKELEVEL DESTDIR COPT TEMP_CONFIG EXTRA_REGRESS_OPTS PROVE_FLAGS PROVE_TESTS
export LC_ALL=C.UTF-8 PGCLIENTENCODING=UTF8
umask 022

# --- talking ----------------------------------------------------------------------------------------

bold=''
plain=''
if [ -t 1 ]; then
	bold=$'\e[1m'
	plain=$'\e[0m'
fi

say() { printf '%s\n' "$*"; }
heading() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit "$die_status"
}

# --- running, and being interrupted -----------------------------------------------------------------

# These two are put before a command. A server refuses to be run by root.
as_admin=()                    # may install packages
as_server=()                   # runs the server and all that goes with it

is_root() { [ "$(id -u)" -eq 0 ]; }

# bash handles a signal only after the command in the foreground has ended. So what takes time runs
# in a process group of its own, which also can be ended as a whole, and the shell waits for it.
run() {
	local pid status
	set -m
	if [ -n "${log:-}" ]; then
		"$@" </dev/null >"$log" 2>&1 &
	else
		"$@" </dev/null &
	fi
	pid=$!
	set +m
	while :; do
		status=0
		wait "$pid" 2>/dev/null || status=$?
		# Still there: a signal came, in a step that must not be interrupted.
		is_running "$pid" || break
	done
	return "$status"
}

is_running() { jobs -pr | grep -qx "$1"; }

# Runs a step whose output is of interest only when it fails.
quietly() {
	local what=$1 log=$work/log
	shift
	if ! run "$@"; then
		tail -n 40 "$log" >&2
		die "$what failed; its last lines are above"
	fi
}

on_signal() {
	stopped_by=$2
	if [ -n "$uninterruptible" ]; then
		say "SIG$1: will stop as soon as the packages are in place"
	else
		say "SIG$1: cleaning up" >&2
		exit "$stopped_by"
	fi
}

# What run() has started and not seen end. The server is ended after those who talk to it.
running_groups() { jobs -pr | grep -vx "${server_pid:-none}" | sed 's/^/-/'; }

# Every server of ours, also one that a test has started and that left its process group. Valgrind,
# which ci/hostile puts around some, is the program itself there.
running_servers() {
	local process
	for process in /proc/[0-9]*; do
		case $(readlink "$process/cwd" 2>/dev/null) in "$work"/*) ;; *) continue ;; esac
		case $(readlink "$process/exe" 2>/dev/null) in */postgres* | */memcheck-*) echo "${process#/proc/}" ;; esac
	done
}

# Ends the processes that the function $2 lists: asked by signal $1, forced when patience is over.
end_all() {
	local signal=$1 list=$2 id tries
	for ((tries = 1; tries <= patience + 10; tries++)); do
		[ -n "$("$list")" ] || return 0
		[ "$tries" -lt "$patience" ] || signal=KILL
		if [ "$tries" -eq 1 ] || [ "$signal" = KILL ]; then
			for id in $("$list"); do
				# Of a group, some may be the administrator's.
				kill -s "$signal" -- "$id" 2>/dev/null || :
				[ ${#as_admin[@]} -eq 0 ] ||
					"${as_admin[@]}" bash -c "kill -s $signal -- $id" 2>/dev/null || :
			done
		fi
		sleep 0.1
	done
}

cleanup() {
	local status=$?
	trap '' HUP INT TERM
	set +e
	if [ -n "$work" ]; then
		end_all TERM running_groups
		end_all QUIT running_servers
		chmod -R u+rwX "$work" 2>/dev/null
		rm -rf "$work" "$sock" "${leftovers[@]}" 2>/dev/null ||
			"${as_admin[@]}" rm -rf "$work" "$sock" "${leftovers[@]}"
	fi
	remove_dropin
	exit "${stopped_by:-$status}"
}

trap cleanup EXIT
trap 'on_signal HUP 129' HUP
trap 'on_signal INT 130' INT
trap 'on_signal TERM 143' TERM

make_work_folder() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/pgbufprobe.XXXXXX")
	sock=$work
	# A socket's path ends at 107 bytes, and tests add some of their own.
	if [ ${#work} -gt 60 ]; then
		sock=$(mktemp -d /tmp/pgbufprobe.XXXXXX)
	fi
}

# Gives the folder to the user who will run the server; makes another if that one cannot get there.
hand_over_work_folder() {
	local user=postgres
	if is_root; then
		id "$user" >/dev/null 2>&1 ||
			die "a server refuses to be run by root, and there is no user \"$user\": run this as an ordinary user"
		# setpriv, because it leaves no process in between.
		as_server=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups --)
		if ! "${as_server[@]}" test -x "${work%/*}"; then
			rm -rf "$work" "$sock"
			TMPDIR=/tmp make_work_folder
		fi
		chown "$user" "$work" "$sock"
	fi
	as_server=(env -C "$work" HOME="$work" TMPDIR="$sock" PATH="$bin:$PATH" "${as_server[@]}")
}

# --- what is missing --------------------------------------------------------------------------------

# The newest installed server, one with headers before one without; else the one of this release.
choose_debian_major() {
	local version found=
	for version in $(cd /usr/lib/postgresql 2>/dev/null && printf '%s\n' [0-9]* | sort -n); do
		[ -x "/usr/lib/postgresql/$version/bin/postgres" ] || continue
		[ "$version" -ge "$oldest_major" ] || continue
		if [ -e "/usr/include/postgresql/$version/server/postgres.h" ] ||
			[ ! -e "/usr/include/postgresql/${found:-none}/server/postgres.h" ]; then
			found=$version
		fi
	done
	echo "${found:-$(release_major)}"
}

release_major() {
	local candidate
	candidate=$(apt-cache policy postgresql | sed -n 's/^ *Candidate: \([0-9][0-9]*\)[+.-].*/\1/p')
	if [ -z "$candidate" ]; then
		# No package lists yet.
		# shellcheck source=/dev/null
		case $(. /etc/os-release && echo "$ID ${VERSION_ID:-}") in
			'debian 12') candidate=15 ;;
			'debian 13') candidate=17 ;;
			'debian 14') candidate=18 ;;
			'ubuntu 24.04') candidate=16 ;;
			'ubuntu 25.'*) candidate=17 ;;
			'ubuntu 26.04') candidate=18 ;;
		esac
	fi
	echo "$candidate"
}

choose_server() {
	local in_path
	if [[ $pg_config =~ ^/usr/lib/postgresql/([0-9]+)/bin/pg_config$ ]] && [ -x "$(type -P apt-get)" ]; then
		# May be there or not yet.
		major=${BASH_REMATCH[1]}
		bin=${pg_config%/*}
	elif [ -n "$pg_config" ]; then
		pg_config=$(type -P "$pg_config") || die "PG_CONFIG names no program that can be run"
		pg_config=$(realpath -s "$pg_config")
	else
		# Debian's own, in /usr/bin, knows one version only, and that one too late.
		in_path=$(type -P pg_config || :)
		case $in_path in
			/usr/bin/*) [ -x "$(type -P apt-get)" ] || pg_config=$in_path ;;
			*) pg_config=$in_path ;;
		esac
	fi
	if [ -n "$major" ]; then
		:
	elif [ -z "$pg_config" ]; then
		[ -x "$(type -P apt-get)" ] ||
			die "no pg_config found: install PostgreSQL $oldest_major or later with its headers, and say PG_CONFIG=/path/to/pg_config"
		major=$(choose_debian_major)
		bin=/usr/lib/postgresql/$major/bin
		pg_config=$bin/pg_config
	else
		bin=$("$pg_config" --bindir)
		major=$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
	fi
	[ "${major:-0}" -ge "$oldest_major" ] ||
		die "PostgreSQL $oldest_major or later is needed, found ${major:-none}; say PG_CONFIG=/path/to/pg_config for another"
}

server_is_packaged() { [ "$(realpath -m "$bin")" = "/usr/lib/postgresql/$major/bin" ]; }
has_perl_modules() { perl -e 'for (@ARGV) { eval "require $_" or exit 1 }' "$@" 2>/dev/null; }
has_file() { [ -e "$("$pg_config" "$1" 2>/dev/null || echo /nonexistent)/$2" ]; }

missing_for_build() {
	[ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] && [ -x "$bin/psql" ] || echo "postgresql-$major"
	has_file --includedir-server postgres.h || echo "postgresql-server-dev-$major"
	type -P make >/dev/null || echo make
	type -P gcc >/dev/null || echo gcc
	echo '#include <stdio.h>' | gcc -E - >/dev/null 2>&1 || echo libc6-dev
}

missing_for_demo() {
	missing_for_build
	[ ! -x "$bin/postgres" ] || has_file --sharedir extension/pg_prewarm.control || echo "postgresql-$major"
}

missing_for_test() {
	missing_for_build
	has_file --sharedir extension/pgtap.control || [ -n "$(borrowed_pgtap)" ] || echo "postgresql-$major-pgtap"
	type -P prove >/dev/null && has_perl_modules Test::More Time::HiRes || echo perl
	has_perl_modules IPC::Run || echo libipc-run-perl
	type -P pg_prove >/dev/null && has_perl_modules TAP::Parser::SourceHandler::pgTAP ||
		echo libtap-parser-sourcehandler-pgtap-perl
}

# pgTAP is SQL alone. A server that is not a package may use that of one that is.
borrowed_pgtap() {
	server_is_packaged || printf '%s\n' /usr/share/postgresql/*/extension/pgtap.control | sort -V | sed '/\*/d' | tail -n 1
}

# Nor is there more than Perl in the modules for TAP tests, which know the servers of other versions.
tap_modules() {
	local of_server
	of_server=$(dirname "$("$pg_config" --pgxs)")/../../src/test/perl
	if [ -e "$of_server/PostgreSQL/Test/Cluster.pm" ]; then
		realpath "$of_server"
	elif ! server_is_packaged; then
		printf '%s\n' /usr/lib/postgresql/*/lib/pgxs/src/test/perl | sort -V | sed '/\*/d' | tail -n 1
	fi
}

# Whether this user may install, and how; at a terminal sudo may ask for the password.
may_install() {
	type -P apt-get >/dev/null || return 1
	! is_root || return 0
	type -P sudo >/dev/null || return 1
	sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 2 ] && sudo -v; } || return 1
	as_admin=(sudo -n)
}

# Installs what the function "missing_for_$1" names.
ensure_packages() {
	local missing
	die_status=$not_to_be_had
	mapfile -t missing < <("missing_for_$1")
	if [ ${#missing[@]} -gt 0 ]; then
		if ! server_is_packaged && [[ "${missing[*]}" =~ postgresql-[^\ ]* ]]; then
			die "the server of $pg_config lacks something that Debian has in ${BASH_REMATCH[0]} (programs, contrib, headers); add it there"
		fi
		say "Missing: ${missing[*]}"
		if ! may_install; then
			say "They cannot be installed from here. An administrator can do it by"
			say "    apt-get update && apt-get install --no-install-recommends ${missing[*]}"
			exit "$die_status"
		fi
		install_packages "${missing[@]}"
		mapfile -t missing < <("missing_for_$1")
		[ ${#missing[@]} -eq 0 ] || die "still missing after the installation: ${missing[*]}"
	fi
	die_status=1
}

install_packages() {
	# No questions; needrestart would restart servers that are none of ours, and others shall stay stopped.
	local packages apt=("${as_admin[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 RUNLEVEL=1
		apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0)
	say "Installing them by apt-get; this can take some minutes."
	log=$work/log run "${apt[@]}" update ||
		say "apt-get update failed; going on with the package lists that are there"
	mapfile -t packages < <(at_version_of_server "$@")
	refuse_upgrade "${packages[@]}"
	quietly "downloading packages" "${apt[@]}" --download-only install "${packages[@]}"
	# Packages half in place are worse than a command that stops late.
	uninterruptible=yes
	place_dropin
	quietly "installing packages" "${apt[@]}" install "${packages[@]}"
	remove_dropin
	uninterruptible=
	[ -z "$stopped_by" ] || exit "$stopped_by"
}

# Names packages with the version that their server has, where that is another than the newest: the newest would
# bring a new server along.
at_version_of_server() {
	local package installed
	for package in "$@"; do
		installed=
		[[ ! $package =~ ^postgresql-server-dev-([0-9]+)$ ]] ||
			installed=$(dpkg-query -W -f '${Version}' "postgresql-${BASH_REMATCH[1]}" 2>/dev/null || :)
		[ -n "$installed" ] && apt-cache show "$package=$installed" >/dev/null 2>&1 || installed=
		echo "$package${installed:+=$installed}"
	done
}

# A package upgraded on the way would restart the servers that are run from it.
refuse_upgrade() {
	local upgraded
	# An error shows in the installation itself.
	upgraded=$({ apt-get -s -q --no-install-recommends install "$@" 2>/dev/null || :; } |
		sed -n 's/^Inst postgresql-\([0-9]*\) \[.*/\1/p')
	[ -z "$upgraded" ] || ! grep -aqs "^/usr/lib/postgresql/$upgraded/bin/postgres" /proc/[0-9]*/cmdline ||
		die "installing them would upgrade postgresql-$upgraded and restart its servers; do that at a time of your choice:
    apt-get install --no-install-recommends $*"
}

# Debian makes and starts a cluster with each new server, unless this is there.
place_dropin() {
	local dir=/etc/postgresql-common/createcluster.d
	[ -d "$dir" ] || dropin_dir_is_ours=yes
	dropin=$dir/zz-pgbufprobe-$$.conf
	"${as_admin[@]}" mkdir -p "$dir"
	echo 'create_main_cluster = false' | "${as_admin[@]}" tee "$dropin" >/dev/null
}

remove_dropin() {
	[ -n "$dropin" ] || return 0
	"${as_admin[@]}" rm -f "$dropin"
	if [ -n "$dropin_dir_is_ours" ]; then
		"${as_admin[@]}" rmdir --ignore-fail-on-non-empty "${dropin%/*}"
	fi
	dropin=
}

# --- building ---------------------------------------------------------------------------------------

# Makes a private copy of a server that cannot be used where it is, see choose_settings.
copy_server() {
	local prefix
	prefix=$(realpath "$bin/..")
	case $prefix in
		/ | /usr | /usr/local)
			die "this server loads extensions from system folders only; use one that knows extension_control_path, or one with a folder of its own" ;;
	esac
	mkdir "$work/server"
	cp -a "$prefix/." "$work/server"
	! is_root || chown -R --reference="$work" "$work/server"
	bin=$work/server/${bin##*/}
	pg_config=$bin/pg_config
	# Its programs may know libpq by a path that cannot be reached.
	as_server+=(env "PATH=$bin:$PATH" "LD_LIBRARY_PATH=$("$pg_config" --libdir)")
	if ! has_file --sharedir extension/pgtap.control && [ -n "$(borrowed_pgtap)" ]; then
		cp "$(dirname "$(borrowed_pgtap)")"/pgtap* "$("$pg_config" --sharedir)/extension"
	fi
}

# Whether the user who will run the server cannot get there, or pgTAP would have to be put into it.
server_must_be_copied() {
	! server_is_packaged || return 1
	! "${as_server[@]}" test -x "$bin/postgres" ||
		{ ! has_file --sharedir extension/pgtap.control && [ -n "$(borrowed_pgtap)" ]; }
}

# How the server is told where the extension is, without a system folder being touched.
choose_settings() {
	local into=$work/inst known
	known=$("$bin/postgres" --describe-config | cut -f 1)
	install_args=("DESTDIR=$into")
	if server_must_be_copied; then
		install_args=()
		copy_server
	elif grep -qx extension_control_path <<<"$known"; then
		settings=("extension_control_path=$into$("$pg_config" --sharedir):\$system"
			"dynamic_library_path=$into$("$pg_config" --pkglibdir):\$libdir")
	elif grep -qx extension_destdir <<<"$known"; then
		# The first is not looked at for libraries that are loaded at the server's start.
		settings=("extension_destdir=$into"
			"dynamic_library_path=$into$("$pg_config" --pkglibdir):\$libdir")
	else
		install_args=()
		copy_server
	fi
}

# Builds and installs into the temporary folder; arguments go to make.
build() {
	local args=("PG_CONFIG=$pg_config" with_llvm=no "$@")
	mkdir "$work/build"
	# Nothing that was built in the tree, maybe for another server.
	tar -C "$root" --exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc' \
		--exclude=./results --exclude=./tmp_check --exclude=./regression.\* -cf - . | tar -C "$work/build" -xf -
	chmod -R u+rwX "$work/build"
	! is_root || chown -R --reference="$work" "$work/build"
	quietly "make" "${as_server[@]}" make -s -C "$work/build" "${args[@]}"
	quietly "make install" "${as_server[@]}" make -s -C "$work/build" "${args[@]}" install "${install_args[@]}"
}

# From nothing to the extension built, for "demo" or "test"; arguments after that go to make.
prepare() {
	local purpose=$1
	shift
	make_work_folder
	choose_server
	ensure_packages "$purpose"
	hand_over_work_folder
	choose_settings
	say "Building for $("$pg_config" --version), in $work"
	build "$@"
}

# --- a throwaway server -----------------------------------------------------------------------------

# Starts a server with the settings given as name=value. psql and the like find it by PGHOST and PGPORT.
start_server() {
	local setting options=()
	export PGHOST=$sock PGPORT=$port PGUSER=postgres PGDATABASE=postgres
	for setting in listen_addresses= "port=$port" "unix_socket_directories=$sock" fsync=off \
		"${settings[@]}" "$@"; do
		options+=(-c "$setting")
	done
	[ -d "$work/data" ] ||
		quietly "initdb" "${as_server[@]}" "$bin/initdb" -D "$work/data" -U postgres -A trust \
			--no-locale --encoding=UTF8 --no-sync --no-instructions
	set -m
	"${as_server[@]}" "$bin/postgres" -D "$work/data" "${options[@]}" </dev/null >"$work/server.log" 2>&1 &
	server_pid=$!
	set +m
	await_server
}

await_server() {
	local tries
	for tries in {1..300}; do
		if "${as_server[@]}" "$bin/psql" -Xqc '' >/dev/null 2>&1; then
			return
		fi
		kill -0 "$server_pid" 2>/dev/null || break
		sleep 0.1
	done
	cat "$work/server.log" >&2
	die "the server did not start; its log is above"
}

# Stops it in good order; start_server starts it again, with other settings.
stop_server() {
	quietly "pg_ctl stop" "${as_server[@]}" "$bin/pg_ctl" -D "$work/data" -w -m fast stop
	server_pid=
}
