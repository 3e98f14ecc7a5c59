-- Procedures for bench/readers, which write to bench.samples. Needs common.sql.

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
    ('residency_map(''bench.filler'')'),
    ('usagecount_histogram(NULL, 0.1)'),
    ('usagecount_histogram(NULL, 0.01)'),
    ('usagecount_histogram(NULL, 0.001)'),
    ('relations(0.1)'),
    ('relations(0.01)'),
    ('relations(0.001)'),
    ('residency(''bench.filler'', 0.1)'),
    ('residency(''bench.filler'', 0.01)'),
    ('residency(''bench.filler'', 0.001)');

-- Times the first scan in a backend, which has to map the descriptors.
CREATE PROCEDURE bench.first_histogram() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pgbufprobe_clock();     -- loads the library
    PERFORM bench.timed('SELECT 1');
    INSERT INTO bench.samples
    SELECT 'first in a session', bench.timed('SELECT * FROM pgbufprobe_usagecount_histogram()');
END $$;

CREATE PROCEDURE bench.readers(rounds integer) LANGUAGE plpgsql AS $$
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

CREATE VIEW bench.report AS
SELECT what AS call, round(ms::numeric, 2) AS ms, round((1e6 * ms / bench.pool())::numeric, 2) AS ns_per_buffer,
       round((ms / 1e3 * 2 ^ 27 / bench.pool())::numeric, 3) AS seconds_at_1tb
FROM bench.medians, jsonb_each_text(v) AS m(what, text_ms), CAST(text_ms AS double precision) AS ms
LEFT JOIN bench.calls c ON true
WHERE c.call = what OR (what = 'first in a session' AND c.ord = 1)
ORDER BY c.ord, what;
