-- Procedures for bench/probes, which write to bench.samples. Needs common.sql.

CREATE FUNCTION bench.touch() RETURNS double precision LANGUAGE sql
RETURN (SELECT min_ms FROM pgbufprobe_scan_cost(1) WHERE method = 'read');

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
            ('passes', live.inspected::float8 / bench.pool()),
            ('replay_ns', 1e6 * replay.ms_per_pass / bench.pool()), ('live_ns', 1e6 * live.ms_per_pass / bench.pool()),
            ('miscounted', abs(replay.inspected - live.inspected) + abs(replay.dirty_victims - live.dirty_victims));
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

CREATE TABLE bench.calls (ord serial, call text);
INSERT INTO bench.calls (call) VALUES
    ('usagecount_histogram()'),
    ('usagecount_histogram(''pg_class'')'),
    ('usagecount_histogram(''bench.filler'')'),
    ('relations()'),
    ('snapshot()'),
    ('sweep_cost(1000, ''current'')'),
    ('sweep_cost(1000, ''worst'')'),
    ('scan_cost(1)'),
    ('scan_cost(1, 0.01)'),
    ('residency(''pg_class'')'),
    ('residency(''bench.filler'')'),
    ('usagecount_histogram(NULL, 0.1)'),
    ('usagecount_histogram(NULL, 0.01)'),
    ('relations(0.1)'),
    ('relations(0.01)'),
    ('residency(''bench.filler'', sample_fraction => 0.01)'),
    ('residency(''bench.filler'', sample_fraction => 0.001)');

CREATE PROCEDURE bench.calls(rounds integer) LANGUAGE plpgsql AS $$
DECLARE
    call text;
BEGIN
    FOR i IN 0 .. rounds LOOP
        FOR call IN SELECT c.call FROM bench.calls c ORDER BY ord LOOP
            IF i = 0 THEN   -- fills the caches of this backend
                PERFORM bench.timed('SELECT count(*) FROM pgbufprobe_' || call);
            ELSE
                INSERT INTO bench.samples VALUES (call, bench.timed('SELECT count(*) FROM pgbufprobe_' || call));
            END IF;
        END LOOP;
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
            INSERT INTO bench.samples SELECT method || suffix, min_ms FROM pgbufprobe_scan_cost(1);
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
        (10, 'drop: DROP TABLE of an empty table', (v->>'drop')::float8, 'ms', NULL),
        (11, 'drop: the same with 16 MB', (v->>'drop_small')::float8, 'ms', NULL),
        (12, 'drop: match', (v->>'match')::float8, 'ms', NULL),
        (13, 'drop: match / what the larger pool adds to the drop',
            (v->>'match')::float8 / ((v->>'drop')::float8 - (v->>'drop_small')::float8), 'ratio', '0.8 to 1.2'),
        (14, 'checkpoint: lock', (v->>'lock')::float8, 'ms', NULL)
    ) AS f(ord, figure, value, unit, target)
)
SELECT figure, round(value::numeric, 3) AS median, unit, target
FROM figures WHERE value IS NOT NULL ORDER BY ord;

CREATE VIEW bench.call_report AS
SELECT call, round(ms::numeric, 2) AS ms, round((1e6 * ms / bench.pool())::numeric, 2) AS "ns per buffer"
FROM bench.calls, bench.medians, LATERAL (SELECT (v->>call)::float8 AS ms) AS measured
ORDER BY ord;
