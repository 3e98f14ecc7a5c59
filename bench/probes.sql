-- Procedures for bench/probes, which write to bench.samples. Needs common.sql.

CREATE FUNCTION bench.touch() RETURNS double precision LANGUAGE sql
RETURN (SELECT avg_ms FROM pgbufprobe_scan_cost(1) WHERE method = 'read');

-- Times full passes of the clock hand over buffers that are all in use: replayed, then live.
CREATE PROCEDURE bench.sweeps(rounds integer) LANGUAGE plpgsql AS $$
DECLARE
    victims integer := greatest(bench.pool() / 25, 100);
    replay record;
    live record;
BEGIN
    PERFORM pgbufprobe_sweep_cost(1), pgbufprobe_sweep_cost(1, 'live');
    FOR i IN 1 .. rounds LOOP
        FOR touch IN 1 .. 6 LOOP
            PERFORM pg_prewarm('bench.filler', last_block => (bench.pool() * 0.98)::integer);
        END LOOP;
        SELECT * INTO replay FROM pgbufprobe_sweep_cost(victims, 'current');
        SELECT * INTO live FROM pgbufprobe_sweep_cost(victims, 'live');
        INSERT INTO bench.samples VALUES
            ('passes', live.passes),
            ('replay_ns', replay.ns_per_buffer), ('live_ns', live.ns_per_buffer),
            ('miscounted', abs(replay.inspected - live.inspected) +
                abs(replay.skipped_pinned - live.skipped_pinned) +
                abs(replay.dirty_victims - live.dirty_victims));
    END LOOP;
END $$;

-- Times the first scan in a backend, which has to map the descriptors.
CREATE PROCEDURE bench.first_histogram() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pgbufprobe_clock();     -- loads the library
    PERFORM bench.timed('SELECT 1');
    INSERT INTO bench.samples
    SELECT 'histogram_first', bench.timed('SELECT * FROM pgbufprobe_usagecount_histogram()');
END $$;

CREATE PROCEDURE bench.histograms(rounds integer) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM bench.touch(), pgbufprobe_usagecount_histogram();
    FOR i IN 1 .. rounds LOOP
        INSERT INTO bench.samples VALUES
            ('touch', bench.touch()),
            ('histogram', bench.timed('SELECT * FROM pgbufprobe_usagecount_histogram()'));
    END LOOP;
END $$;

CREATE PROCEDURE bench.peers(rounds integer) LANGUAGE plpgsql AS $$
DECLARE
    has_usage_counts boolean := to_regproc('pg_buffercache_usage_counts') IS NOT NULL;
BEGIN
    FOR i IN 1 .. rounds LOOP
        INSERT INTO bench.samples VALUES
            ('group_by', bench.timed('SELECT usagecount, count(*) FROM pg_buffercache GROUP BY 1'));
        IF has_usage_counts THEN
            INSERT INTO bench.samples VALUES
                ('usage_counts', bench.timed('SELECT * FROM pg_buffercache_usage_counts()'));
        END IF;
    END LOOP;
END $$;

-- Times DROP TABLE, which searches the pool at commit, in turns with a scan that does the same. A drop is short, so
-- there are many.
CREATE PROCEDURE bench.drops(suffix text, rounds integer) LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz;
    took double precision;
BEGIN
    FOR i IN -2 .. rounds * 5 LOOP
        CREATE TABLE bench.empty (i integer);
        COMMIT;
        start := clock_timestamp();
        DROP TABLE bench.empty;
        COMMIT;
        took := 1000 * extract(epoch FROM clock_timestamp() - start);
        IF i > 0 THEN   -- discard the first ones, which fill the caches of this backend
            INSERT INTO bench.samples VALUES ('drop' || suffix, took);
            INSERT INTO bench.samples SELECT method || suffix, avg_ms FROM pgbufprobe_scan_cost(1);
        END IF;
    END LOOP;
END $$;

CREATE VIEW bench.report AS
WITH figures(ord, figure, value, unit, target) AS (
    SELECT f.* FROM bench.medians, LATERAL (VALUES
        (1, 'sweep: difference between buffers inspected by replay and live', (v->>'miscounted')::float8, 'buffers', '0'),
        (2, 'sweep: passes of the clock hand in one run', (v->>'passes')::float8, 'passes', NULL),
        (3, 'sweep: replay', (v->>'replay_ns')::float8, 'ns/buffer', NULL),
        (4, 'sweep: live', (v->>'live_ns')::float8, 'ns/buffer', NULL),
        (5, 'sweep: replay / live', (v->>'replay_ns')::float8 / (v->>'live_ns')::float8, 'ratio', '0.9 to 1.1'),
        (6, 'histogram: touching every descriptor', (v->>'touch')::float8, 'ms', NULL),
        (7, 'histogram: warm', (v->>'histogram')::float8, 'ms', NULL),
        (8, 'histogram: first in a backend', (v->>'histogram_first')::float8, 'ms', NULL),
        (9, 'histogram: warm / touching', (v->>'histogram')::float8 / (v->>'touch')::float8, 'ratio', 'at most 1.2'),
        (10, 'histogram: GROUP BY pg_buffercache / warm', (v->>'group_by')::float8 / (v->>'histogram')::float8, 'ratio', 'at least 50'),
        (11, 'histogram: pg_buffercache_usage_counts() / warm', (v->>'usage_counts')::float8 / (v->>'histogram')::float8, 'ratio', 'more than 1'),
        (12, 'drop: DROP TABLE of an empty table', (v->>'drop')::float8, 'ms', NULL),
        (13, 'drop: the same with 16 MB', (v->>'drop_small')::float8, 'ms', NULL),
        (14, 'drop: match', (v->>'match')::float8, 'ms', NULL),
        (15, 'drop: match / what the larger pool adds to the drop',
            (v->>'match')::float8 / ((v->>'drop')::float8 - (v->>'drop_small')::float8), 'ratio', '0.8 to 1.2'),
        (16, 'checkpoint: lock', (v->>'lock')::float8, 'ms', NULL)
    ) AS f(ord, figure, value, unit, target)
)
SELECT figure, round(value::numeric, 3) AS median, unit, target
FROM figures WHERE value IS NOT NULL ORDER BY ord;
