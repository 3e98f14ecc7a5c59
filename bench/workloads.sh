# shellcheck shell=bash disable=SC2154
#
# bench/workloads.sh: the workloads of the benches that run pgbench, on top of bench/lib.sh. Expects "clients" to be the
# number of sessions.

megabytes() {
	case $1 in
		*GB) echo $((${1%GB} * 1024)) ;;
		*MB) echo "${1%MB}" ;;
	esac
}

write_scripts() {
	# permute() spreads the popular rows over the table. With default_seed they are the same in each run of pgbench.
	cat >"$work/zipf.sql" <<'END2'
\set aid permute(random_zipfian(1, 100000 * :scale, 1.02), 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
END2
	cat >"$work/uniform.sql" <<'END2'
\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
END2
	cat >"$work/tpcb.sql" <<'END2'
\set aid permute(random_zipfian(1, 100000 * :scale, 1.02), 100000 * :scale)
\set bid random(1, :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
\startpipeline
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
\endpipeline
END2
	cat >"$work/ranges.sql" <<'END2'
\set aid permute(random_zipfian(1, 1000 * :scale, 1.02), 1000 * :scale) * 100
\set last :aid + 500
\set n :n + 1
\if :client_id = 0 and :n % :between = 0
SELECT count(*) FROM bench.scanned;
\endif
SELECT count(abalance) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :last;
END2
	echo 'SELECT count(*) FROM bench.scanned;' >"$work/scan.sql"
	# Reads what the pool would hold after a long run of the workload, the most popular pages last.
	cat >"$work/popular.sql" <<'END2'
\set aid permute(:rank - :client_id, :of) * :step
\set last :aid + :width
SELECT count(abalance) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :last;
\set rank :rank - :clients
END2
}

# Uniform over a hot set of so many rows, and one in twenty over all rows.
write_hot_script() {
	cat >"$work/hot.sql" <<END2
\\set aid CASE WHEN random(1, 20) > 1 THEN random(1, $1) ELSE random(1, 100000 * :scale) END
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
END2
}

# Creates the tables of a workload. The table of its large scans, if it has any, takes so many MB, in a tablespace if one is
# named.
create_tables() {
	local workload=$1 scale=$2 scanned=$3 tablespace=${4:-pg_default}
	quietly "pgbench -i" "${as_server[@]}" "$bin/pgbench" -i -q -s "$scale" -F 90
	sql -c "CREATE EXTENSION pgbufprobe" -c "CREATE SCHEMA bench"
	# Otherwise their indexes grow under updates, and a transaction accesses more blocks later.
	sql -c "ALTER TABLE pgbench_branches SET (fillfactor = 10)" -c "ALTER TABLE pgbench_tellers SET (fillfactor = 10)" \
		-c "VACUUM FULL pgbench_branches" -c "VACUUM FULL pgbench_tellers"
	[[ ! $workload =~ ^(ranges|scans)$ ]] ||
		sql -c "CREATE TABLE bench.scanned (page text) TABLESPACE $tablespace" \
			-c "ALTER TABLE bench.scanned ALTER page SET STORAGE PLAIN" \
			-c "INSERT INTO bench.scanned SELECT repeat('x', 7000) FROM generate_series(1, $((scanned * 128)))" \
			-c "VACUUM bench.scanned"
}

# Fills the pool as a long run of the workload would, and the page cache, with no more than fits into "limit" MB if there is
# a limit. The workload itself takes too long to read the pages that it hardly ever needs.
fill_pool() {
	local workload=$1 scale=$2 buffers=$3 of step=1 width=0 ranks
	sql -c "SET client_min_messages = warning" -c "CREATE EXTENSION IF NOT EXISTS pg_prewarm" \
		-c "SELECT pg_prewarm('pgbench_accounts', last_block => least(${limit:-NULL} * 128, pg_relation_size('pgbench_accounts') / 8192) - 1)" \
		-c "SELECT pg_prewarm('pgbench_accounts_pkey')" >/dev/null
	[ "$workload" != uniform ] || return 0
	of=$((100000 * scale))
	ranks=$buffers
	if [ "$workload" = ranges ]; then
		step=100
		width=500
		of=$((1000 * scale))
		# a range has nine or ten pages
		ranks=$((buffers / 9))
	fi
	[ "$ranks" -lt "$of" ] || ranks=$((of - 1))
	quietly "pgbench" "${as_server[@]}" "$bin/pgbench" -n -M prepared -c "$clients" -j "$clients" -t $((ranks / clients)) -D default_seed=1 \
		-D "clients=$clients" -D "rank=$ranks" -D "of=$of" -D "step=$step" -D "width=$width" -f "$work/popular.sql"
}

# Runs a workload for so many seconds, or ranges, if 0, from one scan to the next. With load_rate, so many transactions a second.
load() {
	local workload=$1 scale=$2 seconds=$3 scripts=(-f "$work/$1.sql") between=$(($2 * 750 / clients)) until=(-T "$3")
	# Even in the largest pool, the clock hand must complete a pass between two scans. Otherwise each scan would find the
	# pages that the last one left behind, and keep them, which cannot be seen in a smaller pool.
	[ "$workload" != ranges ] || scripts+=(-D "between=$between" -D "n=$(((RANDOM * 32768 + RANDOM) % between))")
	# Sessions that wait for storage wait about as long for scans as for lookups.
	[ "$workload" != scans ] || scripts=(-f "$work/zipf.sql@$((limit * 10))" -f "$work/scan.sql@1")
	((seconds > 0)) || until=(-t "$between")
	[ -z "${load_rate:-}" ] || until+=("--rate=$load_rate")
	quietly "pgbench" "${as_server[@]}" "$bin/pgbench" -n -M prepared -c "$clients" -j "$clients" -D default_seed=1 -D "scale=$scale" \
		"${scripts[@]}" "${until[@]}"
}
