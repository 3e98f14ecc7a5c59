-- Procedures for bench/peers, which write to bench.peer_samples. Needs common.sql.

DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pgfincore;
EXCEPTION WHEN undefined_file OR feature_not_supported THEN
    RAISE NOTICE 'pgfincore is not installed, so nothing is compared with it';
END $$;

CREATE TABLE bench.peer_samples (buffers integer, round integer, what text, ms double precision);
-- throughput of a second with calls, and the mean of the seconds before and after it
CREATE TABLE bench.throughput (call text, calls integer, without double precision, beside double precision);

-- The calls, and the function that each needs, which may not be installed.
CREATE TABLE bench.calls (ord serial, what text, command text, needs regproc);
INSERT INTO bench.calls (what, command, needs) VALUES
    ('histogram', 'SELECT * FROM pgbufprobe_usagecount_histogram()', to_regproc('pgbufprobe_usagecount_histogram')),
    ('relations', 'SELECT * FROM pgbufprobe_relations()', to_regproc('pgbufprobe_relations')),
    ('clock', 'SELECT * FROM pgbufprobe_clock()', to_regproc('pgbufprobe_clock')),
    ('sweep_cost', 'SELECT * FROM pgbufprobe_sweep_cost()', to_regproc('pgbufprobe_sweep_cost')),
    ('os_cache', 'SELECT * FROM pgbufprobe_os_cache(''bench.filler'')', to_regproc('pgbufprobe_os_cache')),
    ('os_cache, mincore', 'SELECT * FROM pgbufprobe_os_cache(''bench.filler'', method => ''mincore'')',
        to_regproc('pgbufprobe_os_cache')),
    ('residency', 'SELECT * FROM pgbufprobe_residency(''bench.filler'')', to_regproc('pgbufprobe_residency')),
    ('pg_buffercache rows', 'SELECT count(*) FROM pg_buffercache', to_regproc('pg_buffercache_pages')),
    ('pg_buffercache GROUP BY usagecount', 'SELECT usagecount, count(*) FROM pg_buffercache GROUP BY 1',
        to_regproc('pg_buffercache_pages')),
    ('pg_buffercache_summary', 'SELECT * FROM pg_buffercache_summary()', to_regproc('pg_buffercache_summary')),
    ('pg_buffercache_usage_counts', 'SELECT * FROM pg_buffercache_usage_counts()',
        to_regproc('pg_buffercache_usage_counts')),
    ('pgfincore', 'SELECT * FROM pgfincore(''bench.filler'')', (SELECT oid FROM pg_proc WHERE proname = 'pgfincore' LIMIT 1));

-- Empties the processor's caches, so that no call profits from the one before.
CREATE PROCEDURE bench.chill(megabytes integer DEFAULT 200) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM length(repeat(repeat('x', 1000000), megabytes));
END $$;

CREATE PROCEDURE bench.peers(rounds integer) LANGUAGE plpgsql AS $$
DECLARE
    call record;
BEGIN
    -- read the table sequentially into the page cache, then all of it into the pool
    PERFORM pgbufprobe_os_advise('bench.filler', 'dontneed');
    PERFORM pg_prewarm('bench.filler', 'read');
    FOR i IN 0 .. rounds LOOP
        IF i = 1 THEN   -- discard the first round, which fills the caches of this backend
            DELETE FROM bench.peer_samples WHERE buffers = bench.pool();
        END IF;
        CALL bench.chill();
        INSERT INTO bench.peer_samples
        SELECT bench.pool(), i, 'touching', min_ms FROM pgbufprobe_scan_cost(1) WHERE method = 'read';
        FOR call IN SELECT * FROM bench.calls WHERE needs IS NOT NULL LOOP
            CALL bench.chill();
            INSERT INTO bench.peer_samples SELECT bench.pool(), i, call.what, bench.timed(call.command);
        END LOOP;
    END LOOP;
END $$;

-- Rounds to three significant digits.
CREATE FUNCTION bench.short(figure double precision) RETURNS text IMMUTABLE LANGUAGE sql
RETURN CASE WHEN figure >= 100 THEN round(figure::numeric)::text
            WHEN figure >= 10 THEN round(figure::numeric, 1)::text
            WHEN figure >= 1 THEN round(figure::numeric, 2)::text
            ELSE round(figure::numeric, 3)::text END;

CREATE FUNCTION bench.cell(median double precision, low double precision, high double precision) RETURNS text
IMMUTABLE LANGUAGE sql
RETURN format('%s (%s to %s)', bench.short(median), bench.short(low), bench.short(high));

-- The lines of the tables of times, ratios and throughput.
CREATE VIEW bench.markdown AS
WITH pools AS (
    SELECT DISTINCT buffers FROM bench.peer_samples
), head AS (
    SELECT string_agg(pg_size_pretty(buffers * 8192::bigint), ' | ' ORDER BY buffers) AS sizes,
           string_agg('---:', ' | ') AS rule
    FROM pools
), medians AS (
    SELECT buffers, what, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS median, min(ms) AS least, max(ms) AS most
    FROM bench.peer_samples GROUP BY buffers, what
), times AS (
    SELECT what, coalesce(max(c.ord), 0) AS ord,
           string_agg(bench.cell(median, least, most), ' | ' ORDER BY buffers) AS cells,
           (array_agg(median ORDER BY buffers DESC))[1] / (array_agg(median ORDER BY buffers))[1]
               / (max(buffers)::float8 / min(buffers)) AS growth
    FROM medians LEFT JOIN bench.calls c USING (what) GROUP BY what
), compared(ord, slower, quicker) AS (
    VALUES (1, 'histogram', 'touching'),
           (2, 'pg_buffercache GROUP BY usagecount', 'histogram'),
           (3, 'pg_buffercache_usage_counts', 'histogram'),
           (4, 'pg_buffercache_summary', 'histogram'),
           (5, 'pg_buffercache rows', 'relations'),
           (6, 'pgfincore', 'os_cache'),
           (7, 'pgfincore', 'os_cache, mincore')
), rounds AS (
    SELECT c.ord, c.slower, c.quicker, s.buffers, s.ms / q.ms AS ratio
    FROM compared c
    JOIN bench.peer_samples s ON s.what = c.slower
    JOIN bench.peer_samples q ON q.what = c.quicker AND (q.buffers, q.round) = (s.buffers, s.round)
), ratios AS (
    SELECT ord, slower, quicker,
           string_agg(bench.cell(median, least, most), ' | ' ORDER BY buffers) AS cells
    FROM (SELECT ord, slower, quicker, buffers, percentile_cont(0.5) WITHIN GROUP (ORDER BY ratio) AS median,
                 min(ratio) AS least, max(ratio) AS most
          FROM rounds GROUP BY ord, slower, quicker, buffers) AS of_pool
    GROUP BY ord, slower, quicker
), losses AS (
    SELECT call, percentile_cont(0.5) WITHIN GROUP (ORDER BY without) AS without,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY beside) AS beside,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY loss) AS loss,
           percentile_cont(0.25) WITHIN GROUP (ORDER BY loss) AS least,
           percentile_cont(0.75) WITHIN GROUP (ORDER BY loss) AS most
    FROM (SELECT *, 100 * (1 - beside / without) / calls AS loss FROM bench.throughput) AS of_one_call
    GROUP BY call
)
SELECT 1 AS part, -1 AS ord, format(E'| ms, shared_buffers of | %s | growth / growth of the pool |\n|---|%s | ---: |', sizes, rule) AS line
FROM head
UNION ALL
SELECT 1, ord, format('| %s | %s | %s |', what, cells, bench.short(growth)) FROM times
UNION ALL
SELECT 2, -1, format(E'\n| ratio, shared_buffers of | %s |\n|---|%s |', sizes, rule) FROM head
UNION ALL
SELECT 2, ord, format('| %s / %s | %s |', slower, quicker, cells) FROM ratios
UNION ALL
SELECT 3, -1, format(E'\n| pgbench -S, 2 clients, 1 GB pool | tps in seconds without | with %s calls | loss of one call a second, median | middle half |\n|---|---:|---:|---:|---:|', max(calls))
FROM bench.throughput
UNION ALL
SELECT 3, row_number() OVER (ORDER BY call)::integer,
       format('| `%s` | %s | %s | %s %% | %s to %s %% |', call, round(without), round(beside), round(loss::numeric, 2),
              round(least::numeric, 2), round(most::numeric, 2))
FROM losses;
