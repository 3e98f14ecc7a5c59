# shellcheck shell=bash disable=SC2034,SC2154
#
# bench/filled.sh: a server in a memory cgroup whose caches are those of a long run, for bench/split and bench/value, on top
# of bench/cgroup.sh. Expects "warm" to be the seconds of load before a measurement.

scale=${SCALE:-$((limit * 150 / 1024))}      # 16 MB for each unit of pgbench, with its index

# The seconds given are for a limit of 1 GB.
scaled_seconds() { echo $(($1 * (limit + 1024) / 2048)); }

# Tables of large scans are on a device of their own, with the readahead that is usual. With more, the kernel makes folios that
# several requests of a scan read, and takes them for pages that are used again if its processes do so by turns.
make_data_disks() {
	check_disk
	data_device=$(make_disk "$work/data" "${SPACE:-$((limit * 10))}")
	set_readahead 128 "$(make_disk "$work/scans" $((limit / 2)))"
}

# Prints the blocks that were read from the device, and the requests.
storage_counts() { awk -v block=8192 '{ printf "%d|%d\n", $3 * 512 / block, $1 }' "/sys/block/${data_device##*/}/stat"; }

storage_reads() { storage_counts | cut -d '|' -f 1; }

# Starts a server with so many MB of shared buffers in a new cgroup. More settings may follow.
group_server() {
	new_group
	in_group start_server "shared_buffers=$1MB" shared_preload_libraries=pgbufprobe autovacuum=off fsync=on huge_pages=off \
		"max_wal_size=$((limit < 2048 ? 2 * limit : 4096))MB" checkpoint_timeout=1d synchronous_commit=off jit=off max_connections=20 \
		max_parallel_workers_per_gather=0 "pgbufprobe.history_interval=1s" "${@:2}"
}

# Starts a server with both caches filled as a long run of the workload would. Readahead would make large folios, which stay
# in the page cache as long as any of their pages is used. More settings may follow.
filled_server() {
	set_readahead "$([ "$1" = scans ] && echo 128 || echo 0)"
	group_server "${@:2}"
	fill_pool "$1" "$scale" $((limit * 128))
}

make_data() {
	local workload=$1
	[ -z "$server_pid" ] || stop_server
	find "$work/data" "$work/scans" -mindepth 1 -delete
	set_readahead 1024
	group_server $((limit / 4))
	sql -c "CREATE TABLESPACE scans LOCATION '$work/scans'"
	if [ "$workload" = scans ]; then
		create_tables "$workload" "$scale" $((limit / 2))
	else
		create_tables "$workload" "$scale" $((limit / 4)) scans
	fi
	sql -c CHECKPOINT
	progress "$workload: $(sql -c "SELECT pg_size_pretty(sum(pg_total_relation_size(oid))) FROM pg_class WHERE relname ~ '^pgbench_' AND relkind = 'r'") of tables"
	stop_server
}

# Runs a workload until the kernel has read much of the page cache again, in the order of the workload.
warm_up() {
	local start=$SECONDS enough
	enough=$(($(storage_reads) + limit * 128))
	load "$1" "$scale" "$warm"
	while (($(storage_reads) < enough && SECONDS - start < 5 * warm)); do
		load "$1" "$scale" $((warm / 3))
	done
}

all_counts() { echo "$(counts)|$(storage_counts)"; }

# Prints the share of the limit that is in use. Something else evicts pages if it is less than 1: a kernel with proactive
# reclaim (DAMON) does so, the more the slower the load is.
memory_in_use() { awk -v limit="$limit" '{ printf "%.3f\n", $1 / limit }' < <(memory_used); }

# Runs a workload for so many seconds. Prints the shares of its block accesses that were reads, and blocks read from storage,
# the share of the limit that is in use, and requests to storage per access.
window() {
	local before after
	before=$(all_counts)
	load "$1" "$scale" "$2"
	after=$(all_counts)
	awk -F '|' -v b="$before" -v used="$(memory_in_use)" '{ split(b, from, "|"); accesses = $1 - from[1] + $2 - from[2]
		printf "%.5f %.5f %.3f %.5f\n", ($2 - from[2]) / accesses, ($3 - from[3]) / accesses, used, ($4 - from[4]) / accesses }' <<<"$after"
}

work_counts() { echo "$(all_counts)|$(sql -c "SELECT sum(active_time), sum(blk_read_time) FROM pg_stat_database")"; }

# Runs a workload for so many seconds. Prints transactions per second, working time for each in ms, the share of block
# accesses that were reads, and that were reads from storage, working time in a second in ms, the waiting of an access in ns,
# and accesses per second.
work_window() {
	local before after
	before=$(work_counts)
	load "$1" "$scale" "$2"
	# a session publishes its last counts when it ends, which pgbench does not wait for
	sleep 1
	after=$(work_counts)
	awk -v before="$before" -v after="$after" -v workload="$1" '
		/^number of transactions actually processed: / { transactions = $NF }
		/^latency average = / { ms = $4 }
		/^tps = / { tps = $3 }
		END {
			split(before "|" after, n, "|")
			accesses = n[7] - n[1] + n[8] - n[2]
			if (workload != "tpcb") ms = (n[11] - n[5]) / transactions
			printf "%.1f %.5f %.5f %.5f %.1f %.1f %.0f\n", tps, ms, (n[8] - n[2]) / accesses, (n[9] - n[3]) / accesses, ms * tps, \
				(n[12] - n[6]) * 1e6 / accesses, accesses * tps / transactions
		}' "$work/log"
}
