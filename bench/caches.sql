-- Procedures for bench/caches, which write to bench.samples. Needs common.sql.

-- pgfincore, if it is installed.
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pgfincore;
EXCEPTION WHEN undefined_file OR feature_not_supported THEN
    RAISE NOTICE 'pgfincore is not installed, so nothing is compared with it';
END $$;

CREATE FUNCTION bench.has_pgfincore() RETURNS boolean STABLE LANGUAGE sql
RETURN EXISTS (SELECT FROM pg_extension WHERE extname = 'pgfincore');

-- Drops the table from the page cache and reads it sequentially, so that the kernel keeps it in large folios.
CREATE PROCEDURE bench.warm() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pgbufprobe_os_advise('bench.filler', 'dontneed');
    PERFORM pg_prewarm('bench.filler', 'read');
END $$;

CREATE PROCEDURE bench.fill_pool() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_prewarm('bench.filler');
END $$;

-- Times both methods of os_cache, and pgfincore.
CREATE PROCEDURE bench.summaries(state text, rounds integer) LANGUAGE plpgsql AS $$
DECLARE
    ask text := 'SELECT * FROM pgbufprobe_os_cache(''bench.filler'', method => %L)';
BEGIN
    FOR i IN 0 .. rounds LOOP
        INSERT INTO bench.samples
        SELECT 'auto' || state, bench.timed(format(ask, 'auto'))
        UNION ALL SELECT 'mincore' || state, bench.timed(format(ask, 'mincore'));
        IF bench.has_pgfincore() THEN
            INSERT INTO bench.samples
            SELECT 'pgfincore' || state, bench.timed('SELECT * FROM pgfincore(''bench.filler'')');
        END IF;
        IF i = 0 THEN   -- discard the first round, which fills the caches of this backend
            DELETE FROM bench.samples WHERE what IN ('auto' || state, 'mincore' || state, 'pgfincore' || state);
        END IF;
    END LOOP;
    INSERT INTO bench.samples
    SELECT 'fraction' || state, sum(cached_bytes) / sum(bytes) FROM pgbufprobe_os_cache('bench.filler');
    IF bench.has_pgfincore() THEN
        EXECUTE $q$
            INSERT INTO bench.samples
            SELECT 'miscounted', abs(sum(pages_mem) - (SELECT sum(cached_bytes) FROM pgbufprobe_os_cache('bench.filler')) / max(os_page_size))
            FROM pgfincore('bench.filler') $q$;
    END IF;
END $$;

CREATE PROCEDURE bench.residencies(rounds integer) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pgbufprobe_residency('bench.filler');
    FOR i IN 1 .. rounds LOOP
        INSERT INTO bench.samples VALUES
            ('residency', bench.timed('SELECT * FROM pgbufprobe_residency(''bench.filler'')')),
            ('database', bench.timed('SELECT * FROM pgbufprobe_residency()')),
            ('double_buffering', bench.timed('SELECT * FROM pgbufprobe_double_buffering'));
    END LOOP;
END $$;

CREATE PROCEDURE bench.residencies_scattered(rounds integer) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. rounds LOOP
        INSERT INTO bench.samples VALUES
            ('residency_scattered', bench.timed('SELECT * FROM pgbufprobe_residency(''bench.filler'')'));
    END LOOP;
END $$;

-- Compares residency() with a join in SQL that lists the blocks in each cache.
CREATE PROCEDURE bench.joined() LANGUAGE plpgsql AS $$
DECLARE
    joined text := $q$
        SELECT os.block, os.cached AS os, b.relblocknumber IS NOT NULL AS shared
        FROM (SELECT segment * 131072::bigint + (n - 1) / 2 AS block, bool_and(bit = '1') AS cached
              FROM pgfincore('bench.filler', true) AS f,
                   unnest(string_to_array(f.databit::text, NULL)) WITH ORDINALITY AS u(bit, n)
              GROUP BY 1) AS os
        LEFT JOIN pg_buffercache AS b
               ON b.relfilenode = pg_relation_filenode('bench.filler') AND b.relforknumber = 0
              AND b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND b.relblocknumber = os.block $q$;
    unlike bigint;
BEGIN
    IF NOT bench.has_pgfincore() THEN
        RETURN;
    END IF;
    SET LOCAL work_mem = '1GB';
    -- repeat, because the first run reads catalog pages into the pool
    FOR i IN 1 .. 2 LOOP
        EXECUTE format('SELECT count(*) FROM (%s) AS j
            FULL JOIN (SELECT * FROM pgbufprobe_residency(''bench.filler'', 1000000) WHERE fork = ''main'') AS m ON m.first_block = j.block
            WHERE m.blocks <> 1 OR j.block IS NULL OR m.first_block IS NULL
               OR (m.shared_blocks = 1) <> j.shared OR (m.os_blocks = 1) <> j.os
               OR (m.both_blocks = 1) <> (j.shared AND j.os)', joined) INTO unlike;
    END LOOP;
    INSERT INTO bench.samples VALUES
        ('unlike_join', unlike),
        ('join', bench.timed('SELECT count(*) FILTER (WHERE shared AND os), count(*) FILTER (WHERE shared), '
            'count(*) FILTER (WHERE os), count(*) FROM (' || joined || ') AS j'));
END $$;

-- Reads half of the blocks at random into the page cache, and not into the pool.
CREATE PROCEDURE bench.scatter() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pgbufprobe_os_advise('bench.filler', 'dontneed');
    PERFORM pg_prewarm('bench.filler', 'read', 'main', block, block)
    FROM (SELECT block FROM generate_series(0, pg_relation_size('bench.filler') / 8192 - 1) AS block
          WHERE hashint8(block) % 2 = 0 ORDER BY hashint8extended(block, 1)) AS scattered;
END $$;

-- Times reads of three tables: one in the pool, one in the page cache alone, and one in neither.
CREATE PROCEDURE bench.reads() LANGUAGE plpgsql AS $$
DECLARE
    tier text;
BEGIN
    FOREACH tier IN ARRAY ARRAY['shared_buffers', 'os_cache', 'storage'] LOOP
        EXECUTE format('CREATE TABLE bench.%I AS SELECT * FROM bench.filler LIMIT 3000', tier);
    END LOOP;
    COMMIT;
    CHECKPOINT;
    -- evict all three from the pool by reading the large table
    PERFORM pg_prewarm('bench.filler');
    PERFORM pgbufprobe_os_advise('bench.storage', 'dontneed');
    PERFORM pg_prewarm('bench.os_cache', 'read');
    PERFORM pg_prewarm('bench.shared_buffers');
    FOREACH tier IN ARRAY ARRAY['shared_buffers', 'os_cache', 'storage'] LOOP
        EXECUTE format('INSERT INTO bench.samples
            SELECT ''read_'' || tier, avg_us FROM pgbufprobe_read_cost(''bench.%I'') WHERE tier = %L', tier, tier);
    END LOOP;
END $$;

CREATE VIEW bench.report AS
WITH figures(ord, figure, value, unit, target) AS (
    SELECT f.* FROM bench.medians, LATERAL (VALUES
        (1, 'summary: share of the table in the page cache', (v->>'fraction')::float8, 'fraction', NULL),
        (2, 'summary: auto', (v->>'auto')::float8, 'ms', NULL),
        (3, 'summary: mincore', (v->>'mincore')::float8, 'ms', NULL),
        (4, 'summary: pgfincore', (v->>'pgfincore')::float8, 'ms', NULL),
        (5, 'summary: pgfincore / auto', (v->>'pgfincore')::float8 / (v->>'auto')::float8, 'ratio', 'at least 100'),
        (6, 'summary: pgfincore / mincore', (v->>'pgfincore')::float8 / (v->>'mincore')::float8, 'ratio', 'at least 1'),
        (7, 'summary: pages counted unlike pgfincore', (v->>'miscounted')::float8, 'pages', '0'),
        (8, 'scattered: share of the table in the page cache', (v->>'fraction_scattered')::float8, 'fraction', NULL),
        (9, 'scattered: auto', (v->>'auto_scattered')::float8, 'ms', NULL),
        (10, 'scattered: pgfincore / auto', (v->>'pgfincore_scattered')::float8 / (v->>'auto_scattered')::float8, 'ratio', NULL),
        (11, 'residency: of the table', (v->>'residency')::float8, 'ms', NULL),
        (12, 'residency: of the whole database', (v->>'database')::float8, 'ms', NULL),
        (13, 'residency: pgbufprobe_double_buffering', (v->>'double_buffering')::float8, 'ms', NULL),
        (14, 'residency: of the table, scattered', (v->>'residency_scattered')::float8, 'ms', NULL),
        (15, 'residency: the SQL join', (v->>'join')::float8, 'ms', NULL),
        (16, 'residency: the SQL join / of the table', (v->>'join')::float8 / (v->>'residency')::float8, 'ratio', 'at least 10'),
        (17, 'residency: the SQL join / of the table, scattered',
            (v->>'join')::float8 / (v->>'residency_scattered')::float8, 'ratio', NULL),
        (18, 'residency: blocks unlike the join', (v->>'unlike_join')::float8, 'blocks', '0'),
        (19, 'read: from shared buffers', (v->>'read_shared_buffers')::float8, 'us', NULL),
        (20, 'read: from the page cache', (v->>'read_os_cache')::float8, 'us', NULL),
        (21, 'read: from storage', (v->>'read_storage')::float8, 'us', NULL)
    ) AS f(ord, figure, value, unit, target)
)
SELECT figure, round(value::numeric, 3) AS median, unit, target
FROM figures WHERE value IS NOT NULL ORDER BY ord;
