# shellcheck shell=bash
#
# bench/lib.sh: what the benchmarks share, on top of scripts/lib.sh. Expects "usage" to be a function.

pool=${1:-1GB}
rounds=${ROUNDS:-9}

if [[ ! $pool =~ ^[0-9]+(MB|GB)$ ]]; then
	usage
	exit 2
fi

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

sql() { "${as_server[@]}" "$bin/psql" -XqAt -v ON_ERROR_STOP=1 "$@"; }

# Starts a server that does nothing on its own. More settings may follow the size of the pool.
bench_server() {
	start_server "shared_buffers=$1" autovacuum=off bgwriter_lru_maxpages=0 \
		max_parallel_workers_per_gather=0 max_wal_size=100GB checkpoint_timeout=1d synchronous_commit=off "${@:2}"
}

# Prints hits and reads so far, without those through rings if the server counts them apart.
counts() {
	if [ "$major" -ge 18 ]; then
		sql -c "SELECT sum(hits), div(sum(read_bytes), 8192) FROM pg_stat_io WHERE object = 'relation' AND context = 'normal'"
	elif [ "$major" -ge 16 ]; then
		sql -c "SELECT sum(hits), sum(reads) FROM pg_stat_io WHERE object = 'relation' AND context = 'normal'"
	else
		sql -c "SELECT sum(blks_hit), sum(blks_read) FROM pg_stat_database"
	fi
}

progress() { say "$(date +%T) $*" >&2; }

bench_script() { sql -f "$work/build/bench/$1"; }

# Prints the median of numbers, one a line; "-" if there is none.
median() { sort -g | awk '{ value[NR] = $1 } END { if (NR) print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2; else print "-" }'; }

# Calls a procedure in a backend of its own.
measure() { sql -c "CALL bench.$1"; }

machine() {
	say "pgbufprobe $(sql -c "SELECT extversion FROM pg_extension WHERE extname = 'pgbufprobe'"), $(
		sql -c "SELECT 'PostgreSQL ' || current_setting('server_version')"), shared_buffers = $pool, $(
		sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, Linux $(uname -r)"
}

print_view() { sql -P format=aligned -P tuples_only=off -P footer=off -P null= -c "SELECT * FROM $1"; }

# The machine, and the view bench.report.
report() {
	say
	machine
	print_view bench.report
}
