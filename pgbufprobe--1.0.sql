/* pgbufprobe--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pgbufprobe" to load this file. \quit

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
    OUT allocations bigint,
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
SELECT current_database() AS database,
       shared_bytes, os_bytes, both_bytes,
       shared_bytes + os_bytes - both_bytes AS distinct_bytes,
       CASE WHEN both_bytes = shared_bytes + os_bytes - both_bytes AND both_bytes > 0 THEN 1
            ELSE trunc(both_bytes::numeric / nullif(shared_bytes + os_bytes - both_bytes, 0), 4)
       END::double precision AS duplicate_fraction,     -- 1 means all, so nothing is rounded up to it
       trustworthy
FROM (SELECT sum(shared_blocks)::bigint * current_setting('block_size')::bigint AS shared_bytes,
             CASE WHEN bool_and(trustworthy)
                  THEN sum(os_blocks)::bigint * current_setting('block_size')::bigint END AS os_bytes,
             CASE WHEN bool_and(trustworthy)
                  THEN sum(both_blocks)::bigint * current_setting('block_size')::bigint END AS both_bytes,
             bool_and(trustworthy) AS trustworthy
      FROM pgbufprobe_residency()) AS total;
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
