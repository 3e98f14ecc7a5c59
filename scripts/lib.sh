# shellcheck shell=bash disable=SC2015,SC2034,SC2046
#
# scripts/lib.sh: a server, the extension built for it, and an end that leaves nothing behind.
#
# The scripts use these names, in this order:
#   packages+=("FILE PACKAGE")   Debian's package is installed if the file is missing; MAJOR stands for the server's
#   prepare [NAME=VALUE]...      finds or installs a server and builds the extension for it; arguments go to make
#   start_server [name=value]... starts a server with these settings; stop_server stops it and keeps its data
#   prove_installcheck FILE...   runs TAP tests, which find PostgreSQL::Test::Cluster and the extension
#   run, quietly WHAT, logged FILE   each before a command that takes time, so that a signal ends it at once
#   "${as_server[@]}"            before a command: runs it in $work as the server's user, who must not be root
#   say, heading, die
# and these variables: root (the source tree, only read), work (the temporary folder), sock (the folder of sockets), port,
# major, bin, pg_config, settings (name=value, by which a server finds the extension).
#
# PG_CONFIG chooses the server. None is changed: one of Debian's loads the extension from $work, any other is copied there.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root port=54321 not_to_be_had=77
pg_config=${PG_CONFIG:-}
cache=${PGBUFPROBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pgbufprobe}
work='' sock='' major='' bin='' server_pid='' settings=() as_server=()
debian=''                      # major version of Debian's server
patience=50                    # tenths of a second until a process is killed that does not end
packages=(
	"/usr/lib/postgresql/MAJOR/bin/postgres postgresql-MAJOR"
	"/usr/include/postgresql/MAJOR/server/postgres.h postgresql-server-dev-MAJOR"
	"/usr/bin/make make" "/usr/bin/gcc gcc" "/usr/include/stdio.h libc6-dev")

# The head of each script is its help.
case ${1:-} in -h | --help) sed -n '2,/^[^#]/s/^#\( \|$\)//p' "$0" && exit ;; esac

# These would lead to somebody's server, or into make.
unset $(compgen -v PG | grep -vE '^PG(_TEST|BUFPROBE)_') MAKEFLAGS MAKELEVEL DESTDIR COPT TEMP_CONFIG EXTRA_REGRESS_OPTS PROVE_FLAGS PROVE_TESTS
export LC_ALL=C.UTF-8
umask 022

say() { printf '%s\n' "$*"; }
heading() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$1" >&2 && exit "${2:-1}"; }
is_root() { [ "$(id -u)" -eq 0 ]; }
as_admin() { if is_root; then "$@"; else sudo "$@"; fi; }

# bash handles a signal after the command in the foreground has ended, so this one runs in the background. It is in a
# process group of its own, which Ctrl-C does not reach.
run() {
	local pid
	set -m
	"$@" </dev/null &
	pid=$!
	set +m
	wait "$pid"
}

quietly() {
	run "${@:2}" >"$work/log" 2>&1 || die "$1 failed; its last lines:
$(tail -n 40 "$work/log")"
}

logged() { run with_copy "$@"; }
with_copy() { "${@:2}" 2>&1 | tee "$1"; }

# Lists the processes that were started here. A server leaves its process group, but keeps its environment.
ours() {
	jobs -pr | sed 's/^/-/'
	PGBUFPROBE_WORK='' grep -lzsxF "PGBUFPROBE_WORK=$work" /proc/[0-9]*/environ | cut -d / -f 3
}

cleanup() {
	local status=${1:-$?} tries process signal
	trap '' HUP INT TERM
	set +e
	for ((tries = 0; tries < patience + 20; tries++)); do
		[ -n "$work" ] && [ -n "$(ours)" ] || break
		for process in $(ours); do
			signal=TERM
			# Valgrind is the program itself where it runs a server. All of a namespace end with unshare.
			case $(readlink "/proc/$process/exe") in */postgres* | */memcheck-*) signal=QUIT ;; */unshare) signal=KILL ;; esac
			[ "$tries" -lt "$patience" ] || signal=KILL
			kill -s "$signal" -- "$process" 2>/dev/null
		done
		sleep 0.1
	done
	"${before_removal:-true}"    # a command to run once all processes have ended
	[ -z "$work" ] || chmod -R u+rwX "$work" 2>/dev/null
	rm -rf --one-file-system "${work:-/nonexistent}" "${sock:-/nonexistent}"
	exit "$status"
}

trap cleanup EXIT
trap 'exit 129' HUP && trap 'exit 130' INT && trap 'exit 143' TERM

# The path of a socket is short, and tests add to it.
make_work_folder() {
	[ -z "$work" ] || return 0
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/pgbufprobe.XXXXXX")
	sock=$(mktemp -d /tmp/pgbufprobe.XXXXXX)
	chmod 755 "$work" "$sock"
	export PGBUFPROBE_WORK=$work
}

# The newest that is installed, or that of the release.
debian_major() {
	local found
	found=$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | cut -d / -f 5 | sort -n | tail -n 1) || :
	# A fresh system has no package lists.
	[ -n "$found" ] || [ -n "$(apt-cache policy postgresql)" ] || as_admin apt-get -qq update >&2
	echo "${found:-$(apt-cache policy postgresql | sed -n 's/^ *Candidate: \([0-9]*\)[+.-].*/\1/p')}"
}

missing_packages() {
	local entry
	for entry in "${packages[@]//MAJOR/$debian}"; do
		[ -e "${entry% *}" ] || echo "${entry##* }"
	done
}

# No cluster is made, and no server upgraded or restarted: what is built from the same source comes in the version of
# the server, if there is one and apt has it. Ctrl-C does not reach apt: half an installation is worse than a late end.
install_packages() {
	local missing version
	mapfile -t missing < <(missing_packages)
	[ ${#missing[@]} -gt 0 ] || return 0
	say "Installing ${missing[*]}"
	type -P apt-get >/dev/null && { is_root || sudo -n true 2>/dev/null || sudo -v; } ||
		die "an administrator must install them: apt-get install ${missing[*]}" "$not_to_be_had"
	version=$(dpkg-query -W -f '${Version}' "postgresql-$debian" 2>/dev/null) || :
	# shellcheck disable=SC2016  # for the inner shell to expand
	as_admin setsid -w sh -c 'dropin=/etc/postgresql-common/createcluster.d/pgbufprobe.conf
		pin=/etc/apt/preferences.d/pgbufprobe.pref
		export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 RUNLEVEL=1
		trap "rm -f $dropin $pin; rmdir -p --ignore-fail-on-non-empty ${dropin%/*}" EXIT
		mkdir -p "${dropin%/*}" && echo "create_main_cluster = false" >"$dropin"
		printf "Package: src:postgresql-%s\nPin: version %s\nPin-Priority: 990\n" "$1" "$2" >"$pin"
		shift 2
		apt-get -q update
		set -- install -q -y --no-install-recommends --no-upgrade -o Dpkg::Use-Pty=0 "$@"
		! apt-get -s "$@" | grep "^Inst postgresql-[0-9]* \[" || { echo "this would upgrade a server"; exit 1; }
		apt-get "$@"' install "$debian" "${version:-none}" "${missing[@]}" </dev/null >"$work/log" 2>&1 || :
	[ -z "$(missing_packages)" ] || die "could not install ${missing[*]}:
$(tail -n 20 "$work/log")" "$not_to_be_had"
}

choose_server() {
	if [[ $pg_config =~ ^/usr/lib/postgresql/([0-9]+)/bin/pg_config$ ]]; then
		debian=${BASH_REMATCH[1]}
	else
		debian=$(debian_major)
	fi
	install_packages
	[ -n "$pg_config" ] || pg_config=/usr/lib/postgresql/$debian/bin/pg_config
	bin=$("$pg_config" --bindir) || die "PG_CONFIG=$pg_config cannot be run"
	major=$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
	[ "$major" -ge 15 ] || die "PostgreSQL 15 or later is needed, not $major"
	# A server refuses to be run by root. setpriv leaves no process in between.
	if is_root; then
		as_server=(setpriv --reuid=postgres --regid=postgres --init-groups --)
		chown postgres:postgres "$work" "$sock"
		"${as_server[@]}" test -x "$work" || die "the user postgres cannot reach $work; choose another TMPDIR"
	fi
	as_server=(env -C "$work" "PGBUFPROBE_WORK=$work" HOME="$work" TMPDIR="$sock" PATH="$bin:$PATH" "${as_server[@]}")
}

# pgTAP is SQL alone, so that Debian's serves any server.
copy_server() {
	[[ ! $(realpath "$bin/..") =~ ^/(usr(/local)?)?$ ]] || die "this server shares its folder with other programs; choose another"
	cp -a "$bin/.." "$work/server"
	bin=$work/server/bin
	pg_config=$bin/pg_config
	cp -n "/usr/share/postgresql/$debian/extension/pgtap"* "$("$pg_config" --sharedir)/extension" 2>/dev/null || :
	as_server+=(env "PATH=$bin:$PATH" "LD_LIBRARY_PATH=$("$pg_config" --libdir)")
}

copy_tree() {
	mkdir "$1"
	tar -C "$root" --exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc' --exclude=./results \
		--exclude=./tmp_check --exclude=./t/unit/programs --exclude=./regression.\* -cf - . | tar -C "$1" --no-same-owner -xf -
}

make_in_build() { "${as_server[@]}" make -s -C "$work/build" "PG_CONFIG=$pg_config" with_llvm=no "$@"; }

prepare() {
	local into install_args=()
	make_work_folder
	into=$work/installed
	choose_server
	if [[ $bin != /usr/lib/postgresql/* ]]; then
		copy_server
	else
		install_args=("DESTDIR=$into")
		settings=("dynamic_library_path=$into$("$pg_config" --pkglibdir):\$libdir" "extension_destdir=$into")
		# Without Debian's own setting.
		[ "$major" -lt 18 ] || settings[1]="extension_control_path=$into$("$pg_config" --sharedir):\$system"
	fi
	say "Building for $("$pg_config" --version), in $work"
	copy_tree "$work/build"
	! is_root || chown -R postgres:postgres "$work"
	quietly "make" make_in_build -j "$(nproc)" "$@"
	quietly "make install" make_in_build "$@" install "${install_args[@]}"
}

start_server() {
	local setting options=()
	export PGHOST=$sock PGPORT=$port PGUSER=postgres PGDATABASE=postgres
	for setting in listen_addresses= "port=$port" "unix_socket_directories=$sock" fsync=off "${settings[@]}" "$@"; do
		options+=(-c "$setting")
	done
	[ -e "$work/data/PG_VERSION" ] || quietly "initdb" "${as_server[@]}" "$bin/initdb" -D "$work/data" -U postgres -A trust \
		--no-locale --encoding=UTF8 --no-sync --no-instructions
	set -m
	"${as_server[@]}" "$bin/postgres" -D "$work/data" "${options[@]}" </dev/null >"$work/server.log" 2>&1 &
	server_pid=$!
	set +m
	for _ in {1..300}; do
		! "${as_server[@]}" "$bin/pg_isready" -q || return 0
		kill -0 "$server_pid" 2>/dev/null || break
		sleep 0.1
	done
	die "the server did not start: $(cat "$work/server.log")"
}

stop_server() {
	quietly "pg_ctl stop" "${as_server[@]}" "$bin/pg_ctl" -D "$work/data" -w -m fast stop
	server_pid=
}

# Debian's modules serve a server that has none. Some variables matter to a server that was built without TAP tests.
prove_installcheck() {
	local setting modules
	modules=$(dirname "$("$pg_config" --pgxs)")/../test/perl
	[ -d "$modules" ] || modules=/usr/lib/postgresql/$debian/lib/pgxs/src/test/perl
	for setting in "${settings[@]}"; do
		echo "${setting%%=*} = '${setting#*=}'"
	done >"$work/temp_config"
	"${as_server[@]}" mkdir -p ports
	# Most tests wait most of the time, unless the server is slow.
	make_in_build enable_tap_tests=yes PROVE=prove "PG_PROVE_FLAGS=-I $modules" "TEMP_CONFIG=$work/temp_config" \
		"PG_TEST_PORT_DIR=$work/ports" "PROVE_FLAGS=--timer --jobs $((${PGBUFPROBE_JOBS_PER_CORE:-5} * $(nproc)))" "PROVE_TESTS=$*" prove_installcheck
}
