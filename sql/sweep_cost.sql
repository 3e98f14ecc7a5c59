-- What a search for a victim costs.
CREATE EXTENSION pgbufprobe;

-- without a scenario, the two that change nothing
SELECT scenario FROM pgbufprobe_sweep_cost();
SELECT scenario FROM pgbufprobe_sweep_cost(7);
SELECT scenario FROM pgbufprobe_sweep_cost(7, 'live');

-- the figures of one row belong together
CREATE TEMP VIEW incoherent AS
SELECT v.n, c.*
FROM (SELECT setting::bigint AS buffers FROM pg_settings WHERE name = 'shared_buffers') s,
     (VALUES (1, 'current'), (1000, 'current'), (1, 'worst'), (1000, 'worst'), (1000, 'live')) v(n, name),
     LATERAL pgbufprobe_sweep_cost(v.n, v.name) c
WHERE c.scenario <> v.name
   OR NOT (c.p99_us <= c.max_us AND c.avg_us <= c.max_us)
   OR c.inspected < v.n - c.from_freelist
   OR c.dirty_victims > v.n
   OR c.from_freelist > v.n
   OR (c.inspected > 0) <> (c.ms_per_pass IS NOT NULL)
   OR v.name = 'worst' AND v.n = 1 AND abs(c.ms_per_pass - c.avg_us / 1e3 * s.buffers / c.inspected) > 0.01 * c.ms_per_pass;
SELECT * FROM incoherent;

-- the worst case: each unpinned buffer is passed once for each usage count,
-- before the first is found; the free list is taken as empty
SELECT inspected > 4 * (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS many_passes,
       from_freelist
FROM pgbufprobe_sweep_cost(1, 'worst');

-- mistakes
SELECT * FROM pgbufprobe_sweep_cost(0);
SELECT * FROM pgbufprobe_sweep_cost(-1);
SELECT * FROM pgbufprobe_sweep_cost(2147483647);
SELECT * FROM pgbufprobe_sweep_cost(NULL);
SELECT * FROM pgbufprobe_sweep_cost(1, 'best');
SELECT * FROM pgbufprobe_sweep_cost(1, '');
SELECT * FROM pgbufprobe_sweep_cost(1, 'CURRENT');

DROP VIEW incoherent;
DROP EXTENSION pgbufprobe;
