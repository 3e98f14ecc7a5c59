/* pgbufprobe--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pgbufprobe" to load this file. \quit

-- Bodies and the view are resolved now, with the schema that all this goes into in the path, where others may have
-- put theirs: who matches exactly wins. So functions are pg_catalog's by name, operands have the types of its
-- operators, and our own functions get all of their arguments. t/hijack.pl looks after that.

-- ---------------------------------------------------------------------------
-- What it costs
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_sweep_cost(
    IN victims integer DEFAULT 1000,    -- searches to time
    IN scenario text DEFAULT NULL,      -- current, worst or live; NULL: the first two
    OUT scenario text,
    OUT victims bigint,
    OUT avg_us double precision,        -- one search; the clock's own cost is taken off
    OUT p50_us double precision,
    OUT p95_us double precision,
    OUT p99_us double precision,
    OUT max_us double precision,
    OUT inspected_per_victim double precision,
    OUT inspected_max bigint,           -- buffers inspected by the longest search
    OUT inspected bigint,               -- buffers inspected by all searches
    OUT passes double precision,        -- the same in turns of the hand
    OUT ns_per_buffer double precision, -- the clock sweep's cost of inspecting one
    OUT ms_per_pass double precision,   -- the same for the whole pool
    OUT ms_per_gb double precision,     -- the same for 1 GB of shared buffers
    OUT from_freelist bigint,           -- victims that needed no search
    OUT skipped_pinned bigint,          -- inspected buffers that were in use
    OUT dirty_victims bigint,           -- victims that would have to be written first
    OUT total_ms double precision)      -- all searches
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_sweep_cost'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 2 COST 10000;
COMMENT ON FUNCTION pgbufprobe_sweep_cost(integer, text) IS
'cost of finding victim buffers by the clock sweep: "current" and "worst" are replayed and change nothing; "live" runs the server''s own search, moves the hand, and is for superusers';

CREATE FUNCTION pgbufprobe_scan_cost(
    IN rounds integer DEFAULT 5,        -- scans to time, by each method
    OUT method text,
    OUT models text,                    -- what in the server scans like this
    OUT avg_ms double precision,        -- one scan of all descriptors
    OUT min_ms double precision,
    OUT max_ms double precision,        -- the first scan of a session is the slow one
    OUT ms_per_gb double precision,
    OUT ns_per_buffer double precision,
    OUT buffers bigint,
    OUT matched bigint,                 -- buffers the scan looked for; NULL if for none
    OUT rounds bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_scan_cost'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 3 COST 10000;
COMMENT ON FUNCTION pgbufprobe_scan_cost(integer) IS
'cost of scanning all buffer descriptors: reading them, locking each as a checkpoint does, comparing each as every DROP or TRUNCATE does';

-- ---------------------------------------------------------------------------
-- What state it is in
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_usagecount_histogram(
    IN relation regclass DEFAULT NULL,  -- NULL: the whole pool
    OUT usagecount integer,             -- NULL: unused buffers
    OUT buffers bigint,
    OUT bytes bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT fraction double precision)      -- of all buffers in the answer
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_usagecount_histogram'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 7 COST 1000;
COMMENT ON FUNCTION pgbufprobe_usagecount_histogram(regclass) IS
'buffers at each usage count, in the whole pool or of one relation; takes no buffer manager locks, so each buffer is counted as of its own instant';

CREATE FUNCTION pgbufprobe_relations(
    OUT database name,                  -- NULL: shared by all databases
    OUT tablespace name,
    OUT relfilenode oid,
    OUT fork text,
    OUT relation regclass,              -- NULL: in another database
    OUT buffers bigint,
    OUT bytes bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT usagecount_avg double precision,
    OUT usagecounts bigint[])           -- buffers at usage count 0, 1, 2, ...
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_relations'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 500 COST 10000;
COMMENT ON FUNCTION pgbufprobe_relations() IS
'what shared buffers hold of each relation and fork, of all databases, largest first';

CREATE FUNCTION pgbufprobe_clock(
    OUT taken_at timestamp with time zone,
    OUT buffers bigint,
    OUT hand bigint,                    -- the buffer that is inspected next
    OUT passes bigint,                  -- turns the hand has completed since server start
    OUT ticks bigint,                   -- passes * buffers + hand
    OUT allocations bigint)             -- as last published by the background writer
RETURNS record
AS 'MODULE_PATHNAME', 'pgbufprobe_clock'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pgbufprobe_clock() IS
'where the hand of the clock sweep stands, and how far it has come';

CREATE FUNCTION pgbufprobe_clock_rate(
    IN duration interval DEFAULT '5 s', -- how long to watch
    OUT seconds double precision,
    OUT ticks bigint,                   -- buffers the hand has passed meanwhile
    OUT allocations bigint,             -- NULL: statistics were reset meanwhile
    OUT ticks_per_second double precision,
    OUT allocations_per_second double precision,
    OUT inspected_per_allocation double precision,  -- NULL: nothing was allocated
    OUT seconds_per_pass double precision)          -- NULL: the hand did not move
RETURNS record
AS 'MODULE_PATHNAME', 'pgbufprobe_clock_rate'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION pgbufprobe_clock_rate(interval) IS
'watches the hand of the clock sweep for a while and tells how fast it turns';

-- ---------------------------------------------------------------------------
-- Which cache holds what
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_os_cache(
    IN relation regclass,
    IN fork text DEFAULT 'main',
    IN method text DEFAULT 'auto',      -- auto, cachestat or mincore
    OUT segment integer,
    OUT path text,
    OUT bytes bigint,
    OUT os_pages bigint,
    OUT cached_pages bigint,            -- NULL here and below: cannot be known
    OUT cached_bytes bigint,
    OUT cached_fraction double precision,
    OUT dirty_pages bigint,
    OUT writeback_pages bigint,
    OUT evicted_pages bigint,
    OUT recently_evicted_pages bigint,
    OUT method text,                    -- the one that was used
    OUT trustworthy boolean,            -- false: the kernel would not tell the truth
    OUT elapsed_ms double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_os_cache'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10 COST 1000;
COMMENT ON FUNCTION pgbufprobe_os_cache(regclass, text, text) IS
'what the operating system''s page cache holds of a relation, one row a segment; NULL counts where the kernel would not tell the truth, with a notice that says why';

CREATE FUNCTION pgbufprobe_residency(
    IN relation regclass DEFAULT NULL,  -- NULL: every relation of this database
    OUT relation regclass,
    OUT fork text,
    OUT blocks bigint,
    OUT shared_blocks bigint,           -- all that are in shared buffers
    OUT os_blocks bigint,               -- all that are in the page cache, with all their pages
    OUT both_blocks bigint,
    OUT neither_blocks bigint,
    OUT os_partial_blocks bigint,       -- in the page cache with some of their pages
    OUT shared_dirty_blocks bigint,
    OUT method text,
    OUT trustworthy boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_residency'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 1000 COST 10000;
COMMENT ON FUNCTION pgbufprobe_residency(regclass) IS
'blocks of a relation, or of every relation of this database, in shared buffers, in the page cache, in both, in neither: one row a relation and fork, largest first';

CREATE FUNCTION pgbufprobe_residency_map(
    IN relation regclass,
    IN buckets integer DEFAULT 100,
    IN fork text DEFAULT 'main',
    OUT bucket integer,
    OUT first_block bigint,
    OUT last_block bigint,
    OUT shared_blocks bigint,
    OUT os_blocks bigint,
    OUT both_blocks bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_residency_map'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 100 COST 10000;
COMMENT ON FUNCTION pgbufprobe_residency_map(regclass, integer, text) IS
'where in a relation the cached blocks are: the relation in ranges of equal length, for pictures';

CREATE VIEW pgbufprobe_double_buffering AS
SELECT pg_catalog.current_database() AS database,
       shared_bytes, os_bytes, both_bytes,
       shared_bytes + os_bytes - both_bytes AS distinct_bytes,
       CASE WHEN both_bytes = shared_bytes + os_bytes - both_bytes AND both_bytes > 0 THEN 1
            ELSE pg_catalog.trunc(both_bytes::numeric / nullif(shared_bytes + os_bytes - both_bytes, 0)::numeric, 4)
       END::double precision AS duplicate_fraction,     -- 1 means all, so nothing is rounded up to it
       trustworthy
FROM (SELECT pg_catalog.sum(shared_blocks)::bigint * pg_catalog.current_setting('block_size')::bigint AS shared_bytes,
             CASE WHEN pg_catalog.bool_and(trustworthy)
                  THEN pg_catalog.sum(os_blocks)::bigint * pg_catalog.current_setting('block_size')::bigint END AS os_bytes,
             CASE WHEN pg_catalog.bool_and(trustworthy)
                  THEN pg_catalog.sum(both_blocks)::bigint * pg_catalog.current_setting('block_size')::bigint END AS both_bytes,
             pg_catalog.bool_and(trustworthy) AS trustworthy
      FROM pgbufprobe_residency(NULL::regclass)) AS total;
COMMENT ON VIEW pgbufprobe_double_buffering IS
'bytes of this database in shared buffers, in the page cache, and in both, which is memory used twice';
COMMENT ON COLUMN pgbufprobe_double_buffering.duplicate_fraction IS
'share of the distinct bytes cached that are cached twice: 0 none, 1 all';

CREATE FUNCTION pgbufprobe_read_cost(
    IN relation regclass,
    IN samples integer DEFAULT 1000,
    IN fork text DEFAULT 'main',
    OUT tier text,                      -- shared_buffers, os_cache, storage; NULL: not the first
    OUT reads bigint,
    OUT avg_us double precision,
    OUT p50_us double precision,
    OUT p95_us double precision,
    OUT p99_us double precision,
    OUT max_us double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_read_cost'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 3 COST 1000000;
COMMENT ON FUNCTION pgbufprobe_read_cost(regclass, integer, text) IS
'reads random blocks, each at most once, through the buffer manager, and tells what that cost by the level of the cache that served them';

CREATE FUNCTION pgbufprobe_os_advise(
    relation regclass,
    advice text,                        -- willneed or dontneed
    fork text DEFAULT 'main')
RETURNS bigint
AS 'MODULE_PATHNAME', 'pgbufprobe_os_advise'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION pgbufprobe_os_advise(regclass, text, text) IS
'has the operating system read a relation into its page cache, or write it out and drop it from there; tells for how many bytes';

-- ---------------------------------------------------------------------------
-- What it did over time
-- ---------------------------------------------------------------------------

CREATE TABLE pgbufprobe_snapshots (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    taken_at timestamp with time zone NOT NULL,
    label text,
    server_started_at timestamp with time zone NOT NULL,    -- or recovered from a crash: hand, passes and ticks begin there
    statistics_reset_at timestamp with time zone,           -- those that allocations are among; NULL: never
    buffers bigint NOT NULL,
    hand bigint NOT NULL,
    passes bigint NOT NULL,
    ticks bigint NOT NULL,
    allocations bigint NOT NULL);
COMMENT ON TABLE pgbufprobe_snapshots IS
'snapshots of the buffer pool, taken by pgbufprobe_snapshot()';

CREATE TABLE pgbufprobe_snapshot_usagecounts (
    snapshot_id bigint NOT NULL REFERENCES pgbufprobe_snapshots ON DELETE CASCADE,
    usagecount integer,                 -- NULL: unused buffers
    buffers bigint NOT NULL,
    dirty bigint NOT NULL,
    pinned bigint NOT NULL,
    UNIQUE NULLS NOT DISTINCT (snapshot_id, usagecount));
COMMENT ON TABLE pgbufprobe_snapshot_usagecounts IS
'the histogram of usage counts of each snapshot';

-- History is data, so it belongs into a dump; the sequence goes on where it was.
SELECT pg_catalog.pg_extension_config_dump('pgbufprobe_snapshots', '');
SELECT pg_catalog.pg_extension_config_dump('pgbufprobe_snapshots_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('pgbufprobe_snapshot_usagecounts', '');

CREATE FUNCTION pgbufprobe_snapshot(label text DEFAULT NULL)
RETURNS bigint
LANGUAGE sql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE COST 10000
BEGIN ATOMIC
    WITH taken AS (
        INSERT INTO pgbufprobe_snapshots
            (taken_at, label, server_started_at, statistics_reset_at, buffers, hand, passes, ticks, allocations)
        SELECT c.taken_at, pgbufprobe_snapshot.label,
               -- a crash takes the counts and leaves the postmaster, but none of its children
               greatest(pg_catalog.pg_postmaster_start_time(), (SELECT pg_catalog.max(a.backend_start) FROM pg_stat_activity AS a
                                                     WHERE a.backend_type = 'checkpointer')),
               pg_catalog.pg_stat_get_bgwriter_stat_reset_time(),
               c.buffers, c.hand, c.passes, c.ticks, c.allocations
        FROM pgbufprobe_clock() AS c
        RETURNING id
    ), counted AS (
        INSERT INTO pgbufprobe_snapshot_usagecounts (snapshot_id, usagecount, buffers, dirty, pinned)
        SELECT taken.id, h.usagecount, h.buffers, h.dirty, h.pinned
        FROM taken CROSS JOIN pgbufprobe_usagecount_histogram(NULL::regclass) AS h
    )
    SELECT id FROM taken;
END;
COMMENT ON FUNCTION pgbufprobe_snapshot(text) IS
'writes down the histogram of usage counts and where the hand stands; gives the number of the snapshot';

-- For the function below, which cannot complain by itself.
CREATE FUNCTION pgbufprobe_no_snapshot(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pgbufprobe_no_snapshot'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE;
COMMENT ON FUNCTION pgbufprobe_no_snapshot(bigint) IS
'raises the error that there is no such snapshot; of no use by itself';

CREATE FUNCTION pgbufprobe_snapshot_diff(
    IN from_id bigint DEFAULT NULL,     -- NULL: the last but one
    IN to_id bigint DEFAULT NULL,       -- NULL: the last
    OUT usagecount integer,             -- NULL: unused buffers
    OUT from_buffers bigint,
    OUT to_buffers bigint,
    OUT buffers_change bigint,
    OUT from_dirty bigint,
    OUT to_dirty bigint,
    OUT dirty_change bigint,
    OUT seconds double precision,       -- between the two, as all that follows; the same in each row
    OUT ticks bigint,                   -- NULL here and below: the server was started between them
    OUT passes double precision,
    OUT allocations bigint)             -- NULL also if the statistics were reset between them
RETURNS SETOF record
LANGUAGE sql VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 7
BEGIN ATOMIC
    WITH newest AS (
        SELECT s.id, pg_catalog.row_number() OVER (ORDER BY s.id DESC) AS age
        FROM pgbufprobe_snapshots AS s
        ORDER BY s.id DESC LIMIT 2
    ), ids AS (
        SELECT coalesce(from_id, (SELECT id FROM newest WHERE age = 2)) AS from_id,
               coalesce(to_id, (SELECT id FROM newest WHERE age = 1)) AS to_id
    ), found AS (
        SELECT coalesce((SELECT s.id FROM pgbufprobe_snapshots AS s WHERE s.id = ids.from_id),
                        pgbufprobe_no_snapshot(ids.from_id)) AS from_id,
               coalesce((SELECT s.id FROM pgbufprobe_snapshots AS s WHERE s.id = ids.to_id),
                        pgbufprobe_no_snapshot(ids.to_id)) AS to_id
        FROM ids
    ), between_them AS (
        SELECT found.from_id, found.to_id, extract(epoch FROM t.taken_at - f.taken_at)::double precision AS seconds,
               t.buffers AS pool,
               t.server_started_at = f.server_started_at AND t.buffers = f.buffers
                   AND pg_catalog.sign((t.ticks - f.ticks)::float8) * pg_catalog.sign((t.id - f.id)::float8) >= 0::float8 AS same_run,
               t.statistics_reset_at IS NOT DISTINCT FROM f.statistics_reset_at
                   AND pg_catalog.sign((t.allocations - f.allocations)::float8) * pg_catalog.sign((t.id - f.id)::float8) >= 0::float8 AS same_statistics,
               t.ticks - f.ticks AS ticks, t.allocations - f.allocations AS allocations
        -- Outer joins, here and below: what is looked for first must never be so empty that nobody looks further,
        -- and so nobody complains.
        FROM found
        LEFT JOIN pgbufprobe_snapshots AS f ON f.id = found.from_id
        LEFT JOIN pgbufprobe_snapshots AS t ON t.id = found.to_id
    ), before AS (
        SELECT u.* FROM pgbufprobe_snapshot_usagecounts AS u JOIN between_them AS b ON u.snapshot_id = b.from_id
    ), after AS (
        SELECT u.* FROM pgbufprobe_snapshot_usagecounts AS u JOIN between_them AS b ON u.snapshot_id = b.to_id
    )
    SELECT levels.usagecount, before.buffers, after.buffers, after.buffers - before.buffers,
           before.dirty, after.dirty, after.dirty - before.dirty, b.seconds,
           CASE WHEN b.same_run THEN b.ticks END,
           CASE WHEN b.same_run THEN pg_catalog.round(b.ticks::numeric / b.pool::numeric, 4)::double precision END,
           CASE WHEN b.same_run AND b.same_statistics THEN b.allocations END
    FROM between_them AS b
    LEFT JOIN (SELECT usagecount FROM before UNION SELECT usagecount FROM after) AS levels ON true
    LEFT JOIN before ON before.usagecount IS NOT DISTINCT FROM levels.usagecount
    LEFT JOIN after ON after.usagecount IS NOT DISTINCT FROM levels.usagecount
    ORDER BY levels.usagecount NULLS LAST;
END;
COMMENT ON FUNCTION pgbufprobe_snapshot_diff(bigint, bigint) IS
'what changed between two snapshots: buffers and dirty buffers at each usage count, and how far the hand went meanwhile';

CREATE FUNCTION pgbufprobe_snapshot_prune(keep interval)
RETURNS bigint
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    WITH gone AS (
        DELETE FROM pgbufprobe_snapshots AS s
        WHERE s.taken_at < pg_catalog.now() - pgbufprobe_snapshot_prune.keep
        RETURNING s.id
    )
    SELECT pg_catalog.count(*) FROM gone;
END;
COMMENT ON FUNCTION pgbufprobe_snapshot_prune(interval) IS
'deletes the snapshots that are older than that; tells how many';

CREATE FUNCTION pgbufprobe_residence(
    IN watch interval DEFAULT '1 s',    -- how long to watch the hand, where no sampler has
    OUT database name,                  -- NULL: shared by all databases
    OUT tablespace name,
    OUT relfilenode oid,
    OUT fork text,
    OUT relation regclass,              -- NULL: in another database
    OUT buffers bigint,
    OUT bytes bigint,
    OUT min_seconds double precision,   -- until the first page is evicted if nobody touches any; NULL: the hand stood still
    OUT avg_seconds double precision,
    OUT max_seconds double precision,   -- until the last one is
    OUT seconds_per_pass double precision,
    OUT watched_seconds double precision)   -- for how long the hand was watched to tell
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_residence'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 500 COST 10000;
COMMENT ON FUNCTION pgbufprobe_residence(interval) IS
'how long the pages of each relation stay in shared buffers if nobody touches them, at the speed of the hand in the last minutes';

CREATE FUNCTION pgbufprobe_history(
    OUT taken_at timestamp with time zone,
    OUT seconds double precision,       -- since the sample before; NULL: there was none
    OUT ticks bigint,                   -- as of pgbufprobe_clock()
    OUT allocations bigint,
    OUT ticks_per_second double precision,          -- since the sample before, as all rates here
    OUT inspected_per_allocation double precision,  -- NULL: nothing was allocated
    OUT seconds_per_pass double precision,          -- NULL: the hand did not move
    OUT usagecounts bigint[],           -- buffers at usage count 0, 1, 2, ...
    OUT unused bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT scans bigint,                   -- of the descriptors; all but one for the advice
    OUT sampler_cpu_ms double precision,
    OUT sampler_cpu_fraction double precision)      -- of one processor
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_history'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1000 COST 1000;
COMMENT ON FUNCTION pgbufprobe_history() IS
'samples of the buffer pool that the background worker has taken, oldest first; needs shared_preload_libraries';

CREATE FUNCTION pgbufprobe_history_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'pgbufprobe_history_reset'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pgbufprobe_history_reset() IS
'forgets the samples of the background worker, and what the advice has learned';

-- ---------------------------------------------------------------------------
-- What another size would do
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_advice(
    OUT size_factor double precision,   -- times today's shared_buffers
    OUT shared_buffers_bytes bigint,
    OUT estd_miss_ratio double precision,   -- reads among all blocks asked for; NULL here and below: see note
    OUT estd_reads bigint,              -- of the accesses that the advice remembers
    OUT estd_read_factor double precision,  -- times today's
    OUT estd_reads_saved bigint,        -- negative: more reads
    OUT estd_os_cache_fraction double precision,    -- of these reads, served by the page cache
    OUT estd_read_ms_saved double precision,
    OUT sampled_loads bigint,           -- pages of the sample that were seen to come in
    OUT self_error double precision,    -- seen loads against the server's count of reads: 0 is perfect
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_advice'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 11 COST 100;
COMMENT ON FUNCTION pgbufprobe_advice() IS
'miss ratio and reads that other sizes of shared_buffers would have with the workload of late; needs shared_preload_libraries';

-- ---------------------------------------------------------------------------
-- The front door
-- ---------------------------------------------------------------------------

-- The limits of the verdicts stand here and in the README, nowhere else.
CREATE FUNCTION pgbufprobe_checkup(
    OUT question text,
    OUT answer text,                    -- a sentence with its figures
    OUT value double precision,         -- the figure that the verdict is about; NULL: not known
    OUT unit text,
    OUT verdict text,                   -- fine, look, act or unknown
    OUT look_at text)                   -- the call that shows more
RETURNS SETOF record
LANGUAGE sql VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 8 COST 100000
BEGIN ATOMIC
    WITH pool AS (
        SELECT pg_catalog.sum(h.buffers)::bigint AS buffers,
               -- one that is pinned is being read into
               coalesce(pg_catalog.sum(h.buffers - h.pinned) FILTER (WHERE h.usagecount IS NULL), 0)::bigint AS unused,
               -- from 19 on there is no free list: the hand hands out the buffers of the first turn
               (SELECT CASE WHEN pg_catalog.current_setting('server_version_num')::integer >= 190000 THEN c.ticks > c.buffers
                            ELSE c.ticks > 0 END FROM pgbufprobe_clock() AS c) AS evicted,
               pg_catalog.current_setting('server_version_num')::integer < 190000 AS has_free_list,
               pg_catalog.current_setting('shared_buffers') AS size
        FROM pgbufprobe_usagecount_histogram(NULL::regclass) AS h
    ), sizes AS (
        SELECT p.*, p.has_free_list AND p.unused > p.buffers / 10 AS none_is_evicted,
               pg_catalog.pg_size_pretty(p.unused * pg_catalog.current_setting('block_size')::bigint) AS free,
               pg_catalog.pg_size_pretty((p.buffers - p.unused) * pg_catalog.current_setting('block_size')::bigint) AS used
        FROM pool AS p
    ), sweep AS (
        SELECT pg_catalog.max(s.p50_us) FILTER (WHERE s.scenario = 'current') AS p50_us,
               pg_catalog.max(s.avg_us) FILTER (WHERE s.scenario = 'current') AS avg_us,
               pg_catalog.max(s.max_us) FILTER (WHERE s.scenario = 'current') AS max_us,
               pg_catalog.max(s.from_freelist) FILTER (WHERE s.scenario = 'current') AS free,
               pg_catalog.max(s.dirty_victims) FILTER (WHERE s.scenario = 'current') AS dirty,
               pg_catalog.max(s.victims) AS victims,
               pg_catalog.max(s.max_us) FILTER (WHERE s.scenario = 'worst') / 1000::float8 AS worst_ms
        FROM pgbufprobe_sweep_cost(1000, NULL::text) AS s
    ), scan AS (
        SELECT pg_catalog.max(s.avg_ms) FILTER (WHERE s.method = 'match') AS match_ms,
               pg_catalog.max(s.avg_ms) FILTER (WHERE s.method = 'lock') AS lock_ms
        FROM pgbufprobe_scan_cost(5) AS s
    ), stay AS (
        SELECT r.seconds_per_pass, r.watched_seconds,
               r.seconds_per_pass IS NULL AND r.watched_seconds >= 60::float8 AS stood_still,
               pg_catalog.sum(r.avg_seconds * r.buffers::float8) OVER () / (pg_catalog.sum(r.buffers) OVER ())::float8 AS seconds
        FROM pgbufprobe_residence('1 s'::interval) AS r LIMIT 1
    ), twice AS (
        SELECT d.database, d.both_bytes, d.distinct_bytes, d.duplicate_fraction
        FROM pgbufprobe_double_buffering AS d
    ), advice AS (
        SELECT a.*, 1::float8 - a.estd_read_factor AS saved,
               CASE WHEN a.estd_miss_ratio IS NULL THEN a.note ELSE 'nothing was read of late' END AS why_not,
               CASE WHEN pg_catalog.abs(a.self_error) > 0.2::float8 THEN pg_catalog.format(' With reserve: %s.', a.note) ELSE '' END AS reserve,
               (SELECT t.estd_miss_ratio FROM pgbufprobe_advice() AS t WHERE t.size_factor = 1::float8) AS today
        FROM pgbufprobe_advice() AS a
    ), answers AS (
        SELECT 1 AS ord, 'Is the pool full?' AS question,
               CASE WHEN unused = 0 THEN pg_catalog.format('Yes, all %s of it.', size)
                    ELSE pg_catalog.format('%s: %s of %s are free%s.',
                                CASE WHEN evicted AND unused <= buffers / 2 THEN 'Nearly' ELSE 'No' END, free, size,
                                CASE WHEN evicted THEN ' just now' ELSE ', and none had to be evicted since the server started' END)
               END AS answer,
               pg_catalog.round(1::numeric - unused::numeric / buffers::numeric, 4)::double precision AS value, 'of the pool' AS unit,
               'fine' AS verdict, 'pgbufprobe_usagecount_histogram()' AS look_at
        FROM sizes
        UNION ALL
        SELECT 2, 'Would a larger pool help, and how much?',
               CASE WHEN NOT pool.evicted
                    THEN 'No: nothing had to be evicted since the server started, but for what large scans read through rings of their own.'
                    WHEN a.saved IS NOT NULL
                    THEN pg_catalog.format('Twice %s would avoid %s %% of the reads: %s %% of the blocks asked for would be read, not %s %%.%s%s',
                                pool.size, pg_catalog.round(100::numeric * a.saved::numeric, 1),
                                pg_catalog.round(100::numeric * a.estd_miss_ratio::numeric, 2),
                                pg_catalog.round(100::numeric * a.today::numeric, 2),
                                CASE WHEN a.estd_os_cache_fraction IS NOT NULL
                                     THEN pg_catalog.format(' Of the reads avoided, the operating system''s cache has served %s %% of late.',
                                                 pg_catalog.round(100::numeric * a.estd_os_cache_fraction::numeric))
                                     WHEN a.saved > 0::float8 THEN ' How many of these the operating system''s cache serves is not known.'
                                     ELSE '' END, a.reserve)
                    WHEN a.today < 0.01::float8
                    THEN pg_catalog.format('Hardly: only %s %% of the blocks asked for are read.', pg_catalog.round(100::numeric * a.today::numeric, 2))
                    WHEN stay.stood_still
                    THEN pg_catalog.format('No: nothing was evicted in the %s s that were watched.', pg_catalog.round(stay.watched_seconds::numeric))
                    ELSE pg_catalog.format('Not known: %s.', a.why_not) END,
               CASE WHEN NOT pool.evicted THEN 0 ELSE a.saved END, 'of the reads avoided',
               CASE WHEN NOT pool.evicted THEN 'fine'
                    WHEN a.saved IS NULL
                    THEN CASE WHEN a.today < 0.01::float8 OR stay.stood_still THEN 'fine' ELSE 'unknown' END
                    WHEN a.saved < 0.2::float8 OR a.today - a.estd_miss_ratio < 0.01::float8 THEN 'fine'
                    WHEN a.estd_os_cache_fraction < 0.5::float8 AND a.reserve = '' THEN 'act'
                    ELSE 'look' END,
               'pgbufprobe_advice()'
        FROM sizes AS pool CROSS JOIN advice AS a LEFT JOIN stay ON true WHERE a.size_factor = 2::float8
        UNION ALL
        SELECT 3, 'Would a smaller pool do?',
               CASE WHEN NOT pool.evicted
                    THEN pg_catalog.format('Perhaps: of %s, %s are in use, and nothing had to be evicted since the server started.', pool.size, pool.used)
                    WHEN a.saved IS NULL THEN pg_catalog.format('Not known: %s.', a.why_not)
                    ELSE pg_catalog.format('Half of %s would cost %s %% more reads: %s %% of the blocks asked for would be read, not %s %%.%s',
                                pool.size, pg_catalog.round(-100::numeric * a.saved::numeric, 1),
                                pg_catalog.round(100::numeric * a.estd_miss_ratio::numeric, 2),
                                pg_catalog.round(100::numeric * a.today::numeric, 2), a.reserve) END,
               -a.saved, 'more reads',
               CASE WHEN a.saved IS NULL THEN 'unknown'
                    WHEN a.estd_miss_ratio - a.today < 0.001::float8 THEN 'look'
                    ELSE 'fine' END,
               'pgbufprobe_advice()'
        FROM sizes AS pool, advice AS a WHERE a.size_factor = 0.5::float8
        UNION ALL
        SELECT 4, 'How long does an unused page stay?',
               CASE WHEN NOT pool.evicted THEN 'For ever: nothing had to be evicted since the server started.'
                    WHEN none_is_evicted THEN pg_catalog.format('For ever: none is evicted before the %s that are free are used.', free)
                    WHEN watched_seconds IS NULL THEN 'For ever: there is none in the pool.'
                    WHEN seconds IS NULL
                    THEN pg_catalog.format('For ever: nothing was evicted in the %s s that were watched%s.',
                                pg_catalog.round(watched_seconds::numeric, CASE WHEN watched_seconds < 10::float8 THEN 1 ELSE 0 END),
                                CASE WHEN stood_still THEN '' ELSE ', which is not long' END)
                    ELSE pg_catalog.format('%s on average. The hand comes by once in %s, and each visit ages a page by one.',
                                on_average.duration, by_hand.duration) END,
               CASE WHEN pool.evicted AND NOT none_is_evicted THEN seconds END, 's',
               CASE WHEN pool.evicted AND NOT none_is_evicted AND seconds < 60::float8 THEN 'look' ELSE 'fine' END,
               'pgbufprobe_residence()'
        FROM sizes AS pool LEFT JOIN stay ON true,
             LATERAL (SELECT CASE WHEN seconds < 90::float8 THEN pg_catalog.format('%s s', pg_catalog.round(seconds::numeric, 1))
                                  WHEN seconds < 5400::float8 THEN pg_catalog.format('%s minutes', pg_catalog.round(seconds::numeric / 60::numeric))
                                  ELSE pg_catalog.format('%s hours', pg_catalog.round(seconds::numeric / 3600::numeric, 1))
                             END AS duration) AS on_average,
             LATERAL (SELECT CASE WHEN seconds_per_pass < 90::float8 THEN pg_catalog.format('%s s', pg_catalog.round(seconds_per_pass::numeric, 1))
                                  WHEN seconds_per_pass < 5400::float8
                                  THEN pg_catalog.format('%s minutes', pg_catalog.round(seconds_per_pass::numeric / 60::numeric))
                                  ELSE pg_catalog.format('%s hours', pg_catalog.round(seconds_per_pass::numeric / 3600::numeric, 1))
                             END AS duration) AS by_hand
        UNION ALL
        SELECT 5, 'What does finding a victim cost now, and at worst?',
               pg_catalog.format('%s At worst, with every page in heavy use, one search would take %s ms.',
                      CASE WHEN free = victims THEN 'Nothing: free buffers serve the next thousand.'
                           ELSE pg_catalog.format('%s us for half of the next thousand, %s us for the longest.', p50_us, max_us) END,
                      pg_catalog.round(worst_ms::numeric, CASE WHEN worst_ms < 1::float8 THEN 3 ELSE 1 END)),
               avg_us, 'us',
               CASE WHEN avg_us > 1000::float8 THEN 'act' WHEN avg_us > 100::float8 THEN 'look' ELSE 'fine' END,
               'pgbufprobe_sweep_cost()'
        FROM sweep
        UNION ALL
        SELECT 6, 'Do sessions have to write before they can read?',
               CASE WHEN dirty = 0 THEN pg_catalog.format('No: none of the next %s victims is dirty.', victims)
                    ELSE pg_catalog.format('For %s of the next %s victims: they are dirty, and unless the background writer or a checkpoint '
                                'comes first, who needs the buffer must write them out.', dirty, victims) END,
               dirty::float8 / victims::float8, 'of the victims',
               CASE WHEN dirty > victims / 2 THEN 'look' ELSE 'fine' END,
               'pgbufprobe_sweep_cost()'
        FROM sweep
        UNION ALL
        SELECT 7, 'What does each DROP or checkpoint scan?',
               pg_catalog.format('All %s descriptors: %s ms for each DROP or TRUNCATE of a table, %s ms for each checkpoint.',
                      buffers, match_ms, lock_ms),
               match_ms, 'ms',
               CASE WHEN match_ms > 50::float8 THEN 'act' WHEN match_ms > 5::float8 THEN 'look' ELSE 'fine' END,
               'pgbufprobe_scan_cost()'
        FROM scan, pool
        UNION ALL
        SELECT 8, 'How much do I cache twice?',
               CASE WHEN duplicate_fraction IS NULL THEN 'Not known: the operating system does not tell what its cache holds.'
                    ELSE pg_catalog.format('%s of the %s of database %s that are in memory are there twice, in shared buffers and in the operating system''s cache.',
                                pg_catalog.pg_size_pretty(both_bytes), pg_catalog.pg_size_pretty(distinct_bytes), database) END,
               duplicate_fraction, 'of what is cached',
               CASE WHEN duplicate_fraction IS NULL THEN 'unknown' WHEN duplicate_fraction > 0.5::float8 THEN 'look' ELSE 'fine' END,
               'pgbufprobe_double_buffering'
        FROM twice
    )
    SELECT a.question, a.answer, pg_catalog.round(a.value::numeric, 4)::double precision, a.unit, a.verdict, a.look_at
    FROM answers AS a ORDER BY a.ord;
END;
COMMENT ON FUNCTION pgbufprobe_checkup() IS
'is my shared_buffers right? The questions that people ask of it, each answered in a sentence';

-- ---------------------------------------------------------------------------
-- Privileges
-- ---------------------------------------------------------------------------

-- Each of these reads every buffer descriptor or asks for every page of a
-- file, which costs time where they are many, and tells what others keep in
-- memory: not for everyone.
REVOKE ALL ON FUNCTION pgbufprobe_sweep_cost(integer, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_scan_cost(integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_usagecount_histogram(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_relations() FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_clock() FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_clock_rate(interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_os_cache(regclass, text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_residency(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_residency_map(regclass, integer, text) FROM PUBLIC;
REVOKE ALL ON TABLE pgbufprobe_double_buffering FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_snapshot(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_snapshot_diff(bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_snapshot_prune(interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_no_snapshot(bigint) FROM PUBLIC;
REVOKE ALL ON TABLE pgbufprobe_snapshots FROM PUBLIC;
REVOKE ALL ON TABLE pgbufprobe_snapshot_usagecounts FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_residence(interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_history() FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_advice() FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_checkup() FROM PUBLIC;

-- This takes from others what they may want to look at.
REVOKE ALL ON FUNCTION pgbufprobe_history_reset() FROM PUBLIC;

-- These move what is cached, for everybody: granted to nobody.
REVOKE ALL ON FUNCTION pgbufprobe_read_cost(regclass, integer, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION pgbufprobe_os_advise(regclass, text, text) FROM PUBLIC;

-- Readers.  The scenario "live" checks for a superuser by itself.
GRANT EXECUTE ON FUNCTION pgbufprobe_sweep_cost(integer, text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_scan_cost(integer) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_usagecount_histogram(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_relations() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_clock() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_clock_rate(interval) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_os_cache(regclass, text, text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_residency(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_residency_map(regclass, integer, text) TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_double_buffering TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot(text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_diff(bigint, bigint) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_prune(interval) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_no_snapshot(bigint) TO pg_monitor;
GRANT SELECT, INSERT, DELETE ON TABLE pgbufprobe_snapshots TO pg_monitor;
GRANT SELECT, INSERT ON TABLE pgbufprobe_snapshot_usagecounts TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_residence(interval) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_history() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_advice() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_checkup() TO pg_monitor;
