/* pgbufprobe--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pgbufprobe" to load this file. \quit

-- Bodies and the view are resolved now, with the schema that all this goes into in the path, where others may have
-- put theirs: who matches exactly wins. So functions are pg_catalog's by name, operands have the types of its
-- operators, and our own functions get all of their arguments. t/010_install_hijack.pl looks after that.

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
    OUT blocks bigint,                  -- NULL here and below: a file could not be opened
    OUT bytes bigint,
    OUT shared_blocks bigint,           -- all that are in shared buffers
    OUT os_blocks bigint,               -- all that are in the page cache, with all their pages
    OUT both_blocks bigint,
    OUT both_bytes bigint,              -- memory used twice
    OUT neither_blocks bigint,
    OUT os_partial_blocks bigint,       -- in the page cache with some of their pages
    OUT shared_dirty_blocks bigint,
    OUT method text,
    OUT trustworthy boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_residency'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 1000 COST 10000;
COMMENT ON FUNCTION pgbufprobe_residency(regclass) IS
'blocks of a relation, or of every relation of this database, in shared buffers, in the page cache, in both, in neither: one row for each relation and fork, those with most blocks in both first';

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
FROM (SELECT CASE WHEN pg_catalog.count(*) = pg_catalog.count(shared_blocks)
                  THEN pg_catalog.sum(shared_blocks)::bigint * pg_catalog.current_setting('block_size')::bigint END AS shared_bytes,
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

CREATE FUNCTION pgbufprobe_snapshot()
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pgbufprobe_snapshot'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION pgbufprobe_snapshot() IS
'the state of the buffer pool as one value: usage counts, the clock hand, and the relations of this database with the most buffers';

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
    OUT seconds double precision,       -- between the two, as all that follows; the same in each row
    OUT ticks bigint,                   -- NULL here and below: the server was restarted between them
    OUT passes double precision,
    OUT allocations bigint)             -- NULL also if the statistics were reset between them
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_snapshot_diff'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE ROWS 7;
COMMENT ON FUNCTION pgbufprobe_snapshot_diff(jsonb, jsonb) IS
'what changed between two snapshots: buffers and dirty buffers at each usage count, and how far the clock hand moved';

CREATE FUNCTION pgbufprobe_snapshot_diff_relations(
    IN before jsonb,
    IN after jsonb DEFAULT pgbufprobe_snapshot(),
    OUT relation text,                  -- as it was named then; NULL: all others, as a sum
    OUT fork text,
    OUT from_buffers bigint,            -- NULL: too few for that snapshot to name the relation
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
'what changed between two snapshots of one database: buffers of each relation and fork, largest change first';

CREATE FUNCTION pgbufprobe_page_lifetime(
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
AS 'MODULE_PATHNAME', 'pgbufprobe_page_lifetime'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 500 COST 10000;
COMMENT ON FUNCTION pgbufprobe_page_lifetime(interval) IS
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

CREATE FUNCTION pgbufprobe_checkup(
    OUT key text,                       -- names the question for programs; never changes
    OUT question text,
    OUT answer text,                    -- a sentence with its figures
    OUT value double precision,         -- the figure that the verdict is about; NULL: unknown
    OUT unit text,
    OUT verdict text,                   -- fine, look, act or unknown
    OUT action text,                    -- what to do; NULL: nothing
    OUT look_at text)                   -- the call that shows more
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pgbufprobe_checkup'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 8 COST 100000;
COMMENT ON FUNCTION pgbufprobe_checkup() IS
'is my shared_buffers right? The questions that people ask of it, each answered in a sentence';

-- ---------------------------------------------------------------------------
-- Privileges
-- ---------------------------------------------------------------------------

-- Readers read every buffer descriptor or ask for every page of a file, which takes time where there are many, and show
-- what others keep in memory: not for everyone. Movers (pgbufprobe_read_cost, pgbufprobe_os_advise) change what is cached
-- for everybody, and pgbufprobe_history_reset takes from others what they may want to see: for nobody by default.
--
-- Default privileges may have granted all of this to anybody, or kept it from its owner, so begin with nothing.
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

-- Readers. The scenario "live" checks for a superuser by itself.
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
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_diff(jsonb, jsonb) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_snapshot_diff_relations(jsonb, jsonb) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_page_lifetime(interval) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_history() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_advice() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pgbufprobe_checkup() TO pg_monitor;
