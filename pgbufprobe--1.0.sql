/* pgbufprobe--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pgbufprobe" to load this file. \quit

-- The view, the defaults and the functions in SQL below are parsed with the extension's schema in the search path, and other users may have
-- objects in that schema. An exact match wins, so functions are qualified with pg_catalog, operands have exactly the
-- types of the built-in operators, and calls of our own functions give all arguments. t/010_install_hijack.pl tests this.

-- ---------------------------------------------------------------------------
-- Costs of the buffer manager
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_sweep_cost(
    IN victims integer DEFAULT 1000,    -- number of searches to time
    IN scenario text DEFAULT NULL,      -- current, worst or live; NULL: the first two
    OUT scenario text,
    OUT avg_us double precision,        -- one search, without the cost of timing it
    OUT p99_us double precision,
    OUT max_us double precision,
    OUT inspected bigint,               -- buffers inspected by all searches
    OUT ms_per_pass double precision,   -- cost of inspecting the whole pool once
    OUT from_freelist bigint,           -- victims that were free buffers
    OUT dirty_victims bigint)           -- victims that must be written before reuse
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_sweep_cost'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 2 COST 10000;
COMMENT ON FUNCTION pgbufprobe_sweep_cost(integer, text) IS
'cost of finding victim buffers with the clock sweep: "current" and "worst" replay searches and change nothing; "live" runs the server''s own search, moves the clock hand, and requires superuser';

CREATE FUNCTION pgbufprobe_scan_cost(
    IN rounds integer DEFAULT 5,        -- number of scans to time for each method
    IN sample_fraction double precision DEFAULT 1,  -- share of the buffers to scan; below 1, times are scaled to the pool
    OUT method text,
    OUT min_ms double precision,        -- one scan of all descriptors
    OUT max_ms double precision,        -- often the first scan of a session
    OUT matched bigint)                 -- buffers that matched; NULL: nothing to match, or only a part was scanned
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_scan_cost'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 3 COST 10000;
COMMENT ON FUNCTION pgbufprobe_scan_cost(integer, double precision) IS
'cost of scanning all buffer descriptors: reading each, locking each like a checkpoint, and matching each like DROP and TRUNCATE';

-- ---------------------------------------------------------------------------
-- State of the buffer pool
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_usagecount_histogram(
    IN relation regclass DEFAULT NULL,  -- NULL: the whole pool
    IN sample_fraction double precision DEFAULT 1,  -- share of the buffers to read; below 1, counts are estimates
    OUT usagecount integer,             -- NULL: unused buffers
    OUT buffers bigint,
    OUT buffers_low bigint,             -- 95 % interval; the same as the count if all buffers were read
    OUT buffers_high bigint,
    OUT dirty bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_usagecount_histogram'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 7 COST 1000;
COMMENT ON FUNCTION pgbufprobe_usagecount_histogram(regclass, double precision) IS
'buffers at each usage count, in the whole pool or of one relation, counted or estimated from a random subset; takes no locks, so buffers are not read at one instant';

CREATE FUNCTION pgbufprobe_relations(
    IN sample_fraction double precision DEFAULT 1,  -- share of the buffers to read; below 1, counts are estimates
    OUT database name,                  -- NULL: shared by all databases
    OUT relfilenode oid,
    OUT fork text,
    OUT relation regclass,              -- NULL: belongs to another database
    OUT buffers bigint,
    OUT buffers_low bigint,             -- 95 % interval; the same as the count if all buffers were read
    OUT buffers_high bigint,
    OUT dirty bigint,
    OUT usagecount_avg double precision,
    OUT usagecounts bigint[],           -- buffers at usage count 0, 1, 2, ...
    OUT stay_seconds double precision)  -- until an unused page is evicted, on average, at the recent speed of the hand;
                                        -- NULL: no sampler is running, or the hand did not move
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_relations'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 500 COST 10000;
COMMENT ON FUNCTION pgbufprobe_relations(double precision) IS
'shared buffers by relation and fork, of all databases, largest first, and how long their pages stay without being used; counted, or estimated from a random subset';

CREATE FUNCTION pgbufprobe_clock(
    IN watch interval DEFAULT NULL,     -- how long to watch the hand; NULL: not at all
    OUT run text,                       -- identifies the run of the server; passes of another run cannot be compared
    OUT buffers bigint,
    OUT hand bigint,                    -- the next buffer to inspect
    OUT passes bigint,                  -- passes that the hand has completed since server start
    OUT allocations bigint,             -- as last published by the background writer
    OUT statistics_reset_at timestamp with time zone,   -- when allocations began to count; NULL: with the server
    OUT inspected_per_allocation double precision,  -- NULL here and below: not watched, nothing was allocated, or the hand did not move
    OUT seconds_per_pass double precision)
RETURNS record
AS 'MODULE_PATHNAME', 'pgbufprobe_clock'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION pgbufprobe_clock(interval) IS
'position of the clock hand, how far it has moved since server start, and its speed, measured over the given duration';

-- ---------------------------------------------------------------------------
-- Shared buffers and the page cache
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_os_cache(
    IN relation regclass,
    IN fork text DEFAULT 'main',
    IN method text DEFAULT 'auto',      -- auto, cachestat or mincore
    OUT segment integer,
    OUT bytes bigint,
    OUT cached_bytes bigint,            -- NULL: the kernel's answer would be wrong
    OUT method text)                    -- method that was used
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_os_cache'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10 COST 1000;
COMMENT ON FUNCTION pgbufprobe_os_cache(regclass, text, text) IS
'pages of a relation in the operating system''s page cache, one row per segment; counts are NULL, with a notice, if the kernel''s answer would be wrong';

CREATE FUNCTION pgbufprobe_residency(
    IN relation regclass DEFAULT NULL,  -- NULL: every relation of this database
    IN buckets integer DEFAULT 1,       -- equal ranges of blocks, one row for each
    IN sample_fraction double precision DEFAULT 1,  -- share of the blocks to look up; below 1, counts are estimates
    OUT relation regclass,
    OUT fork text,
    OUT first_block bigint,
    OUT blocks bigint,                  -- NULL here and below: a file could not be opened
    OUT shared_blocks bigint,           -- blocks in shared buffers
    OUT os_blocks bigint,               -- blocks with all their pages in the page cache; NULL here and below: the kernel's answer would be wrong
    OUT both_blocks bigint,
    OUT both_blocks_low bigint,         -- 95 % interval; the same as the count if all blocks were looked up
    OUT both_blocks_high bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_residency'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 1000 COST 10000;
COMMENT ON FUNCTION pgbufprobe_residency(regclass, integer, double precision) IS
'blocks in shared buffers, in the page cache, and in both, for one relation or all relations of this database; one row per relation and fork, most blocks in both first, or several per fork in the order of blocks';

CREATE VIEW pgbufprobe_double_buffering AS
SELECT pg_catalog.current_database() AS database,
       shared * block AS shared_bytes,
       os * block AS os_bytes,
       twice * block AS both_bytes,
       CASE WHEN twice = shared + os - twice AND twice > 0::bigint THEN 1
            ELSE pg_catalog.trunc(twice::numeric / nullif(shared + os - twice, 0::bigint)::numeric, 4)
       END::double precision AS duplicate_fraction      -- 1 means all, so round down
FROM (SELECT CASE WHEN pg_catalog.bool_and(shared_blocks IS NOT NULL) THEN pg_catalog.sum(shared_blocks)::bigint END AS shared,
             CASE WHEN pg_catalog.bool_and(os_blocks IS NOT NULL) THEN pg_catalog.sum(os_blocks)::bigint END AS os,
             CASE WHEN pg_catalog.bool_and(os_blocks IS NOT NULL) THEN pg_catalog.sum(both_blocks)::bigint END AS twice,
             pg_catalog.current_setting('block_size')::bigint AS block
      FROM pgbufprobe_residency(NULL::regclass, 1, 1::double precision)) AS total;
COMMENT ON VIEW pgbufprobe_double_buffering IS
'bytes of this database in shared buffers, in the page cache, and in both';

COMMENT ON COLUMN pgbufprobe_double_buffering.duplicate_fraction IS
'share of the cached bytes that are in both caches, from 0 to 1';

CREATE FUNCTION pgbufprobe_read_cost(
    IN relation regclass,
    IN samples integer DEFAULT 1000,
    IN fork text DEFAULT 'main',
    OUT tier text,                      -- shared_buffers, os_cache or storage; NULL: one of the latter two
    OUT reads bigint,
    OUT avg_us double precision,
    OUT p99_us double precision,
    OUT max_us double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_read_cost'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 3 COST 1000000;
COMMENT ON FUNCTION pgbufprobe_read_cost(regclass, integer, text) IS
'cost of reading random blocks through the buffer manager, by the cache that served them; reads each block at most once';

CREATE FUNCTION pgbufprobe_os_advise(
    relation regclass,
    advice text,                        -- willneed or dontneed
    fork text DEFAULT 'main')
RETURNS bigint
AS 'MODULE_PATHNAME', 'pgbufprobe_os_advise'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION pgbufprobe_os_advise(regclass, text, text) IS
'loads a relation into the operating system''s page cache, or writes it out and drops it from there; returns the number of bytes';

CREATE FUNCTION pgbufprobe_cache_map(
    IN relation regclass DEFAULT NULL,  -- NULL: every relation of this database
    IN fork text DEFAULT NULL,          -- NULL: every fork
    OUT relation regclass,
    OUT fork text,
    OUT map bytea)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_cache_map'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 1000 COST 1000000;
COMMENT ON FUNCTION pgbufprobe_cache_map(regclass, text) IS
'which blocks of each fork shared buffers hold, with which usage counts, and which the page cache holds, as one value for each; no row for a fork of which neither cache has a block';

CREATE FUNCTION pgbufprobe_cache_restore(
    IN relation regclass,
    IN map bytea,
    IN fork text DEFAULT 'main',
    IN target text DEFAULT 'both',      -- both, shared_buffers or os_cache
    IN mb_per_second double precision DEFAULT NULL,
    OUT requested bigint,
    OUT already_present bigint,
    OUT read bigint,
    OUT skipped bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'pgbufprobe_cache_restore'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION pgbufprobe_cache_restore(regclass, bytea, text, text, double precision) IS
'reads the blocks of a map into free shared buffers, with their usage counts, and into the operating system''s page cache';

-- ---------------------------------------------------------------------------
-- Snapshots and history
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_snapshot()
RETURNS jsonb
LANGUAGE SQL VOLATILE STRICT PARALLEL RESTRICTED COST 10000
BEGIN ATOMIC
WITH clock AS MATERIALIZED (
    SELECT * FROM pgbufprobe_clock(NULL::interval)
), levels AS MATERIALIZED (
    SELECT * FROM pgbufprobe_usagecount_histogram(NULL::regclass, 1::double precision)
), here AS MATERIALIZED (
    SELECT r.*,
           CASE WHEN r.relation IS NOT NULL
                     AND pg_catalog.row_number() OVER (PARTITION BY r.relation IS NULL ORDER BY r.ordinality) <= 200::bigint
                     -- a relation that is rewritten meanwhile may have two files
                     AND pg_catalog.row_number() OVER (PARTITION BY r.relation, r.fork ORDER BY r.ordinality) = 1::bigint
                THEN (SELECT i.identity FROM pg_catalog.pg_identify_object('pg_catalog.pg_class'::regclass, r.relation, 0) AS i)
           END AS name                  -- NULL: one of the others
      FROM pgbufprobe_relations(1::double precision) WITH ORDINALITY AS r
     WHERE r.database IS NULL OR r.database = pg_catalog.current_database()
)
SELECT pg_catalog.jsonb_build_object(
           'format', 1, 'run', c.run, 'taken_at', pg_catalog.clock_timestamp(), 'shared_buffers', c.buffers,
           'hand', c.hand, 'passes', c.passes, 'allocations', c.allocations,
           'database', pg_catalog.current_database(),
           'usagecounts',
           (SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                       'usagecount', l.usagecount, 'buffers', l.buffers, 'dirty', l.dirty) ORDER BY l.usagecount)
              FROM levels AS l),
           'relations',
           (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                       'relation', h.name, 'oid', h.relation::oid::bigint, 'fork', h.fork, 'buffers', h.buffers, 'dirty', h.dirty)
                       ORDER BY h.ordinality), '[]'::jsonb)
              FROM here AS h WHERE h.name IS NOT NULL),
           'other_relations',
           (SELECT pg_catalog.jsonb_build_object(
                       'forks', pg_catalog.count(*), 'buffers', coalesce(pg_catalog.sum(h.buffers), 0::numeric),
                       'dirty', coalesce(pg_catalog.sum(h.dirty), 0::numeric))
              FROM here AS h WHERE h.name IS NULL))
       || CASE WHEN c.statistics_reset_at IS NULL THEN '{}'::jsonb
               ELSE pg_catalog.jsonb_build_object('statistics_reset_at', c.statistics_reset_at) END
  FROM clock AS c;
END;
COMMENT ON FUNCTION pgbufprobe_snapshot() IS
'state of the buffer pool as one value: usage counts, the clock hand, and the relations of this database with the most buffers';

CREATE FUNCTION pgbufprobe_snapshot_diff(
    IN before jsonb,
    IN after jsonb DEFAULT pgbufprobe_snapshot(),
    IN by_relation boolean DEFAULT false,   -- both must be of one database
    OUT relation text,                  -- name at that time; NULL: the pool, or the sum of all other relations
    OUT fork text,
    OUT usagecount integer,             -- NULL: unused buffers, or all of the relation
    OUT from_buffers bigint,            -- NULL: too few to be in that snapshot, here and below
    OUT to_buffers bigint,
    OUT from_dirty bigint,
    OUT to_dirty bigint,
    OUT passes double precision)        -- of the clock hand in between; NULL: the server was restarted
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_snapshot_diff'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 7 COST 1000;
COMMENT ON FUNCTION pgbufprobe_snapshot_diff(jsonb, jsonb, boolean) IS
'changes between two snapshots: buffers and dirty buffers at each usage count, or of each relation and fork, largest change first';

CREATE FUNCTION pgbufprobe_start()
RETURNS text
AS 'MODULE_PATHNAME', 'pgbufprobe_start'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pgbufprobe_start() IS
'starts the sampler on the running server, until the server stops';

CREATE FUNCTION pgbufprobe_stop()
RETURNS text
AS 'MODULE_PATHNAME', 'pgbufprobe_stop'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pgbufprobe_stop() IS
'stops a sampler that pgbufprobe_start() has started; what it has learned is saved for the next start';

CREATE FUNCTION pgbufprobe_status(
    OUT sampler text,                   -- running, off, ended (by an error; it is restarted after some seconds), stopped or not started
    OUT since timestamp with time zone, -- when it began to run; NULL: it is not running
    OUT preloaded boolean,              -- it starts with the server
    OUT cpu_fraction double precision,  -- what it takes of one processor; NULL here and below: unknown, or not running
    OUT sampled_fraction double precision,  -- of the pages, whose reads it follows
    OUT learned_fraction double precision,  -- of what the advice needs
    OUT seconds_left double precision,  -- until all is learned
    OUT reads_seen bigint,              -- that the advice remembers
    OUT self_error double precision,    -- reads that it saw relative to those that the server counted: 0 is perfect
    OUT storage_self_error double precision,    -- storage reads today, simulated minus measured
    OUT recent_fraction double precision,   -- of today's misses, those of pages that the kernel had cached or evicted recently
    OUT recent_fraction_low double precision,   -- the same of the simulated page cache: a 95 % interval
    OUT recent_fraction_high double precision,
    OUT refaults_per_second double precision,   -- blocks that the kernel had evicted, and has read again, for this server or others
    OUT storage_reads_per_second double precision,  -- of this server, simulated
    OUT missed_fraction double precision,   -- of the pages that were loaded, those that only checks of the whole pool found
    OUT carry_over text,                -- off, waiting, restoring, done, saving, no worker or no background worker slot
    OUT restored_fraction double precision, -- of the restore after the start; NULL here and in the next: there was none
    OUT restore_seconds_left double precision,
    OUT saved_at timestamp with time zone)  -- when both caches were last saved; NULL: never
RETURNS record
AS 'MODULE_PATHNAME', 'pgbufprobe_status'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION pgbufprobe_status() IS
'whether the sampler is running, how much it has learned and how far it can be trusted, and what pgbufprobe.carry_over does';

CREATE FUNCTION pgbufprobe_history(
    resolution text DEFAULT 'fine',     -- fine: an entry per pgbufprobe.history_interval; coarse: one per five minutes, for eight days
    OUT taken_at timestamp with time zone,
    OUT age_seconds double precision,   -- also if the system clock was set since; NULL: from before the server started
    OUT seconds double precision,       -- since the previous entry; NULL: there is none
    OUT inspected_per_allocation double precision,  -- since the previous entry, like all rates here; NULL: nothing was allocated
    OUT seconds_per_pass double precision,          -- NULL: the hand did not move
    OUT usagecounts bigint[],           -- buffers at usage count 0, 1, 2, ...; of a large pool, estimated from a sample
    OUT dirty bigint,
    OUT looks bigint,                   -- looks at the pool, from which the advice learns
    OUT cpu_fraction double precision,  -- that the sampler took of one processor
    OUT accesses bigint,                -- block accesses that the server has counted
    OUT miss_ratio double precision,    -- of these, reads; NULL: there were none
    OUT read_ms_per_second double precision,    -- time that sessions waited for reads; NULL: unknown
    OUT scan_reads bigint,              -- blocks that large scans have read, which miss_ratio leaves out
    OUT scan_miss_ratio double precision,   -- reads per access of large scans; NULL here and below: there were none, or PostgreSQL 15
    OUT scan_kept_ratio double precision,   -- of what they read, the share that took a buffer from the pool, and stays
    OUT top_relations text[],           -- the five with the most reads; NULL: there were none
    OUT top_read_fractions double precision[],  -- their shares of the reads
    OUT used_once_fraction double precision,    -- of the evicted pages, those not used again since they were loaded; NULL: few were evicted
    OUT read_again_fraction double precision)   -- of the evicted pages, those read again before a pool of others was evicted; NULL: unknown
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_history'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1000 COST 1000;
COMMENT ON FUNCTION pgbufprobe_history(text) IS
'history entries about the buffer pool that the sampler has written, oldest first; requires a running sampler';

CREATE FUNCTION pgbufprobe_hours(
    OUT hour timestamp with time zone,  -- when it began
    OUT seconds double precision,       -- of it, seen by the sampler
    OUT in_decision boolean,            -- false: left out by pgbufprobe.decision_skip_hours
    OUT shared_buffers_bytes bigint,
    OUT work_ms_per_second double precision,    -- time that sessions worked
    OUT read_ms_per_second double precision,    -- time that sessions waited for reads; NULL: unknown
    OUT best_bytes bigint,              -- size with the shortest waiting; today's unless another is certainly better; NULL: unknown
    OUT saved_ms_per_second double precision,   -- waiting that it would have saved
    OUT saved_ms_low double precision,  -- its 95 % interval
    OUT saved_ms_high double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_hours'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 192 COST 100;
COMMENT ON FUNCTION pgbufprobe_hours() IS
'the hours of the last eight days: how long sessions waited for reads, and which size of shared_buffers would have been best; requires a running sampler';

CREATE FUNCTION pgbufprobe_history_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'pgbufprobe_history_reset'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pgbufprobe_history_reset() IS
'discards the history of the sampler, and all that the advice has learned';

-- ---------------------------------------------------------------------------
-- Estimates for other sizes
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_advice(
    OUT size_factor double precision,   -- multiple of today's shared_buffers
    OUT shared_buffers_bytes bigint,
    OUT os_cache_bytes bigint,          -- what remains for the page cache
    OUT fits text,                      -- yes, or the obstacle: machine, cgroup, huge pages, connections
    OUT mark text,                      -- today, advised, knee (of the curve), all data (of the server), or NULL
    OUT miss_ratio double precision,    -- reads per block access; NULL here and below: see note
    OUT miss_ratio_low double precision,    -- 95 % interval, here and below
    OUT miss_ratio_high double precision,
    OUT storage_ratio double precision, -- reads that wait for storage, per block access
    OUT storage_ratio_low double precision,
    OUT storage_ratio_high double precision,
    OUT read_ms_per_second double precision,    -- time that sessions wait for reads
    OUT read_ms_low double precision,
    OUT read_ms_high double precision,
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_advice'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 12 COST 100;
COMMENT ON FUNCTION pgbufprobe_advice() IS
'estimated misses and storage reads of the recent workload with other sizes of shared_buffers, where the page cache loses what the pool gains; requires a running sampler';

CREATE FUNCTION pgbufprobe_predictions(
    OUT made_at timestamp with time zone,
    OUT from_bytes bigint,              -- shared_buffers before the restart
    OUT to_bytes bigint,                -- and after it
    OUT miss_ratio double precision,    -- as pgbufprobe_advice() said before; NULL: see note
    OUT miss_ratio_low double precision,    -- 95 % interval, here and below
    OUT miss_ratio_high double precision,
    OUT measured_miss_ratio double precision,   -- NULL: not yet, here and below
    OUT storage_ratio double precision, -- NULL: unknown at that time
    OUT storage_ratio_low double precision,
    OUT storage_ratio_high double precision,
    OUT measured_storage_ratio double precision,
    OUT held boolean,                   -- NULL: undecided; see note
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_predictions'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10 COST 100;
COMMENT ON FUNCTION pgbufprobe_predictions() IS
'what was predicted before each restart with another size of shared_buffers, and whether it came true, newest first; requires a running sampler';

CREATE FUNCTION pgbufprobe_advice_relations(
    IN size_factor double precision DEFAULT 2,  -- of today's shared_buffers: 2 or 0.5
    OUT database name,                  -- NULL: shared by all databases
    OUT relfilenode oid,                -- NULL: all relations that have no row
    OUT fork text,
    OUT relation regclass,              -- NULL: of another database, or dropped
    OUT read_fraction double precision, -- of all reads
    OUT reads_saved bigint,             -- of the reads seen, at that size; negative: so many more; NULL: see note
    OUT reads_saved_low bigint,         -- 95 % interval, here and below
    OUT reads_saved_high bigint,
    OUT storage_reads_saved bigint,     -- of these, reads that wait for storage, if memory is fixed
    OUT storage_reads_saved_low bigint,
    OUT storage_reads_saved_high bigint,
    OUT working_set_bytes bigint,       -- of distinct pages used in the last 5 minutes
    OUT working_set_bytes_low bigint,
    OUT working_set_bytes_high bigint,
    OUT read_again_fraction double precision,   -- of its evicted pages, those read again before a pool of others was evicted; NULL: few were evicted
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_advice_relations'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 51 COST 1000;
COMMENT ON FUNCTION pgbufprobe_advice_relations(double precision) IS
'the 50 relations and forks with the most reads, and what twice or half the size of shared_buffers would change for each; requires a running sampler';

CREATE FUNCTION pgbufprobe_policies(
    OUT size_factor double precision,   -- multiple of today's shared_buffers: 0.5, 1, 2
    OUT policy text,                    -- clock 5 (the server's: usage counts up to 5), clock 1, clock 2, clock 15; clock 5 with 2 hands, 4 hands, batches of 64; LRU, S3-FIFO, optimum
    OUT miss_ratio double precision,    -- reads per block access; NULL here and below: see note
    OUT miss_ratio_low double precision,    -- 95 % interval, here and below
    OUT miss_ratio_high double precision,
    OUT change double precision,        -- of the miss ratio, against the server's policy at this size
    OUT change_low double precision,
    OUT change_high double precision,
    OUT saved_ms_per_second double precision,   -- time that sessions would wait less for reads; negative: more
    OUT saved_ms_low double precision,
    OUT saved_ms_high double precision,
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_policies'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 30 COST 100;
COMMENT ON FUNCTION pgbufprobe_policies() IS
'estimated misses of the recent workload with other replacement policies than the server''s, at half of today''s shared_buffers, at this size, and at twice of it; requires a running sampler with pgbufprobe.policies on';

CREATE FUNCTION pgbufprobe_working_set(
    OUT minutes integer,                -- 1, 5, 15, 60
    OUT bytes bigint,                   -- of distinct pages used in the last minutes; NULL here and below: see note
    OUT bytes_low bigint,               -- 95 % interval
    OUT bytes_high bigint,
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_working_set'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 4 COST 100;
COMMENT ON FUNCTION pgbufprobe_working_set() IS
'size of the pages that were used in the last 1, 5, 15 and 60 minutes; requires a running sampler';

-- ---------------------------------------------------------------------------
-- Memory
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_memory_consumers(
    OUT consumer text,
    OUT today_bytes bigint,             -- NULL here and below: see note
    OUT most_bytes bigint,              -- what settings allow; of the page cache, what is left then
    OUT reserved_bytes bigint,          -- what a larger shared_buffers must leave for it, beyond today
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_memory_consumers'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 13 COST 1000;
COMMENT ON FUNCTION pgbufprobe_memory_consumers() IS
'who takes memory today, what each may take at most, and what pgbufprobe_advice() leaves for it';

CREATE FUNCTION pgbufprobe_memory(
    target text DEFAULT NULL,           -- 'storage 0.5 %', '50 ms/s', 'today', '-20 % time'; NULL: none
    OUT memory_bytes bigint,            -- of the whole machine or container
    OUT shared_buffers_bytes bigint,    -- of the best split; NULL here and below: see note
    OUT os_cache_bytes bigint,
    OUT mark text,                      -- today, advised, knee, target, best
    OUT storage_ratio double precision, -- reads that wait for storage, per block access
    OUT storage_ratio_low double precision, -- 95 % interval, here and below
    OUT storage_ratio_high double precision,
    OUT read_ms_per_second double precision,    -- time that sessions wait for reads
    OUT read_ms_low double precision,
    OUT read_ms_high double precision,
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_memory'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 12 COST 1000;
COMMENT ON FUNCTION pgbufprobe_memory(text) IS
'how much memory the load needs: the best split of a quarter to four times of today''s memory, and the least that meets a target';

-- ---------------------------------------------------------------------------
-- Checkup
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_checkup(
    OUT topic text,                     -- what the answer is about; never changes
    OUT verdict text,                   -- change (certain), consider (likely), fine or unknown
    OUT answer text,                    -- at most 72 characters
    OUT action text,                    -- what to do; NULL: nothing
    OUT detail text)                    -- figures, intervals and reasons; NULL: the answer says all
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_checkup'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 9 COST 100000;
COMMENT ON FUNCTION pgbufprobe_checkup() IS
'is my shared_buffers right? Common questions, each answered in a sentence';

CREATE FUNCTION pgbufprobe_verdict(
    OUT verdict text,                   -- change (certain), consider (likely), fine or unknown: that of the checkup
    OUT basis text,                     -- waiting in hours, waiting now, storage reads or misses; NULL: unknown
    OUT today_bytes bigint,             -- shared_buffers
    OUT advised_bytes bigint,           -- the same if it should be kept; NULL: unknown
    OUT equal_from_bytes bigint,        -- sizes that are as good as the best one
    OUT equal_to_bytes bigint,
    OUT read_ms_per_second double precision,    -- that all sessions wait for reads today
    OUT saved_ms_per_second double precision,   -- with the advised size; NULL: today's size should be kept, or times are unknown
    OUT saved_ms_low double precision,          -- 95 % interval
    OUT saved_ms_high double precision,
    OUT work_ms_per_second double precision,    -- that sessions work; NULL: unknown
    OUT seconds double precision,       -- of the hours that decide
    OUT note text)
AS 'MODULE_PATHNAME', 'pgbufprobe_verdict'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION pgbufprobe_verdict() IS
'which size should shared_buffers have? The first answer of the checkup in figures, for programs';

-- ---------------------------------------------------------------------------
-- Views for collectors
-- ---------------------------------------------------------------------------

-- A collector selects columns of these views and nothing else, so all that it runs is bound here, and not by the search path
-- of its session. monitoring/metrics.yaml describes the columns. Sizes are in bytes, times in seconds, shares from 0 to 1.

-- Where reading every buffer takes too long, a hundredth is enough: counts are accurate to 0.7 % of the pool or better.
CREATE VIEW pgbufprobe_metrics_pool AS
SELECT coalesce(usagecount::text, 'unused'::text) AS usagecount,
       buffers * pg_catalog.current_setting('block_size')::bigint AS bytes,
       dirty * pg_catalog.current_setting('block_size')::bigint AS dirty_bytes
FROM pgbufprobe_usagecount_histogram(NULL::regclass,
    (SELECT CASE WHEN buffers > 2097152::bigint THEN 0.01::double precision ELSE 1::double precision END FROM pgbufprobe_clock(NULL::interval)));
COMMENT ON VIEW pgbufprobe_metrics_pool IS
'for collectors: buffers at each usage count';

CREATE VIEW pgbufprobe_metrics_clock AS
SELECT buffers * pg_catalog.current_setting('block_size')::bigint AS pool_size_bytes,
       passes * buffers + hand AS ticks_total,
       allocations AS allocations_total,
       passes AS passes_total
FROM pgbufprobe_clock(NULL::interval);
COMMENT ON VIEW pgbufprobe_metrics_clock IS
'for collectors: how far the clock hand has moved';

-- The worst case inspects the whole pool five times, so it is left out in a pool of more than 32 GB.
CREATE VIEW pgbufprobe_metrics_victim AS
SELECT scenario,
       avg_us / 1e6::double precision AS search_seconds,
       max_us / 1e6::double precision AS search_max_seconds,
       inspected::double precision / 1000::double precision AS inspected,
       dirty_victims::double precision / 1000::double precision AS dirty_ratio,
       ms_per_pass / 1e3::double precision AS pass_seconds
FROM pgbufprobe_sweep_cost(1000, (SELECT CASE WHEN buffers > 4194304::bigint THEN 'current'::text END FROM pgbufprobe_clock(NULL::interval)));
COMMENT ON VIEW pgbufprobe_metrics_victim IS
'for collectors: cost of the next 1000 searches for a victim buffer';

-- Of a pool of more than 8 GB, a part is scanned, and the time scaled.
CREATE VIEW pgbufprobe_metrics_scan AS
SELECT method,
       min_ms / 1e3::double precision AS seconds
FROM pgbufprobe_scan_cost(2,
    (SELECT least(1::double precision, 1048576::double precision / buffers::double precision) FROM pgbufprobe_clock(NULL::interval)));
COMMENT ON VIEW pgbufprobe_metrics_scan IS
'for collectors: cost of a scan of all buffer descriptors';

-- Of a database of more than 1 GB, a sample of 20,000 blocks is looked up: accurate to 0.7 % of its size.
CREATE VIEW pgbufprobe_metrics_caches AS
SELECT pg_catalog.current_database()::text AS datname,
       shared * block AS shared_bytes,
       os * block AS os_bytes,
       twice * block AS both_bytes,
       (shared + os - twice) * block AS distinct_bytes
FROM (SELECT pg_catalog.sum(shared_blocks)::bigint AS shared,
             pg_catalog.sum(os_blocks)::bigint AS os,
             pg_catalog.sum(both_blocks)::bigint AS twice,
             pg_catalog.current_setting('block_size')::bigint AS block
      FROM pgbufprobe_residency(NULL::regclass, 1,
          (SELECT CASE WHEN pg_catalog.sum(relpages) > 131072::bigint
                       THEN 20000::double precision / pg_catalog.sum(relpages)::double precision
                       ELSE 1::double precision END
           FROM pg_catalog.pg_class))
      HAVING pg_catalog.count(os_blocks) = pg_catalog.count(*)) AS total;
COMMENT ON VIEW pgbufprobe_metrics_caches IS
'for collectors: what shared buffers and the page cache hold of this database';

-- Only the current database has the names of its relations.
CREATE VIEW pgbufprobe_metrics_relation AS
SELECT datname, relation, fork,
       pg_catalog.sum(buffers)::bigint * pg_catalog.current_setting('block_size')::bigint AS bytes,
       pg_catalog.sum(dirty)::bigint * pg_catalog.current_setting('block_size')::bigint AS dirty_bytes,
       pg_catalog.sum(buffers::double precision * usagecount_avg) / pg_catalog.sum(buffers)::double precision AS usagecount_avg
FROM (SELECT coalesce(r.database::text, '(shared)'::text) AS datname,
             coalesce((SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
                       FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                       WHERE c.oid = r.relation::oid), r.relfilenode::text) AS relation,
             r.fork, r.buffers, r.dirty, r.usagecount_avg
      FROM pgbufprobe_relations(
          (SELECT CASE WHEN buffers > 2097152::bigint THEN 0.01::double precision ELSE 1::double precision END FROM pgbufprobe_clock(NULL::interval))) AS r
      ORDER BY r.buffers DESC LIMIT 20) AS named
GROUP BY datname, relation, fork;
COMMENT ON VIEW pgbufprobe_metrics_relation IS
'for collectors: the 20 relations that have the most of the pool';

CREATE VIEW pgbufprobe_metrics_gain AS
SELECT datname, relation, fork,
       pg_catalog.sum(read_fraction) AS read_ratio,
       pg_catalog.sum(reads_saved)::bigint AS reads_saved,
       pg_catalog.sum(storage_reads_saved)::bigint AS storage_reads_saved,
       pg_catalog.sum(working_set_bytes)::bigint AS working_set_bytes
FROM (SELECT coalesce(r.database::text, '(shared)'::text) AS datname,
             coalesce((SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
                       FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                       WHERE c.oid = r.relation::oid), r.relfilenode::text) AS relation,
             r.fork, r.read_fraction, r.reads_saved, r.storage_reads_saved, r.working_set_bytes
      FROM pgbufprobe_advice_relations(2::double precision) AS r
      WHERE r.relfilenode IS NOT NULL
      ORDER BY r.reads_saved DESC NULLS LAST, r.read_fraction DESC NULLS LAST LIMIT 20) AS named
GROUP BY datname, relation, fork;
COMMENT ON VIEW pgbufprobe_metrics_gain IS
'for collectors: the 20 relations that twice the size of shared_buffers helps most';

-- The verdict is four numbers, since a series whose label changes would be two for a while.
CREATE VIEW pgbufprobe_metrics_verdict AS
SELECT (verdict = 'fine'::text)::integer AS fine,
       (verdict = 'consider'::text)::integer AS consider,
       (verdict = 'change'::text)::integer AS change,
       (verdict = 'unknown'::text)::integer AS unknown,
       today_bytes,
       advised_bytes,
       equal_from_bytes,
       equal_to_bytes,
       read_ms_per_second / 1e3::double precision AS read_seconds_per_second,
       saved_ms_per_second / 1e3::double precision AS saved_seconds_per_second,
       saved_ms_low / 1e3::double precision AS saved_seconds_per_second_low,
       saved_ms_high / 1e3::double precision AS saved_seconds_per_second_high,
       work_ms_per_second / 1e3::double precision AS work_seconds_per_second,
       seconds AS seen_seconds
FROM pgbufprobe_verdict();
COMMENT ON VIEW pgbufprobe_metrics_verdict IS
'for collectors: which size shared_buffers should have, and how certain that is';

-- Sizes are rounded to blocks in the verdict, and not here.
CREATE VIEW pgbufprobe_metrics_size AS
SELECT size_factor::text AS size_factor,
       shared_buffers_bytes,
       coalesce(pg_catalog.abs(shared_buffers_bytes - advised_bytes) < pg_catalog.current_setting('block_size')::bigint, false)::integer AS advised,
       os_cache_bytes,
       (fits IN ('yes'::text, 'connections'::text))::integer AS fits,
       miss_ratio,
       miss_ratio_low,
       miss_ratio_high,
       storage_ratio,
       storage_ratio_low,
       storage_ratio_high,
       read_ms_per_second / 1e3::double precision AS read_seconds_per_second,
       read_ms_low / 1e3::double precision AS read_seconds_per_second_low,
       read_ms_high / 1e3::double precision AS read_seconds_per_second_high
FROM (SELECT size_factor, shared_buffers_bytes, os_cache_bytes, fits, mark,
             miss_ratio, miss_ratio_low, miss_ratio_high,
             storage_ratio, storage_ratio_low, storage_ratio_high,
             read_ms_per_second, read_ms_low, read_ms_high,
             pg_catalog.count(miss_ratio) OVER () > 0::bigint AS known
      FROM pgbufprobe_advice()) AS sizes
CROSS JOIN (SELECT advised_bytes FROM pgbufprobe_verdict()) AS verdict
WHERE known AND mark IS DISTINCT FROM 'all data'::text;
COMMENT ON VIEW pgbufprobe_metrics_size IS
'for collectors: what other sizes of shared_buffers would read; no rows while nothing is known';

-- Collectors have labels of their own that are named target.
CREATE VIEW pgbufprobe_metrics_memory AS
SELECT t.goal, m.memory_bytes AS needed_bytes, m.shared_buffers_bytes, m.read_ms_per_second / 1e3::double precision AS read_seconds_per_second
FROM (VALUES ('today'::text), ('-10 % time'::text), ('-20 % time'::text), ('storage 1 %'::text), ('storage 0.1 %'::text)) AS t (goal),
     LATERAL pgbufprobe_memory(t.goal) AS m
WHERE pg_catalog.right(m.mark, 6) = 'target'::text;
COMMENT ON VIEW pgbufprobe_metrics_memory IS
'for collectors: how much memory each target needs; no row for a target that is unknown or out of reach';

CREATE VIEW pgbufprobe_metrics_advice AS
SELECT learned_fraction AS learned_ratio, seconds_left, reads_seen, self_error, storage_self_error, missed_fraction AS missed_loads_ratio
FROM pgbufprobe_status()
WHERE reads_seen IS NOT NULL;
COMMENT ON VIEW pgbufprobe_metrics_advice IS
'for collectors: what the estimates for other sizes rest on';

CREATE VIEW pgbufprobe_metrics_working_set AS
SELECT minutes::text AS minutes, bytes, bytes_low, bytes_high
FROM pgbufprobe_working_set()
WHERE bytes IS NOT NULL;
COMMENT ON VIEW pgbufprobe_metrics_working_set IS
'for collectors: bytes of the pages used in the last minutes';

-- Samples from before the last restart are about another pool.
CREATE VIEW pgbufprobe_metrics_sampler AS
WITH worker AS MATERIALIZED (SELECT sampler, sampled_fraction FROM pgbufprobe_status())
SELECT CASE WHEN sampler <> 'stopped'::text THEN (sampler = 'running'::text)::integer END AS running,
       age_seconds AS sample_age_seconds,
       cpu_fraction AS cpu_ratio,
       sampled_fraction AS sampled_ratio,
       looks::double precision / seconds AS looks_per_second,
       looks::double precision / seconds * seconds_per_pass AS looks_per_pass,
       seconds_per_pass,
       inspected_per_allocation,
       used_once_fraction AS evicted_once_ratio,
       read_again_fraction AS read_again_ratio
FROM worker
LEFT JOIN (SELECT age_seconds, seconds, looks, cpu_fraction, seconds_per_pass, inspected_per_allocation,
                  used_once_fraction, read_again_fraction
           FROM pgbufprobe_history('fine'::text)
           WHERE (SELECT sampler = 'running'::text FROM worker)
             AND age_seconds IS NOT NULL AND seconds > 0::double precision
           ORDER BY age_seconds LIMIT 1) AS latest ON true;
COMMENT ON VIEW pgbufprobe_metrics_sampler IS
'for collectors: whether the background worker runs (NULL: it was stopped), and its latest sample';

CREATE VIEW pgbufprobe_metrics_prediction AS
SELECT p.from_bytes,
       p.to_bytes,
       greatest(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - p.made_at), 0::double precision) AS age_seconds,
       p.held::integer AS held,
       p.miss_ratio,
       p.measured_miss_ratio,
       p.storage_ratio,
       p.measured_storage_ratio
FROM pgbufprobe_predictions() WITH ORDINALITY AS p      -- newest first
WHERE (SELECT sampler = 'running'::text FROM pgbufprobe_status())
ORDER BY p.ordinality
LIMIT 1;
COMMENT ON VIEW pgbufprobe_metrics_prediction IS
'for collectors: the latest prediction, and what was measured since';

CREATE VIEW pgbufprobe_metrics_time AS
SELECT (extract(epoch FROM pg_catalog.now()) * 1e9)::bigint AS epoch_ns;
COMMENT ON VIEW pgbufprobe_metrics_time IS
'for collectors: the time of the transaction';

-- ---------------------------------------------------------------------------
-- Privileges
-- ---------------------------------------------------------------------------

-- Most functions only read. They can take a while on a large server and show what other users keep in memory, so only
-- pg_monitor may call them. pgbufprobe_read_cost, pgbufprobe_os_advise and pgbufprobe_cache_restore change what is
-- cached for all users, pgbufprobe_start takes a background worker, and pgbufprobe_stop and pgbufprobe_history_reset take
-- away what others may need, so no role may call these by default.
--
-- Default privileges may have granted more than this, or revoked from the owner, so start from none.
DO $$
DECLARE
    path text := pg_catalog.current_setting('search_path');
    member record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    FOR member IN
        SELECT o.object, pg_get_userbyid(o.owner) AS owner,
               (SELECT string_agg(DISTINCT ', ' || quote_ident(pg_get_userbyid(a.grantee)), '')
                  FROM aclexplode(o.acl) AS a WHERE a.grantee <> 0) AS grantees
          FROM pg_depend AS d
          JOIN (SELECT p.tableoid, p.oid, 'FUNCTION ' || p.oid::regprocedure, p.proowner, p.proacl FROM pg_proc AS p
                UNION ALL
                SELECT c.tableoid, c.oid, 'TABLE ' || c.oid::regclass, c.relowner, c.relacl FROM pg_class AS c)
               AS o(classid, oid, object, owner, acl) ON d.classid = o.classid AND d.objid = o.oid
         WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
           AND d.refobjid = (SELECT e.oid FROM pg_extension AS e WHERE e.extname = 'pgbufprobe')
    LOOP
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC%s', member.object, member.grantees);
        EXECUTE format('GRANT ALL ON %s TO %I', member.object, member.owner);
    END LOOP;
    PERFORM set_config('search_path', path, true);
END
$$;

-- Scenario "live" of pgbufprobe_sweep_cost checks for superuser itself.
GRANT EXECUTE ON FUNCTION pgbufprobe_sweep_cost(integer, text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_scan_cost(integer, double precision) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_usagecount_histogram(regclass, double precision) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_relations(double precision) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_clock(interval) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_os_cache(regclass, text, text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_residency(regclass, integer, double precision) TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_double_buffering TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_cache_map(regclass, text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_diff(jsonb, jsonb, boolean) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_status() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_history(text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_hours() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_advice() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_predictions() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_advice_relations(double precision) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_policies() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_working_set() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_memory_consumers() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_memory(text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_checkup() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_verdict() TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_pool TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_clock TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_victim TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_scan TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_caches TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_relation TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_gain TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_verdict TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_size TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_memory TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_advice TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_working_set TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_sampler TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_prediction TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_metrics_time TO pg_monitor;
