-- Snapshots and what changed between them; what is told of a pool that nobody has watched.
\set SHOW_CONTEXT never
CREATE ROLE regress_pgbufprobe_plain;
CREATE ROLE regress_pgbufprobe_monitor IN ROLE pg_monitor;
SELECT setting::integer AS pool FROM pg_settings WHERE name = 'shared_buffers' \gset

-- nothing to compare yet
SELECT * FROM pgbufprobe_snapshot_diff();
SELECT * FROM pgbufprobe_snapshot_diff(1, 2);
SELECT * FROM pgbufprobe_snapshot_diff(NULL, 2);
-- whatever the planner knows of the tables
VACUUM ANALYZE pgbufprobe_snapshots, pgbufprobe_snapshot_usagecounts;
SELECT * FROM pgbufprobe_snapshot_diff();
SELECT pgbufprobe_snapshot_prune('0') AS deleted;

-- one alone has to be named, and can be compared with itself
SELECT pgbufprobe_snapshot() AS first \gset
SELECT * FROM pgbufprobe_snapshot_diff();
SELECT * FROM pgbufprobe_snapshot_diff(:first, :first + 1000);
SELECT * FROM pgbufprobe_snapshot_diff(-1, :first);
SELECT usagecount, buffers_change, dirty_change, seconds, ticks, passes, allocations,
       from_buffers = to_buffers AND from_dirty = to_dirty AS same
FROM pgbufprobe_snapshot_diff(:first, :first);

-- what is written down
SELECT label IS NULL AS no_label, taken_at BETWEEN server_started_at AND clock_timestamp() AS now,
       server_started_at >= pg_postmaster_start_time() AS this_server,
       ticks = passes * buffers + hand AS ticks_add_up, buffers = :pool AS whole_pool
FROM pgbufprobe_snapshots WHERE id = :first;
SELECT array_agg(usagecount ORDER BY usagecount) AS usagecounts, sum(buffers) = :pool AS whole_pool,
       bool_and(dirty <= buffers AND pinned <= buffers) AS among_them
FROM pgbufprobe_snapshot_usagecounts WHERE snapshot_id = :first;

-- A sweep.  After a search, the hand stands behind a buffer whose count is 0, and as many searches as there
-- are such buffers, beside those that the free list serves, bring it back there: one whole turn.
CREATE TABLE swept (id integer, filler text) WITH (autovacuum_enabled = off);
INSERT INTO swept SELECT i, repeat('x', 500) FROM generate_series(1, 20000) i;
CREATE VIEW pool AS
SELECT from_freelist AS free, sum(buffers) AS unused
FROM pgbufprobe_usagecount_histogram(),
     pgbufprobe_sweep_cost((SELECT setting::integer FROM pg_settings WHERE name = 'shared_buffers'), 'current')
WHERE coalesce(usagecount, 0) = 0
GROUP BY from_freelist;
-- all once before it counts, for a session's first look at a catalog moves usage counts, too
SELECT pgbufprobe_snapshot('to warm up') > 0 AS taken;
SELECT free + 1 AS victims FROM pool \gset
SELECT scenario FROM pgbufprobe_sweep_cost(:victims, 'live');
SELECT free + unused AS victims FROM pool \gset

SELECT pgbufprobe_snapshot('before') > 0 AS taken;
SELECT scenario FROM pgbufprobe_sweep_cost(:victims, 'live');
SELECT pgbufprobe_snapshot('after') > 0 AS taken;

-- every usage count has gone one to the left, but for the few pages that a snapshot is written to
SELECT usagecount, abs(to_buffers - shifted) < 64 AS one_to_the_left,
       round(passes::numeric, 1) AS passes, abs(ticks - passes * :pool) <= 1 AS ticks, seconds > 0 AS seconds
FROM (SELECT *, CASE WHEN coalesce(usagecount, 0) = 0 THEN from_buffers ELSE 0 END
                + coalesce(lead(from_buffers) OVER (PARTITION BY usagecount IS NULL ORDER BY usagecount), 0) AS shifted
      FROM pgbufprobe_snapshot_diff()) AS diff
ORDER BY usagecount;
SELECT max(from_buffers) FILTER (WHERE usagecount > 0) > 1000 AS many_moved, sum(buffers_change) AS lost,
       bool_and(buffers_change = to_buffers - from_buffers) AS buffers_add_up,
       bool_and(dirty_change = to_dirty - from_dirty) AS dirty_add_up
FROM pgbufprobe_snapshot_diff();

-- the same two by their numbers, and back to front
SELECT min(id) FILTER (WHERE label = 'before') AS before, min(id) FILTER (WHERE label = 'after') AS after
FROM pgbufprobe_snapshots \gset
SELECT count(*) AS rows, bool_and(d = n) AS same
FROM pgbufprobe_snapshot_diff() d JOIN pgbufprobe_snapshot_diff(:before, :after) n
     ON d.usagecount IS NOT DISTINCT FROM n.usagecount;
SELECT count(*) AS rows, bool_and(d.to_buffers = b.from_buffers AND d.from_dirty = b.to_dirty
       AND d.buffers_change = -b.buffers_change AND d.seconds = -b.seconds AND d.ticks = -b.ticks
       AND d.passes = -b.passes AND d.allocations = -b.allocations) AS mirrored
FROM pgbufprobe_snapshot_diff() d JOIN pgbufprobe_snapshot_diff(:after, :before) b
     ON d.usagecount IS NOT DISTINCT FROM b.usagecount;
SELECT bool_and(d = n) AS to_the_last
FROM pgbufprobe_snapshot_diff() d JOIN pgbufprobe_snapshot_diff(:before) n
     ON d.usagecount IS NOT DISTINCT FROM n.usagecount;

-- the server was started in between, or its pool was another: nothing can be said of the way from one to the
-- other, but what was there and what is
BEGIN;
UPDATE pgbufprobe_snapshots SET server_started_at = server_started_at - interval '1 h' WHERE id = :before;
DELETE FROM pgbufprobe_snapshot_usagecounts WHERE snapshot_id = :before AND usagecount = 2;
SELECT usagecount, from_buffers IS NULL AS not_from, to_buffers IS NULL AS not_to, buffers_change IS NULL AS no_change,
       seconds > 0 AS seconds, ticks, passes, allocations
FROM pgbufprobe_snapshot_diff(:before, :after);
ROLLBACK;
BEGIN;
UPDATE pgbufprobe_snapshots SET buffers = buffers * 2 WHERE id = :after;
SELECT DISTINCT ticks, passes, allocations FROM pgbufprobe_snapshot_diff(:before, :after);
ROLLBACK;
-- a crash begins all counts anew
BEGIN;
UPDATE pgbufprobe_snapshots SET ticks = ticks + 1000000 WHERE id = :before;
SELECT DISTINCT ticks, passes, allocations FROM pgbufprobe_snapshot_diff(:before, :after);
SELECT DISTINCT ticks, passes, allocations FROM pgbufprobe_snapshot_diff(:after, :before);
ROLLBACK;
-- so does a reset of the statistics with those that come from there
BEGIN;
UPDATE pgbufprobe_snapshots SET allocations = allocations + 1000000 WHERE id = :before;
SELECT DISTINCT ticks > 0 AS ticks, passes > 0 AS passes, allocations FROM pgbufprobe_snapshot_diff(:before, :after);
ROLLBACK;
-- also where they are larger again than they were
BEGIN;
UPDATE pgbufprobe_snapshots SET statistics_reset_at = now() WHERE id = :after;
SELECT DISTINCT ticks > 0 AS ticks, passes > 0 AS passes, allocations FROM pgbufprobe_snapshot_diff(:before, :after);
ROLLBACK;
-- years of a large pool apart, and the last after as many snapshots as there can be
BEGIN;
UPDATE pgbufprobe_snapshots SET ticks = 4611686018427387904 WHERE id = :after;
INSERT INTO pgbufprobe_snapshots OVERRIDING SYSTEM VALUE
SELECT 9223372036854775807, taken_at, 'the end', server_started_at, statistics_reset_at, buffers, hand, passes, 4611686018427387905, allocations
FROM pgbufprobe_snapshots WHERE id = :after;
INSERT INTO pgbufprobe_snapshot_usagecounts VALUES (9223372036854775807, NULL, :pool, 0, 0);
SELECT usagecount, to_buffers = :pool AS to_all, to_buffers IS NULL AS not_to, ticks
FROM pgbufprobe_snapshot_diff(:after, 9223372036854775807);
SELECT DISTINCT ticks > 4000000000000000000 AS ticks FROM pgbufprobe_snapshot_diff(:before, 9223372036854775807);
ROLLBACK;

-- old ones go, with their histograms
BEGIN;
UPDATE pgbufprobe_snapshots SET taken_at = now() - interval '2 days' WHERE label = 'to warm up';
SELECT count(*) AS snapshots FROM pgbufprobe_snapshots;
SELECT pgbufprobe_snapshot_prune(NULL);
SELECT pgbufprobe_snapshot_prune('3 days') AS deleted;
SELECT pgbufprobe_snapshot_prune('1 day') AS deleted;
SELECT count(*) AS snapshots, bool_or(label = 'to warm up') AS the_old_one FROM pgbufprobe_snapshots;
SELECT count(*) = 3 * 7 AS histograms FROM pgbufprobe_snapshot_usagecounts;
SELECT pgbufprobe_snapshot_prune('0') AS deleted;
SELECT count(*) AS counts_left FROM pgbufprobe_snapshot_usagecounts;
ROLLBACK;
SELECT pgbufprobe_snapshot_prune('1 day') AS deleted;
SELECT pgbufprobe_snapshot_prune('178000000 years');

-- a snapshot that was not committed never was; numbers are not used again
BEGIN;
SELECT pgbufprobe_snapshot('taken back') > 0 AS taken;
ROLLBACK;
SELECT count(*) AS taken_back FROM pgbufprobe_snapshots WHERE label = 'taken back';
SELECT pgbufprobe_snapshot('') > :after AS the_next;
SELECT label, (SELECT count(*) FROM pgbufprobe_snapshot_usagecounts WHERE snapshot_id = id) AS counts
FROM pgbufprobe_snapshots ORDER BY id;

-- How long pages stay, by relation; nothing moves the hand here.
SELECT count(*) > 0 AS some FROM pgbufprobe_residence('1 ms');
SELECT sum(buffers) = (SELECT sum(buffers) FROM pgbufprobe_relations()) AS all_pages,
       sum(bytes) = sum(buffers) * current_setting('block_size')::integer AS in_bytes,
       num_nonnulls(min(min_seconds), min(avg_seconds), min(max_seconds), min(seconds_per_pass)) AS moved,
       min(watched_seconds) = max(watched_seconds) AND min(watched_seconds) >= 0.02 AS watched
FROM pgbufprobe_residence('20 ms');
SELECT database = current_database() AS here, tablespace, fork,
       relfilenode = pg_relation_filenode('swept') AS file, bytes = buffers * current_setting('block_size')::integer AS bytes,
       buffers = pg_relation_size('swept') / current_setting('block_size')::integer AS all_of_it
FROM pgbufprobe_residence('1 ms') WHERE relation = 'swept'::regclass AND fork = 'main';
SELECT * FROM pgbufprobe_residence(NULL);
SELECT * FROM pgbufprobe_residence('0');
SELECT * FROM pgbufprobe_residence('-1 s');
SELECT * FROM pgbufprobe_residence('2 days');

-- Nobody has watched, for the library is not preloaded: history is an error, advice says why there is none.
SHOW shared_preload_libraries;
SELECT * FROM pgbufprobe_history();
SELECT pgbufprobe_history_reset();
SELECT size_factor, shared_buffers_bytes = size_factor * :pool * current_setting('block_size')::integer AS bytes,
       num_nonnulls(estd_miss_ratio, estd_reads, estd_read_factor, estd_reads_saved, estd_os_cache_fraction,
                    estd_read_ms_saved, sampled_loads, self_error) AS figures, note
FROM pgbufprobe_advice();

-- the front door
SELECT question, unit, verdict IN ('fine', 'look', 'act', 'unknown') AS verdict, look_at,
       answer ~ '^[A-Z0-9].*\.$' AS sentence,
       CASE WHEN question LIKE 'How long%' THEN answer LIKE 'For ever: %' AND verdict = 'fine' AND value IS NULL
            WHEN verdict = 'unknown' THEN answer LIKE 'Not known: %' AND value IS NULL
            ELSE value >= 0 AND value < 'Infinity' END AS value
FROM pgbufprobe_checkup();
SELECT value = (SELECT round(1 - buffers::numeric / :pool, 4) FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NULL)
       AS full_by_histogram
FROM pgbufprobe_checkup() WHERE question LIKE '%full%';
-- what it says to look at can be looked at
SELECT DISTINCT look_at FROM pgbufprobe_checkup()
WHERE coalesce(to_regproc(split_part(look_at, '(', 1))::oid, to_regclass(look_at)::oid) IS NULL;

-- all but the snapshot only reads
BEGIN READ ONLY;
SELECT count(*) AS rows FROM pgbufprobe_snapshot_diff();
SELECT count(*) > 0 AS some FROM pgbufprobe_residence('1 ms');
SELECT count(*) AS rows FROM pgbufprobe_advice();
SELECT count(*) AS rows FROM pgbufprobe_checkup();
SAVEPOINT here;
SELECT pgbufprobe_snapshot();
ROLLBACK TO here;
SELECT pgbufprobe_snapshot_prune('1 day');
ROLLBACK;

-- for whoever may read, and for nobody else
SET ROLE regress_pgbufprobe_monitor;
SELECT pgbufprobe_snapshot('monitor') > 0 AS taken;
SELECT count(*) AS rows FROM pgbufprobe_snapshot_diff();
SELECT pgbufprobe_snapshot_prune('1 day') AS deleted;
SELECT count(*) > 0 AS some FROM pgbufprobe_residence('1 ms');
SELECT count(*) AS rows FROM pgbufprobe_advice();
SELECT count(*) AS rows FROM pgbufprobe_checkup();
SELECT * FROM pgbufprobe_history();
SELECT pgbufprobe_history_reset();
SET ROLE regress_pgbufprobe_plain;
SELECT pgbufprobe_snapshot();
SELECT * FROM pgbufprobe_snapshot_diff();
SELECT pgbufprobe_snapshot_prune('1 day');
SELECT pgbufprobe_no_snapshot(1);
SELECT * FROM pgbufprobe_residence();
SELECT * FROM pgbufprobe_history();
SELECT * FROM pgbufprobe_advice();
SELECT * FROM pgbufprobe_checkup();
SELECT * FROM pgbufprobe_snapshots;
RESET ROLE;

DROP VIEW pool;
DROP TABLE swept;
TRUNCATE pgbufprobe_snapshots, pgbufprobe_snapshot_usagecounts;
DROP ROLE regress_pgbufprobe_plain, regress_pgbufprobe_monitor;
