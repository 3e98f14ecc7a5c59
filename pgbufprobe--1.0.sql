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
    OUT victims bigint,
    OUT avg_us double precision,        -- one search, without the cost of timing it
    OUT p50_us double precision,
    OUT p95_us double precision,
    OUT p99_us double precision,
    OUT max_us double precision,
    OUT inspected_per_victim double precision,
    OUT inspected_max bigint,           -- buffers inspected by the longest search
    OUT inspected bigint,               -- buffers inspected by all searches
    OUT ns_per_buffer double precision, -- cost of inspecting one buffer
    OUT ms_per_pass double precision,   -- the same for the whole pool
    OUT ms_per_gb double precision,     -- the same for 1 GB of shared buffers
    OUT from_freelist bigint,           -- victims that were free buffers
    OUT skipped_pinned bigint,          -- inspected buffers that were in use
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
    OUT models text,                    -- the server's operation that scans this way
    OUT avg_ms double precision,        -- one scan of all descriptors
    OUT min_ms double precision,
    OUT max_ms double precision,        -- often the first scan of a session
    OUT ms_per_gb double precision,
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
    OUT bytes bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT fraction double precision,      -- share of all buffers in the result
    OUT buffers_error bigint)           -- each exact count differs by no more than this, with 95 % confidence
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_usagecount_histogram'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 7 COST 1000;
COMMENT ON FUNCTION pgbufprobe_usagecount_histogram(regclass, double precision) IS
'buffers at each usage count, in the whole pool or of one relation, counted or estimated from a random subset; takes no locks, so buffers are not read at one instant';

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
'shared buffers by relation and fork, of all databases, largest first; counted, or estimated from a random subset';

CREATE FUNCTION pgbufprobe_clock(
    IN watch interval DEFAULT NULL,     -- how long to watch the hand; NULL: not at all
    OUT run text,                       -- identifies the run of the server; ticks of another run cannot be compared
    OUT buffers bigint,
    OUT hand bigint,                    -- the next buffer to inspect
    OUT passes bigint,                  -- passes that the hand has completed since server start
    OUT ticks bigint,                   -- passes * buffers + hand
    OUT allocations bigint,             -- as last published by the background writer
    OUT statistics_reset_at timestamp with time zone,   -- when allocations began to count; NULL: with the server
    OUT seconds double precision,       -- watched; NULL here and below: not at all
    OUT ticks_per_second double precision,          -- buffers that the hand passed
    OUT allocations_per_second double precision,    -- NULL: statistics were reset during this time
    OUT inspected_per_allocation double precision,  -- NULL: nothing was allocated
    OUT seconds_per_pass double precision)          -- NULL: the hand did not move
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
    OUT path text,
    OUT bytes bigint,
    OUT cached_bytes bigint,            -- NULL here and below: unknown
    OUT cached_fraction double precision,
    OUT dirty_pages bigint,
    OUT method text,                    -- method that was used
    OUT trustworthy boolean)            -- false: the kernel's answer would be wrong
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
    OUT shared_blocks bigint,           -- blocks in shared buffers
    OUT os_blocks bigint,               -- blocks with all their pages in the page cache
    OUT both_blocks bigint,
    OUT neither_blocks bigint,
    OUT os_partial_blocks bigint,       -- blocks with some of their pages in the page cache
    OUT shared_dirty_blocks bigint,
    OUT method text,
    OUT trustworthy boolean,
    OUT blocks_error bigint)            -- each exact count differs by no more than this, with 95 % confidence
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
'what pgbufprobe.carry_over does now, how far the restore after the start is, and what was saved last';

-- ---------------------------------------------------------------------------
-- Snapshots and history
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_snapshot()
RETURNS jsonb
LANGUAGE SQL VOLATILE STRICT PARALLEL SAFE COST 10000
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
     WHERE r.database = pg_catalog.current_database() OR r.tablespace = 'pg_global'::name
)
SELECT pg_catalog.jsonb_build_object(
           'format', 1, 'run', c.run, 'taken_at', pg_catalog.clock_timestamp(), 'shared_buffers', c.buffers,
           'hand', c.hand, 'passes', c.passes, 'ticks', c.ticks, 'allocations', c.allocations,
           'database', pg_catalog.current_database(),
           'usagecounts',
           (SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                       'usagecount', l.usagecount, 'buffers', l.buffers, 'dirty', l.dirty, 'pinned', l.pinned) ORDER BY l.usagecount)
              FROM levels AS l),
           'relations',
           (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                       'relation', h.name, 'oid', h.relation::oid::bigint, 'fork', h.fork, 'buffers', h.buffers, 'dirty', h.dirty,
                       'usagecounts', h.usagecounts) ORDER BY h.ordinality), '[]'::jsonb)
              FROM here AS h WHERE h.name IS NOT NULL),
           'other_relations',
           (SELECT pg_catalog.jsonb_build_object(
                       'forks', pg_catalog.count(*), 'buffers', coalesce(pg_catalog.sum(h.buffers), 0::numeric),
                       'dirty', coalesce(pg_catalog.sum(h.dirty), 0::numeric), 'usagecounts',
                       (SELECT pg_catalog.jsonb_agg((SELECT coalesce(pg_catalog.sum(o.usagecounts[l.usagecount + 1]), 0::numeric)
                                                       FROM here AS o WHERE o.name IS NULL) ORDER BY l.usagecount)
                          FROM levels AS l WHERE l.usagecount IS NOT NULL))
              FROM here AS h WHERE h.name IS NULL))
       || CASE WHEN c.statistics_reset_at IS NULL THEN '{}'::jsonb
               ELSE pg_catalog.jsonb_build_object('statistics_reset_at', c.statistics_reset_at) END
  FROM clock AS c;
END;
COMMENT ON FUNCTION pgbufprobe_snapshot() IS
'state of the buffer pool as one value: usage counts, the clock hand, and the relations of this database with the most buffers';

CREATE FUNCTION pgbufprobe_snapshot_ticks(
    before jsonb,
    after jsonb,
    of_relations boolean)               -- both must be of one database
RETURNS bigint                          -- NULL: the server was restarted in between
AS 'MODULE_PATHNAME', 'pgbufprobe_snapshot_ticks'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE;
COMMENT ON FUNCTION pgbufprobe_snapshot_ticks(jsonb, jsonb, boolean) IS
'how far the clock hand moved between two snapshots; raises an error unless both are complete and in this order';

CREATE FUNCTION pgbufprobe_snapshot_diff(
    IN before jsonb,
    IN after jsonb DEFAULT pgbufprobe_snapshot(),
    OUT usagecount integer,             -- NULL: unused buffers
    OUT from_buffers bigint,
    OUT to_buffers bigint,
    OUT from_dirty bigint,
    OUT to_dirty bigint,
    OUT seconds double precision,       -- between the snapshots; as below, the same in each row
    OUT passes double precision,        -- NULL here and below: the server was restarted in between
    OUT allocations bigint)             -- NULL also if statistics were reset in between
RETURNS SETOF record
LANGUAGE SQL VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 7
BEGIN ATOMIC
WITH checked AS MATERIALIZED (
    SELECT before AS a, after AS b, pgbufprobe_snapshot_ticks(before, after, false) AS ticks
)
SELECT l.usagecount, l.from_buffers, l.to_buffers, l.from_dirty, l.to_dirty,
       CASE WHEN b.taken_at >= a.taken_at
            THEN (EXTRACT(epoch FROM b.taken_at) - EXTRACT(epoch FROM a.taken_at))::double precision END,
       pg_catalog.round(c.ticks::numeric / b.shared_buffers::numeric, 6)::double precision,
       CASE WHEN c.ticks IS NOT NULL AND b.allocations >= a.allocations
                 AND b.statistics_reset_at IS NOT DISTINCT FROM a.statistics_reset_at
            THEN b.allocations - a.allocations END
  FROM checked AS c
 CROSS JOIN LATERAL pg_catalog.jsonb_to_record(c.a)
            AS a(taken_at timestamp with time zone, allocations bigint, statistics_reset_at timestamp with time zone)
 CROSS JOIN LATERAL pg_catalog.jsonb_to_record(c.b)
            AS b(taken_at timestamp with time zone, allocations bigint, statistics_reset_at timestamp with time zone, shared_buffers bigint)
 CROSS JOIN LATERAL ROWS FROM (
                pg_catalog.jsonb_to_recordset(c.a -> 'usagecounts'::text) AS (usagecount integer, buffers bigint, dirty bigint),
                pg_catalog.jsonb_to_recordset(c.b -> 'usagecounts'::text) AS (buffers bigint, dirty bigint))
            WITH ORDINALITY AS l(usagecount, from_buffers, from_dirty, to_buffers, to_dirty, place)
 ORDER BY l.place;
END;
COMMENT ON FUNCTION pgbufprobe_snapshot_diff(jsonb, jsonb) IS
'changes between two snapshots: buffers and dirty buffers at each usage count, and how far the clock hand moved';

CREATE FUNCTION pgbufprobe_snapshot_diff_relations(
    IN before jsonb,
    IN after jsonb DEFAULT pgbufprobe_snapshot(),
    OUT relation text,                  -- name at that time; NULL: the sum of all others
    OUT fork text,
    OUT from_buffers bigint,            -- NULL: too few to be in that snapshot
    OUT to_buffers bigint,
    OUT from_dirty bigint,
    OUT to_dirty bigint,
    OUT from_usagecounts bigint[],      -- buffers at usage count 0, 1, 2, ...
    OUT to_usagecounts bigint[])
RETURNS SETOF record
LANGUAGE SQL VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 200
BEGIN ATOMIC
WITH checked AS MATERIALIZED (
    SELECT before AS a, after AS b, pgbufprobe_snapshot_ticks(before, after, true) AS ticks
), a AS (
    SELECT r.* FROM checked AS c, pg_catalog.jsonb_to_recordset(c.a -> 'relations'::text)
        AS r(relation text, oid oid, fork text, buffers bigint, dirty bigint, usagecounts bigint[])
), b AS (
    SELECT r.* FROM checked AS c, pg_catalog.jsonb_to_recordset(c.b -> 'relations'::text)
        AS r(relation text, oid oid, fork text, buffers bigint, dirty bigint, usagecounts bigint[])
), others_a AS (
    SELECT o.* FROM checked AS c, pg_catalog.jsonb_to_record(c.a -> 'other_relations'::text)
        AS o(forks bigint, buffers bigint, dirty bigint, usagecounts bigint[])
), others_b AS (
    SELECT o.* FROM checked AS c, pg_catalog.jsonb_to_record(c.b -> 'other_relations'::text)
        AS o(forks bigint, buffers bigint, dirty bigint, usagecounts bigint[])
), changes AS (
    SELECT coalesce(b.oid, a.oid) AS oid, coalesce(b.relation, a.relation) AS relation, coalesce(b.fork, a.fork) AS fork,
           coalesce(a.buffers, none_a.buffers) AS from_buffers, coalesce(b.buffers, none_b.buffers) AS to_buffers,
           coalesce(a.dirty, none_a.dirty) AS from_dirty, coalesce(b.dirty, none_b.dirty) AS to_dirty,
           coalesce(a.usagecounts, none_a.usagecounts) AS from_usagecounts,
           coalesce(b.usagecounts, none_b.usagecounts) AS to_usagecounts
      FROM a FULL JOIN b ON b.oid = a.oid AND b.fork = a.fork
      -- a snapshot without others names all relations, so a relation that it does not name had no buffers, like the others
      LEFT JOIN others_a AS none_a ON none_a.forks = 0::bigint
      LEFT JOIN others_b AS none_b ON none_b.forks = 0::bigint
     UNION ALL
    SELECT NULL::oid, NULL::text, NULL::text, a.buffers, b.buffers, a.dirty, b.dirty, a.usagecounts, b.usagecounts
      FROM others_a AS a, others_b AS b WHERE a.forks > 0::bigint OR b.forks > 0::bigint
)
SELECT c.relation, c.fork, c.from_buffers, c.to_buffers, c.from_dirty, c.to_dirty, c.from_usagecounts, c.to_usagecounts
  FROM changes AS c
 -- a snapshot omits only the smallest relations, so an unknown count is ordered like 0
 ORDER BY c.relation IS NULL, pg_catalog.abs(coalesce(c.to_buffers, 0::bigint) - coalesce(c.from_buffers, 0::bigint)) DESC,
          c.oid, c.fork COLLATE pg_catalog."C";
END;
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
    OUT min_seconds double precision,   -- until the first page is evicted; NULL: the hand did not move
    OUT avg_seconds double precision,
    OUT max_seconds double precision,   -- until the last page is evicted
    OUT seconds_per_pass double precision,
    OUT watched_seconds double precision,   -- time over which the speed was measured
    OUT buffers_error bigint,           -- the exact count differs by no more than this, with 95 % confidence
    OUT avg_seconds_error double precision) -- NULL: unknown, because the subset has only one page
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_page_lifetime'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 500 COST 10000;
COMMENT ON FUNCTION pgbufprobe_page_lifetime(interval, double precision) IS
'how long the pages of each relation stay in shared buffers without being used, at the recent speed of the clock hand';

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
    OUT sampled_fraction double precision) -- of the pages, whose reads it follows; NULL: of none
RETURNS record
AS 'MODULE_PATHNAME', 'pgbufprobe_status'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 10;
COMMENT ON FUNCTION pgbufprobe_status() IS
'whether the sampler is running';

CREATE FUNCTION pgbufprobe_history(
    resolution text DEFAULT 'fine',     -- fine: an entry per pgbufprobe.history_interval; coarse: one per five minutes, for eight days
    OUT taken_at timestamp with time zone,
    OUT seconds double precision,       -- since the previous entry; NULL: there is none
    OUT ticks bigint,                   -- as of pgbufprobe_clock()
    OUT allocations bigint,
    OUT ticks_per_second double precision,          -- since the previous entry, like all rates here
    OUT inspected_per_allocation double precision,  -- NULL: nothing was allocated
    OUT seconds_per_pass double precision,          -- NULL: the hand did not move
    OUT usagecounts bigint[],           -- buffers at usage count 0, 1, 2, ...
    OUT unused bigint,
    OUT dirty bigint,
    OUT pinned bigint,
    OUT buffers_error bigint,           -- each exact count differs by no more than this, with 95 % confidence; 0: all were counted
    OUT looks bigint,                   -- looks at the pool, from which the advice learns
    OUT sampler_cpu_fraction double precision,      -- of one CPU
    OUT accesses bigint,                -- block accesses that the server has counted
    OUT miss_ratio double precision,    -- of these, reads; NULL: there were none
    OUT read_ms_per_second double precision,    -- time that sessions waited for reads; NULL: unknown
    OUT top_relations text[],           -- the five with the most reads; NULL: there were none
    OUT top_read_fractions double precision[],  -- their shares of the reads
    OUT age_seconds double precision)   -- also if the system clock was set since; NULL: from before the server started
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_history'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1000 COST 1000;
COMMENT ON FUNCTION pgbufprobe_history(text) IS
'history entries about the buffer pool that the background worker has written, oldest first; requires a running sampler';

CREATE FUNCTION pgbufprobe_hours(
    OUT hour timestamp with time zone,  -- when it began
    OUT seconds double precision,       -- of it, seen by the worker
    OUT in_decision boolean,            -- false: left out by pgbufprobe.decision_skip_hours
    OUT shared_buffers_bytes bigint,
    OUT accesses bigint,                -- block accesses that the server has counted
    OUT active_ms_per_second double precision,  -- time that sessions worked
    OUT read_ms_per_second double precision,    -- time that sessions waited for reads; NULL: unknown
    OUT miss_ratio double precision,
    OUT storage_ratio double precision, -- reads that waited for storage, per block access
    OUT best_bytes bigint,              -- size with the shortest waiting; today's unless another is certainly better; NULL: unknown
    OUT saved_ms_per_second double precision,   -- waiting that it would have saved
    OUT saved_ms_per_second_error double precision)
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
'discards the history of the background worker, and all that the advice has learned';

-- ---------------------------------------------------------------------------
-- Estimates for other sizes
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_advice(
    memory text DEFAULT 'fixed',        -- fixed: the page cache loses what the pool gains; added: it keeps its size
    OUT size_factor double precision,   -- multiple of today's shared_buffers
    OUT shared_buffers_bytes bigint,
    OUT os_cache_bytes bigint,          -- what remains for the page cache
    OUT fits text,                      -- yes, or the obstacle: machine, cgroup, huge pages, connections
    OUT mark text,                      -- today, advised, knee (of the curve), all data (of the server), or NULL
    OUT estd_miss_ratio double precision,   -- reads per block access; NULL here and below: see note
    OUT miss_ratio_low double precision,    -- 95 % interval, here and below
    OUT miss_ratio_high double precision,
    OUT estd_storage_ratio double precision,    -- reads that wait for storage, per block access
    OUT storage_ratio_low double precision,
    OUT storage_ratio_high double precision,
    OUT estd_read_ms_per_second double precision,   -- time that sessions wait for reads
    OUT read_ms_low double precision,
    OUT read_ms_high double precision,
    OUT estd_write_ratio double precision,  -- pages that are written, per block access
    OUT window_seconds double precision,    -- time that the advice remembers
    OUT reads_seen bigint,              -- in that time
    OUT self_error double precision,    -- observed loads relative to the server's count of reads: 0 is perfect
    OUT storage_self_error double precision,    -- storage reads today, simulated minus measured
    OUT missed_loads double precision,  -- share of loads that only checks of the whole pool found
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_advice'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 12 COST 100;
COMMENT ON FUNCTION pgbufprobe_advice(text) IS
'estimated misses and storage reads of the recent workload with other sizes of shared_buffers; requires a running sampler';

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
'what was predicted before each restart with another size of shared_buffers, and whether it came true, newest first; requires a running sampler';

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
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_advice_relations'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 51 COST 1000;
COMMENT ON FUNCTION pgbufprobe_advice_relations() IS
'the 50 relations and forks with the most reads, and what twice and half the size of shared_buffers would change for each; requires a running sampler';

CREATE FUNCTION pgbufprobe_working_set(
    OUT minutes integer,                -- 1, 5, 15, 60
    OUT bytes bigint,                   -- of distinct pages used in the last minutes; NULL here and below: see note
    OUT bytes_error bigint,             -- half the width of a 95 % interval
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_working_set'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 4 COST 100;
COMMENT ON FUNCTION pgbufprobe_working_set() IS
'size of the pages that were used in the last 1, 5, 15 and 60 minutes; requires a running sampler';

-- ---------------------------------------------------------------------------
-- Memory
-- ---------------------------------------------------------------------------

CREATE FUNCTION pgbufprobe_memory_plan(
    OUT consumer text,
    OUT today_bytes bigint,             -- NULL here and below: see note
    OUT most_bytes bigint,              -- what settings allow; of the page cache, what is left then
    OUT reserved_bytes bigint,          -- what a larger shared_buffers must leave for it, beyond today
    OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_memory_plan'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 13 COST 1000;
COMMENT ON FUNCTION pgbufprobe_memory_plan() IS
'who takes memory today, what each may take at most, and what pgbufprobe_advice() leaves for it';

CREATE FUNCTION pgbufprobe_memory(
    target text DEFAULT NULL,           -- 'storage 0.5 %', '50 ms/s', 'today', '-20 % time'; NULL: none
    OUT memory_factor double precision, -- both caches together, as a factor of today
    OUT memory_bytes bigint,            -- of the whole machine or container
    OUT shared_buffers_bytes bigint,    -- of the best split; NULL here and below: see note
    OUT os_cache_bytes bigint,
    OUT mark text,                      -- today, advised, knee, target, best
    OUT estd_miss_ratio double precision,
    OUT miss_ratio_low double precision,    -- 95 % intervals
    OUT miss_ratio_high double precision,
    OUT estd_storage_ratio double precision,
    OUT storage_ratio_low double precision,
    OUT storage_ratio_high double precision,
    OUT estd_read_ms_per_second double precision,
    OUT read_ms_low double precision,
    OUT read_ms_high double precision,
    OUT estd_work_ms_per_second double precision,
    OUT work_ms_low double precision,
    OUT work_ms_high double precision,
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
    OUT key text,                       -- identifies the question; never changes
    OUT question text,
    OUT answer text,                    -- in a sentence
    OUT value double precision,         -- the number behind the verdict; NULL: unknown
    OUT unit text,
    OUT verdict text,                   -- change (certain), consider (likely), fine or unknown
    OUT action text,                    -- what to do; NULL: nothing
    OUT look_at text)                   -- the function that shows details
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
    OUT read_ms_per_second double precision,            -- that all sessions wait for reads today
    OUT advised_read_ms_per_second double precision,    -- and with the advised size
    OUT saved_ms_per_second double precision,           -- NULL: today's size should be kept, or times are unknown
    OUT saved_ms_low double precision,                  -- its 95 % interval
    OUT saved_ms_high double precision,
    OUT work_ms_per_second double precision,            -- that sessions work; NULL: unknown
    OUT seen_seconds double precision,  -- of the hours that decide
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
       bytes,
       dirty * pg_catalog.current_setting('block_size')::bigint AS dirty_bytes,
       pinned * pg_catalog.current_setting('block_size')::bigint AS pinned_bytes
FROM pgbufprobe_usagecount_histogram(NULL::regclass,
    (SELECT CASE WHEN buffers > 2097152::bigint THEN 0.01::double precision ELSE 1::double precision END FROM pgbufprobe_clock(NULL::interval)));
COMMENT ON VIEW pgbufprobe_metrics_pool IS
'for collectors: buffers at each usage count';

CREATE VIEW pgbufprobe_metrics_clock AS
SELECT buffers * pg_catalog.current_setting('block_size')::bigint AS pool_size_bytes,
       ticks AS ticks_total,
       allocations AS allocations_total,
       passes AS passes_total
FROM pgbufprobe_clock(NULL::interval);
COMMENT ON VIEW pgbufprobe_metrics_clock IS
'for collectors: how far the clock hand has moved';

-- The worst case inspects the whole pool five times, so it is left out in a pool of more than 32 GB.
CREATE VIEW pgbufprobe_metrics_victim AS
SELECT scenario,
       p50_us / 1e6::double precision AS search_seconds,
       max_us / 1e6::double precision AS search_max_seconds,
       inspected_per_victim AS inspected,
       dirty_victims::double precision / victims::double precision AS dirty_ratio,
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
      FROM pgbufprobe_residency(NULL::regclass,
          (SELECT CASE WHEN pg_catalog.sum(relpages) > 131072::bigint
                       THEN 20000::double precision / pg_catalog.sum(relpages)::double precision
                       ELSE 1::double precision END
           FROM pg_catalog.pg_class))
      HAVING pg_catalog.bool_and(trustworthy) AND pg_catalog.count(shared_blocks) = pg_catalog.count(*)) AS total;
COMMENT ON VIEW pgbufprobe_metrics_caches IS
'for collectors: what shared buffers and the page cache hold of this database';

-- Only the current database has the names of its relations.
CREATE VIEW pgbufprobe_metrics_relation AS
SELECT datname, relation, fork,
       pg_catalog.sum(bytes)::bigint AS bytes,
       pg_catalog.sum(dirty)::bigint * pg_catalog.current_setting('block_size')::bigint AS dirty_bytes,
       pg_catalog.sum(bytes::double precision * usagecount_avg) / pg_catalog.sum(bytes)::double precision AS usagecount_avg
FROM (SELECT coalesce(r.database::text, '(shared)'::text) AS datname,
             coalesce((SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
                       FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                       WHERE c.oid = r.relation::oid), r.relfilenode::text) AS relation,
             r.fork, r.bytes, r.dirty, r.usagecount_avg
      FROM pgbufprobe_relations(
          (SELECT CASE WHEN buffers > 2097152::bigint THEN 0.01::double precision ELSE 1::double precision END FROM pgbufprobe_clock(NULL::interval))) AS r
      ORDER BY r.bytes DESC LIMIT 20) AS named
GROUP BY datname, relation, fork;
COMMENT ON VIEW pgbufprobe_metrics_relation IS
'for collectors: the 20 relations that have the most of the pool';

CREATE VIEW pgbufprobe_metrics_gain AS
SELECT datname, relation, fork,
       pg_catalog.sum(read_fraction) AS read_ratio,
       pg_catalog.sum(estd_reads_saved)::bigint AS reads_saved,
       pg_catalog.sum(estd_reads_added)::bigint AS reads_added,
       pg_catalog.sum(estd_storage_reads_saved)::bigint AS storage_reads_saved,
       pg_catalog.sum(working_set_bytes)::bigint AS working_set_bytes
FROM (SELECT coalesce(r.database::text, '(shared)'::text) AS datname,
             coalesce((SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
                       FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                       WHERE c.oid = r.relation::oid), r.relfilenode::text) AS relation,
             r.fork, r.read_fraction, r.estd_reads_saved, r.estd_reads_added, r.estd_storage_reads_saved, r.working_set_bytes
      FROM pgbufprobe_advice_relations() AS r
      WHERE r.relfilenode IS NOT NULL
      ORDER BY r.estd_reads_saved DESC NULLS LAST, r.read_fraction DESC NULLS LAST LIMIT 20) AS named
GROUP BY datname, relation, fork;
COMMENT ON VIEW pgbufprobe_metrics_gain IS
'for collectors: the 20 relations that another size of shared_buffers helps most';

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
       advised_read_ms_per_second / 1e3::double precision AS advised_read_seconds_per_second,
       saved_ms_per_second / 1e3::double precision AS saved_seconds_per_second,
       saved_ms_low / 1e3::double precision AS saved_seconds_per_second_low,
       saved_ms_high / 1e3::double precision AS saved_seconds_per_second_high,
       work_ms_per_second / 1e3::double precision AS work_seconds_per_second,
       seen_seconds
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
       estd_miss_ratio AS miss_ratio,
       miss_ratio_low,
       miss_ratio_high,
       estd_storage_ratio AS storage_ratio,
       storage_ratio_low,
       storage_ratio_high,
       estd_read_ms_per_second / 1e3::double precision AS read_seconds_per_second,
       read_ms_low / 1e3::double precision AS read_seconds_per_second_low,
       read_ms_high / 1e3::double precision AS read_seconds_per_second_high
FROM (SELECT size_factor, shared_buffers_bytes, os_cache_bytes, fits, mark,
             estd_miss_ratio, miss_ratio_low, miss_ratio_high,
             estd_storage_ratio, storage_ratio_low, storage_ratio_high,
             estd_read_ms_per_second, read_ms_low, read_ms_high,
             pg_catalog.count(estd_miss_ratio) OVER () > 0::bigint AS known
      FROM pgbufprobe_advice('fixed'::text)) AS sizes
CROSS JOIN (SELECT advised_bytes FROM pgbufprobe_verdict()) AS verdict
WHERE known AND mark IS DISTINCT FROM 'all data'::text;
COMMENT ON VIEW pgbufprobe_metrics_size IS
'for collectors: what other sizes of shared_buffers would read; no rows while nothing is known';

-- Collectors have labels of their own that are named target.
CREATE VIEW pgbufprobe_metrics_memory AS
SELECT t.goal, m.memory_bytes AS needed_bytes, m.shared_buffers_bytes, m.estd_work_ms_per_second / 1e3::double precision AS work_seconds_per_second
FROM (VALUES ('today'::text), ('-10 % time'::text), ('-20 % time'::text), ('storage 1 %'::text), ('storage 0.1 %'::text)) AS t (goal),
     LATERAL pgbufprobe_memory(t.goal) AS m
WHERE pg_catalog.right(m.mark, 6) = 'target'::text;
COMMENT ON VIEW pgbufprobe_metrics_memory IS
'for collectors: how much memory each target needs; no row for a target that is unknown or out of reach';

CREATE VIEW pgbufprobe_metrics_advice AS
SELECT window_seconds, reads_seen, self_error, storage_self_error, missed_loads AS missed_loads_ratio
FROM pgbufprobe_advice('fixed'::text)
WHERE reads_seen IS NOT NULL
LIMIT 1;
COMMENT ON VIEW pgbufprobe_metrics_advice IS
'for collectors: what the estimates for other sizes rest on';

CREATE VIEW pgbufprobe_metrics_working_set AS
SELECT minutes::text AS minutes, bytes, bytes_error
FROM pgbufprobe_working_set()
WHERE bytes IS NOT NULL;
COMMENT ON VIEW pgbufprobe_metrics_working_set IS
'for collectors: bytes of the pages used in the last minutes';

-- Samples from before the last restart are about another pool.
CREATE VIEW pgbufprobe_metrics_sampler AS
WITH worker AS MATERIALIZED (SELECT sampler, sampled_fraction FROM pgbufprobe_status())
SELECT CASE WHEN sampler <> 'stopped'::text THEN (sampler = 'running'::text)::integer END AS running,
       age_seconds AS sample_age_seconds,
       sampler_cpu_fraction AS cpu_ratio,
       sampled_fraction AS sampled_ratio,
       looks::double precision / seconds AS looks_per_second,
       looks::double precision / seconds * seconds_per_pass AS looks_per_pass,
       seconds_per_pass,
       inspected_per_allocation
FROM worker
LEFT JOIN (SELECT age_seconds, seconds, looks, sampler_cpu_fraction, seconds_per_pass, inspected_per_allocation
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
       p.estd_miss_ratio AS miss_ratio,
       p.measured_miss_ratio,
       p.estd_storage_ratio AS storage_ratio,
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
GRANT EXECUTE ON FUNCTION pgbufprobe_residency(regclass, double precision) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_residency_map(regclass, integer, text) TO pg_monitor;
GRANT SELECT ON TABLE pgbufprobe_double_buffering TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_cache_map(regclass, text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_cache_maps() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_ticks(jsonb, jsonb, boolean) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_diff(jsonb, jsonb) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_diff_relations(jsonb, jsonb) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_page_lifetime(interval, double precision) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_status() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_history(text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_hours() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_advice(text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_predictions() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_carry_over_progress() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_advice_relations() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_working_set() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_memory_plan() TO pg_monitor;
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
