/* pgbufprobe--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pgbufprobe" to load this file. \quit

-- The view and the defaults below are parsed with the extension's schema in the search path, and other users may have
-- objects in that schema. An exact match wins, so functions are qualified with pg_catalog, operands have exactly the
-- types of the built-in operators, and calls of our own functions give all arguments. t/010_install_hijack.pl tests this.

-- ---------------------------------------------------------------------------
-- Costs of the buffer manager
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_sweep_cost(
    IN victims integer DEFAULT 1000,    -- number of searches to time
    IN scenario text DEFAULT NULL,      -- current, worst or live; NULL: the first two
    OUT scenario text,
    OUT victims bigint,
    OUT avg_us double precision,        -- one search, without the cost of timing it
    OUT p50_us double precision,
    OUT p95_us double precision,
    OUT p99_us double precision,
    OUT max_us double precision,
    OUT inspected_per_victim double precision,
    OUT inspected_max bigint,           -- buffers inspected by the longest search
    OUT inspected bigint,               -- buffers inspected by all searches
    OUT passes double precision,        -- the same in passes of the clock hand
    OUT ns_per_buffer double precision, -- cost of inspecting one buffer
    OUT ms_per_pass double precision,   -- the same for the whole pool
    OUT ms_per_gb double precision,     -- the same for 1 GB of shared buffers
    OUT from_freelist bigint,           -- victims that were free buffers
    OUT skipped_pinned bigint,          -- inspected buffers that were in use
    OUT dirty_victims bigint,           -- victims that must be written before reuse
    OUT total_ms double precision)      -- time of all searches
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_sweep_cost'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 2 COST 10000;
COMMENT ON FUNCTION pgbufprobe_sweep_cost(integer, text) IS
'cost of finding victim buffers with the clock sweep: "current" and "worst" replay searches and change nothing; "live" runs the server''s own search, moves the clock hand, and requires superuser';

CREATE FUNCTION pgbufprobe_scan_cost(
    IN rounds integer DEFAULT 5,        -- number of scans to time for each method
    IN sample_fraction double precision DEFAULT 1,  -- share of the buffers to scan; below 1, times are scaled to the pool
    OUT method text,
    OUT models text,                    -- the server's operation that scans this way
    OUT avg_ms double precision,        -- one scan of all descriptors
    OUT min_ms double precision,
    OUT max_ms double precision,        -- often the first scan of a session
    OUT ms_per_gb double precision,
    OUT ns_per_buffer double precision,
    OUT buffers bigint,
    OUT matched bigint,                 -- buffers that matched; NULL: nothing to match, or only a part was scanned
    OUT rounds bigint)
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
    OUT bytes bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT fraction double precision,      -- share of all buffers in the result
    OUT buffers_error bigint,           -- the exact count differs by no more than this, with 95 % confidence
    OUT dirty_error bigint,
    OUT pinned_error bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_usagecount_histogram'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 7 COST 1000;
COMMENT ON FUNCTION pgbufprobe_usagecount_histogram(regclass, double precision) IS
'buffers at each usage count, in the whole pool or of one relation, counted or estimated from a sample; takes no locks, so buffers are not read at one instant';

CREATE FUNCTION pgbufprobe_relations(
    IN sample_fraction double precision DEFAULT 1,  -- share of the buffers to read; below 1, counts are estimates
    OUT database name,                  -- NULL: shared by all databases
    OUT tablespace name,
    OUT relfilenode oid,
    OUT fork text,
    OUT relation regclass,              -- NULL: belongs to another database
    OUT buffers bigint,
    OUT bytes bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT usagecount_avg double precision,
    OUT usagecounts bigint[],           -- buffers at usage count 0, 1, 2, ...
    OUT buffers_error bigint)           -- the exact count differs by no more than this, with 95 % confidence
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_relations'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 500 COST 10000;
COMMENT ON FUNCTION pgbufprobe_relations(double precision) IS
'shared buffers by relation and fork, of all databases, largest first; counted, or estimated from a sample';

CREATE FUNCTION pgbufprobe_clock(
    OUT taken_at timestamp with time zone,
    OUT buffers bigint,
    OUT hand bigint,                    -- the next buffer to inspect
    OUT passes bigint,                  -- passes that the hand has completed since server start
    OUT ticks bigint,                   -- passes * buffers + hand
    OUT allocations bigint)             -- as last published by the background writer
RETURNS record
AS 'MODULE_PATHNAME', 'pgbufprobe_clock'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pgbufprobe_clock() IS
'position of the clock hand, and how far it has moved since server start';

CREATE FUNCTION pgbufprobe_clock_rate(
    IN duration interval DEFAULT '5 s', -- how long to watch
    OUT seconds double precision,
    OUT ticks bigint,                   -- buffers that the hand passed
    OUT allocations bigint,             -- NULL: statistics were reset during this time
    OUT ticks_per_second double precision,
    OUT allocations_per_second double precision,
    OUT inspected_per_allocation double precision,  -- NULL: nothing was allocated
    OUT seconds_per_pass double precision)          -- NULL: the hand did not move
RETURNS record
AS 'MODULE_PATHNAME', 'pgbufprobe_clock_rate'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION pgbufprobe_clock_rate(interval) IS
'speed of the clock hand, measured over the given duration';

-- ---------------------------------------------------------------------------
-- Shared buffers and the page cache
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_os_cache(
    IN relation regclass,
    IN fork text DEFAULT 'main',
    IN method text DEFAULT 'auto',      -- auto, cachestat or mincore
    OUT segment integer,
    OUT path text,
    OUT bytes bigint,
    OUT os_pages bigint,
    OUT cached_pages bigint,            -- NULL here and below: unknown
    OUT cached_bytes bigint,
    OUT cached_fraction double precision,
    OUT dirty_pages bigint,
    OUT writeback_pages bigint,
    OUT evicted_pages bigint,
    OUT recently_evicted_pages bigint,
    OUT method text,                    -- method that was used
    OUT trustworthy boolean,            -- false: the kernel's answer would be wrong
    OUT elapsed_ms double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_os_cache'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10 COST 1000;
COMMENT ON FUNCTION pgbufprobe_os_cache(regclass, text, text) IS
'pages of a relation in the operating system''s page cache, one row per segment; counts are NULL, with a notice, if the kernel''s answer would be wrong';

CREATE FUNCTION pgbufprobe_residency(
    IN relation regclass DEFAULT NULL,  -- NULL: every relation of this database
    IN sample_fraction double precision DEFAULT 1,  -- share of the blocks to look up; below 1, counts are estimates
    OUT relation regclass,
    OUT fork text,
    OUT blocks bigint,                  -- NULL here and below: a file could not be opened
    OUT bytes bigint,
    OUT shared_blocks bigint,           -- blocks in shared buffers
    OUT os_blocks bigint,               -- blocks with all their pages in the page cache
    OUT both_blocks bigint,
    OUT both_bytes bigint,              -- memory used twice
    OUT neither_blocks bigint,
    OUT os_partial_blocks bigint,       -- blocks with some of their pages in the page cache
    OUT shared_dirty_blocks bigint,
    OUT method text,
    OUT trustworthy boolean,
    OUT shared_blocks_error bigint,     -- the exact count differs by no more than this, with 95 % confidence
    OUT os_blocks_error bigint,
    OUT both_blocks_error bigint,
    OUT neither_blocks_error bigint,
    OUT os_partial_blocks_error bigint,
    OUT shared_dirty_blocks_error bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_residency'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 1000 COST 10000;
COMMENT ON FUNCTION pgbufprobe_residency(regclass, double precision) IS
'blocks in shared buffers, in the page cache, in both and in neither, for one relation or all relations of this database; one row per relation and fork, most blocks in both first';

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
'cached blocks in each of several equal ranges of a relation';

CREATE VIEW pgbufprobe_double_buffering AS
SELECT pg_catalog.current_database() AS database,
       shared_bytes, os_bytes, both_bytes,
       shared_bytes + os_bytes - both_bytes AS distinct_bytes,
       CASE WHEN both_bytes = shared_bytes + os_bytes - both_bytes AND both_bytes > 0 THEN 1
            ELSE pg_catalog.trunc(both_bytes::numeric / nullif(shared_bytes + os_bytes - both_bytes, 0)::numeric, 4)
       END::double precision AS duplicate_fraction,     -- 1 means all, so round down
       trustworthy
FROM (SELECT CASE WHEN pg_catalog.count(*) = pg_catalog.count(shared_blocks)
                  THEN pg_catalog.sum(shared_blocks)::bigint * pg_catalog.current_setting('block_size')::bigint END AS shared_bytes,
             CASE WHEN pg_catalog.bool_and(trustworthy)
                  THEN pg_catalog.sum(os_blocks)::bigint * pg_catalog.current_setting('block_size')::bigint END AS os_bytes,
             CASE WHEN pg_catalog.bool_and(trustworthy)
                  THEN pg_catalog.sum(both_blocks)::bigint * pg_catalog.current_setting('block_size')::bigint END AS both_bytes,
             pg_catalog.bool_and(trustworthy) AS trustworthy
      FROM pgbufprobe_residency(NULL::regclass, 1::double precision)) AS total;
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
    OUT p50_us double precision,
    OUT p95_us double precision,
    OUT p99_us double precision,
    OUT max_us double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_read_cost'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 3 COST 1000000;
COMMENT ON FUNCTION pgbufprobe_read_cost(regclass, integer, text) IS
'cost of reading random blocks through the buffer manager, by the cache level that served them; reads each block at most once';

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
    relation regclass,
    fork text DEFAULT 'main')
RETURNS bytea
AS 'MODULE_PATHNAME', 'pgbufprobe_cache_map'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION pgbufprobe_cache_map(regclass, text) IS
'for each block of a relation, whether shared buffers hold it, with which usage count, and whether the page cache holds it; as one value';

CREATE FUNCTION pgbufprobe_cache_maps(
    OUT relation text,                  -- qualified name
    OUT fork text,
    OUT map bytea)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_cache_maps'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1000 COST 1000000;
COMMENT ON FUNCTION pgbufprobe_cache_maps() IS
'maps of all relations of this database of which a cache holds any block';

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

CREATE FUNCTION pgbufprobe_carry_over_progress(
    OUT phase text,
    OUT database name,                  -- whose pages are being read
    OUT blocks_done bigint,             -- of the restore after the start; NULL here and in the next three: there was none
    OUT blocks_remaining bigint,
    OUT mb_per_second double precision, -- on average
    OUT seconds_left double precision,
    OUT saved_at timestamp with time zone,  -- when the last save began; NULL: never
    OUT map_bytes bigint,               -- size of its file
    OUT save_ms double precision)       -- NULL: it was before the start
RETURNS record
AS 'MODULE_PATHNAME', 'pgbufprobe_carry_over_progress'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION pgbufprobe_carry_over_progress() IS
'what pgbufprobe.carry_over does now, how far the restore after the start is, and what was saved last; requires shared_preload_libraries';

-- ---------------------------------------------------------------------------
-- Snapshots and history
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_snapshot()
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pgbufprobe_snapshot'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION pgbufprobe_snapshot() IS
'state of the buffer pool as one value: usage counts, the clock hand, and the relations of this database with the most buffers';

CREATE FUNCTION pgbufprobe_snapshot_diff(
    IN before jsonb,
    IN after jsonb DEFAULT pgbufprobe_snapshot(),
    OUT usagecount integer,             -- NULL: unused buffers
    OUT from_buffers bigint,
    OUT to_buffers bigint,
    OUT buffers_change bigint,
    OUT from_dirty bigint,
    OUT to_dirty bigint,
    OUT dirty_change bigint,
    OUT seconds double precision,       -- between the snapshots; as below, the same in each row
    OUT ticks bigint,                   -- NULL here and below: the server was restarted in between
    OUT passes double precision,
    OUT allocations bigint)             -- NULL also if statistics were reset in between
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_snapshot_diff'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 7;
COMMENT ON FUNCTION pgbufprobe_snapshot_diff(jsonb, jsonb) IS
'changes between two snapshots: buffers and dirty buffers at each usage count, and how far the clock hand moved';

CREATE FUNCTION pgbufprobe_snapshot_diff_relations(
    IN before jsonb,
    IN after jsonb DEFAULT pgbufprobe_snapshot(),
    OUT relation text,                  -- name at that time; NULL: the sum of all others
    OUT fork text,
    OUT from_buffers bigint,            -- NULL: too few to be in that snapshot
    OUT to_buffers bigint,
    OUT buffers_change bigint,
    OUT from_dirty bigint,
    OUT to_dirty bigint,
    OUT dirty_change bigint,
    OUT from_usagecounts bigint[],      -- buffers at usage count 0, 1, 2, ...
    OUT to_usagecounts bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_snapshot_diff_relations'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 200;
COMMENT ON FUNCTION pgbufprobe_snapshot_diff_relations(jsonb, jsonb) IS
'changes between two snapshots of one database: buffers of each relation and fork, largest change first';

CREATE FUNCTION pgbufprobe_page_lifetime(
    IN watch interval DEFAULT '1 s',    -- how long to watch the hand if there is no history
    IN sample_fraction double precision DEFAULT 1,  -- share of the buffers to read; below 1, figures are estimates
    OUT database name,                  -- NULL: shared by all databases
    OUT tablespace name,
    OUT relfilenode oid,
    OUT fork text,
    OUT relation regclass,              -- NULL: belongs to another database
    OUT buffers bigint,
    OUT bytes bigint,
    OUT min_seconds double precision,   -- until the first page is evicted; NULL: the hand did not move
    OUT avg_seconds double precision,
    OUT max_seconds double precision,   -- until the last page is evicted
    OUT seconds_per_pass double precision,
    OUT watched_seconds double precision,   -- time over which the speed was measured
    OUT buffers_error bigint,           -- the exact count differs by no more than this, with 95 % confidence
    OUT avg_seconds_error double precision) -- NULL: unknown, because the sample has only one page
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_page_lifetime'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 500 COST 10000;
COMMENT ON FUNCTION pgbufprobe_page_lifetime(interval, double precision) IS
'how long the pages of each relation stay in shared buffers without being used, at the recent speed of the clock hand';

CREATE FUNCTION pgbufprobe_history(
    OUT taken_at timestamp with time zone,
    OUT seconds double precision,       -- since the previous sample; NULL: there is none
    OUT ticks bigint,                   -- as of pgbufprobe_clock()
    OUT allocations bigint,
    OUT ticks_per_second double precision,          -- since the previous sample, like all rates here
    OUT inspected_per_allocation double precision,  -- NULL: nothing was allocated
    OUT seconds_per_pass double precision,          -- NULL: the hand did not move
    OUT usagecounts bigint[],           -- buffers at usage count 0, 1, 2, ...
    OUT unused bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT sampled_buffers bigint,         -- buffers from which the counts are estimated; NULL: all were counted
    OUT buffers_error bigint,           -- each exact count differs by no more than this, with 95 % confidence
    OUT looks bigint,                   -- looks at the pool, from which the advice learns
    OUT sampler_cpu_ms double precision,
    OUT sampler_cpu_fraction double precision)      -- of one CPU
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_history'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1000 COST 1000;
COMMENT ON FUNCTION pgbufprobe_history() IS
'samples of the buffer pool that the background worker has taken, oldest first; requires shared_preload_libraries';

CREATE FUNCTION pgbufprobe_history_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'pgbufprobe_history_reset'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION pgbufprobe_history_reset() IS
'discards the samples of the background worker, and all that the advice has learned';

-- ---------------------------------------------------------------------------
-- Estimates for other sizes
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_advice(
    memory text DEFAULT 'fixed',        -- fixed: the page cache loses what the pool gains; added: it keeps its size
    OUT size_factor double precision,   -- multiple of today's shared_buffers
    OUT shared_buffers_bytes bigint,
    OUT os_cache_bytes bigint,          -- what remains for the page cache
    OUT fits text,                      -- yes, or the obstacle: machine, cgroup, huge pages
    OUT mark text,                      -- today, advised, knee (of the curve), all data (of the server), or NULL
    OUT estd_miss_ratio double precision,   -- reads per block access; NULL here and below: see note
    OUT miss_ratio_low double precision,    -- 95 % interval, here and below
    OUT miss_ratio_high double precision,
    OUT estd_storage_ratio double precision,    -- reads that wait for storage, per block access
    OUT storage_ratio_low double precision,
    OUT storage_ratio_high double precision,
    OUT estd_read_ms_per_second double precision,   -- time that sessions wait for reads
    OUT window_seconds double precision,    -- time that the advice remembers
    OUT reads_seen bigint,              -- in that time
    OUT sampled_loads bigint,           -- observed loads of sampled pages
    OUT self_error double precision,    -- observed loads relative to the server's count of reads: 0 is perfect
    OUT storage_self_error double precision,    -- storage reads today, simulated minus measured
    OUT missed_loads double precision,  -- share of loads that only checks of the whole pool found
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_advice'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 12 COST 100;
COMMENT ON FUNCTION pgbufprobe_advice(text) IS
'estimated misses and storage reads of the recent workload with other sizes of shared_buffers; requires shared_preload_libraries';

CREATE FUNCTION pgbufprobe_predictions(
    OUT made_at timestamp with time zone,
    OUT from_bytes bigint,              -- shared_buffers before the restart
    OUT to_bytes bigint,                -- and after it
    OUT estd_miss_ratio double precision,   -- as pgbufprobe_advice() said before; NULL: see note
    OUT miss_ratio_low double precision,    -- 95 % interval, here and below
    OUT miss_ratio_high double precision,
    OUT measured_miss_ratio double precision,   -- NULL: not yet, here and below
    OUT estd_storage_ratio double precision,    -- NULL: unknown at that time
    OUT storage_ratio_low double precision,
    OUT storage_ratio_high double precision,
    OUT measured_storage_ratio double precision,
    OUT measured_since timestamp with time zone,    -- when the pool was warm
    OUT reads_seen bigint,              -- since then, while the workload was as before
    OUT held boolean,                   -- NULL: undecided; see note
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_predictions'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10 COST 100;
COMMENT ON FUNCTION pgbufprobe_predictions() IS
'what was predicted before each restart with another size of shared_buffers, and whether it came true, newest first; requires shared_preload_libraries';

CREATE FUNCTION pgbufprobe_advice_relations(
    OUT database name,                  -- NULL: shared by all databases
    OUT tablespace name,
    OUT relfilenode oid,                -- NULL: all relations that have no row
    OUT fork text,
    OUT relation regclass,              -- NULL: of another database, or dropped
    OUT read_fraction double precision, -- of all reads
    OUT read_fraction_error double precision,   -- here and below: half the width of a 95 % interval
    OUT estd_loads bigint,              -- its pages that entered the pool in window_seconds of pgbufprobe_advice()
    OUT estd_reads_saved bigint,        -- at twice the size; NULL: see note
    OUT estd_reads_saved_error bigint,
    OUT estd_reads_added bigint,        -- at half the size
    OUT estd_reads_added_error bigint,
    OUT estd_storage_reads_saved bigint,        -- fewer reads that wait for storage, if memory is fixed
    OUT estd_storage_reads_saved_error bigint,  -- negative: more wait, since the page cache is smaller
    OUT estd_storage_reads_added bigint,
    OUT estd_storage_reads_added_error bigint,
    OUT working_set_bytes bigint,       -- of distinct pages used in the last 5 minutes
    OUT working_set_bytes_error bigint,
    OUT sampled_loads bigint,           -- observed loads of sampled pages
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_advice_relations'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 51 COST 1000;
COMMENT ON FUNCTION pgbufprobe_advice_relations() IS
'the 50 relations and forks with the most reads, and what twice and half the size of shared_buffers would change for each; requires shared_preload_libraries';

CREATE FUNCTION pgbufprobe_working_set(
    OUT minutes integer,                -- 1, 5, 15, 60
    OUT bytes bigint,                   -- of distinct pages used in the last minutes; NULL here and below: see note
    OUT bytes_error bigint,             -- half the width of a 95 % interval
    OUT hidden_bytes bigint,            -- of pages whose usage count is at the maximum, which hides uses
    OUT sampled_pages bigint,
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_working_set'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 4 COST 100;
COMMENT ON FUNCTION pgbufprobe_working_set() IS
'size of the pages that were used in the last 1, 5, 15 and 60 minutes; requires shared_preload_libraries';

-- ---------------------------------------------------------------------------
-- Checkup
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_checkup(
    OUT key text,                       -- identifies the question; never changes
    OUT question text,
    OUT answer text,                    -- in a sentence
    OUT value double precision,         -- the number behind the verdict; NULL: unknown
    OUT unit text,
    OUT verdict text,                   -- fine, look, act or unknown
    OUT action text,                    -- what to do; NULL: nothing
    OUT look_at text)                   -- the function that shows details
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_checkup'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 8 COST 100000;
COMMENT ON FUNCTION pgbufprobe_checkup() IS
'is my shared_buffers right? Common questions, each answered in a sentence';

-- ---------------------------------------------------------------------------
-- Privileges
-- ---------------------------------------------------------------------------

-- Most functions only read. They can take a while on a large server and show what other users keep in memory, so only
-- pg_monitor may call them. pgbufprobe_read_cost, pgbufprobe_os_advise and pgbufprobe_cache_restore change what is
-- cached for all users, and pgbufprobe_history_reset discards what others may need, so no role may call these by default.
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
GRANT EXECUTE ON FUNCTION pgbufprobe_clock() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_clock_rate(interval) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_os_cache(regclass, text, text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_residency(regclass, double precision) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_residency_map(regclass, integer, text) TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_double_buffering TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_cache_map(regclass, text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_cache_maps() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_diff(jsonb, jsonb) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_diff_relations(jsonb, jsonb) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_page_lifetime(interval, double precision) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_history() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_advice(text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_predictions() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_carry_over_progress() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_advice_relations() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_working_set() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_checkup() TO pg_monitor;
