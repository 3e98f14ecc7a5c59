-- What a scan of all descriptors costs.
CREATE EXTENSION pgbufprobe;

SELECT method FROM pgbufprobe_scan_cost();

-- the figures of one row belong together
SELECT c.*
FROM pgbufprobe_scan_cost(3) c, pg_settings s
WHERE s.name = 'shared_buffers'
  AND (c.min_ms > c.max_ms OR c.matched > s.setting::bigint);

-- nothing is sought by reading, and nothing can match
SELECT method, matched FROM pgbufprobe_scan_cost(1) WHERE method <> 'lock';

-- of half of the pool, scaled to all of it
SELECT method, matched, min_ms <= max_ms AS in_order FROM pgbufprobe_scan_cost(3, 0.5);
SELECT count(*) FROM pgbufprobe_scan_cost(10, 1e-300) WHERE matched IS NULL;

-- mistakes
SELECT * FROM pgbufprobe_scan_cost(1, 0);
SELECT * FROM pgbufprobe_scan_cost(1, NULL);
SELECT * FROM pgbufprobe_scan_cost(0);
SELECT * FROM pgbufprobe_scan_cost(-2147483648);
SELECT * FROM pgbufprobe_scan_cost(10001);
SELECT * FROM pgbufprobe_scan_cost(NULL);

DROP EXTENSION pgbufprobe;
