-- The hand of the clock sweep.
CREATE EXTENSION pgbufprobe;

SELECT hand BETWEEN 0 AND buffers - 1 AS hand_in_pool,
       buffers = (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS whole_pool,
       run ~ '^[0-9]+-[0-9a-f]{8}$' AND run = (SELECT run FROM pgbufprobe_clock()) AS one_run,
       statistics_reset_at IS NOT DISTINCT FROM pg_stat_get_bgwriter_stat_reset_time() AS reset
FROM pgbufprobe_clock();

-- a live search of two whole turns moves it by what was inspected, at least
SELECT passes * buffers + hand AS before FROM pgbufprobe_clock() \gset
SELECT inspected FROM pgbufprobe_sweep_cost(
    2 * (SELECT setting::integer FROM pg_settings WHERE name = 'shared_buffers'), 'live') \gset
SELECT passes * buffers + hand - :before >= :inspected AS moved, :inspected > 0 AS inspected_some FROM pgbufprobe_clock();

-- how fast it turns: nobody moves it here
SELECT inspected_per_allocation, seconds_per_pass FROM pgbufprobe_clock();
SELECT clock_timestamp() - statement_timestamp() >= '200 ms' AS watched, seconds_per_pass FROM pgbufprobe_clock('200 ms');

-- the session's view of the statistics stays as it was
SET stats_fetch_consistency = snapshot;
BEGIN;
SELECT allocations IS NOT NULL AS clock FROM pgbufprobe_clock();
SELECT buffers_alloc IS NOT NULL AS statistics FROM pg_stat_bgwriter;
COMMIT;
SET stats_fetch_consistency = cache;
BEGIN;
SELECT buffers_alloc AS before FROM pg_stat_bgwriter \gset
SELECT count(*) FROM pgbufprobe_sweep_cost(1000, 'live'), pgbufprobe_clock('500 ms');
SELECT buffers_alloc = :before AS unchanged FROM pg_stat_bgwriter;
COMMIT;
RESET stats_fetch_consistency;

-- mistakes
SELECT * FROM pgbufprobe_clock('0');
SELECT * FROM pgbufprobe_clock('-5 s');
SELECT * FROM pgbufprobe_clock('500 us');
SELECT * FROM pgbufprobe_clock('2 days');
SELECT * FROM pgbufprobe_clock('178000000 years');

DROP EXTENSION pgbufprobe;
