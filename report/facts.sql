-- The facts of a report, as lines of JSON, for hosts without Python:
--     psql -X -d shop -f report/facts.sql > shop.json
-- Elsewhere, report/run makes the page: report/run shop.json > shop.html
--
-- report/run also runs these statements on the servers that it asks. It knows a statement by SELECT at the beginning of a line, and the
-- fact by the first name in quotes. Statements call functions of the extension with all arguments, in exactly their types, and the
-- search path is empty, so that nothing that others have created is run.

\set QUIET on
\set ON_ERROR_ROLLBACK on
\set ON_ERROR_STOP off
\pset format unaligned
\pset tuples_only on
\pset pager off
BEGIN READ ONLY;
SET LOCAL search_path = '';
SET LOCAL client_encoding = 'UTF8';
SET LOCAL jit = off;
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '4s';

-- Of a pool of more than 64 GB, a part is read; of more than 64 GB in files, a hundredth, since a sample of blocks pays only if it is small.
SELECT n.nspname AS x,
       least(1::float8, 68719476736::float8 / (s.setting::float8 * b.bytes::float8)) AS pool,
       CASE WHEN (SELECT sum(c.relpages::float8) FROM pg_class AS c) * b.bytes::float8 <= 68719476736::float8 THEN 1 ELSE 0.01 END AS files,
       b.bytes AS block
FROM pg_extension AS e
JOIN pg_namespace AS n ON n.oid = e.extnamespace
JOIN pg_settings AS s ON s.name = 'shared_buffers'
CROSS JOIN (SELECT current_setting('block_size')::bigint AS bytes) AS b
WHERE e.extname = 'pgbufprobe'
\gset
\if :{?x}
\else
\warn 'extension "pgbufprobe" is not in this database'
\quit
\endif

SELECT jsonb_build_object('server', to_jsonb(t)) FROM (
    SELECT version(), current_setting('server_version') AS server_version, e.extversion AS extension_version,
           d.datname AS database, d.oid::bigint AS database_oid, current_setting('cluster_name') AS cluster_name,
           (SELECT c.system_identifier::text FROM pg_control_system() AS c) AS system_identifier,
           pg_is_in_recovery() AS standby, pg_postmaster_start_time() AS started_at, :block AS block_bytes,
           (SELECT s.setting::bigint FROM pg_settings AS s WHERE s.name = 'shared_buffers') * :block AS shared_buffers_bytes,
           host(inet_server_addr()) AS host, clock_timestamp() AS asked_at, :pool::float8 AS pool_sampled, :files::float8 AS files_sampled
    FROM pg_extension AS e, pg_database AS d
    WHERE e.extname = 'pgbufprobe' AND d.datname = current_database()) AS t;

SELECT jsonb_build_object('verdict', jsonb_agg(t)) FROM :"x".pgbufprobe_verdict() AS t;

SELECT jsonb_build_object('checkup', jsonb_agg(t)) FROM :"x".pgbufprobe_checkup() AS t;

SELECT jsonb_build_object('status', jsonb_agg(t)) FROM :"x".pgbufprobe_status() AS t;

SELECT jsonb_build_object('hours', jsonb_agg(t)) FROM :"x".pgbufprobe_hours() AS t;

SELECT jsonb_build_object('sizes', jsonb_agg(t)) FROM :"x".pgbufprobe_advice() AS t;

SELECT jsonb_build_object('memory', jsonb_agg(t)) FROM :"x".pgbufprobe_memory('today'::text) AS t;

SELECT jsonb_build_object('usage', jsonb_agg(t)) FROM :"x".pgbufprobe_usagecount_histogram(NULL::regclass, :pool::float8) AS t;

-- At most 60 entries, spread over the whole time.
SELECT jsonb_build_object('history', jsonb_agg(t)) FROM (
    SELECT h.taken_at, h.seconds_per_pass, h.usagecounts
    FROM (SELECT r.*, row_number() OVER (ORDER BY r.taken_at DESC) - 1 AS place, count(*) OVER () AS entries
          FROM :"x".pgbufprobe_history('fine'::text) AS r) AS h
    WHERE h.place % ((h.entries + 59) / 60) = 0
    ORDER BY h.taken_at) AS t;

SELECT jsonb_build_object('victims', jsonb_agg(t)) FROM :"x".pgbufprobe_sweep_cost(1000, NULL::text) AS t;

SELECT jsonb_build_object('scans', jsonb_agg(t)) FROM :"x".pgbufprobe_scan_cost(5, :pool::float8) AS t;

-- What half the size would add is beside what twice the size would save.
SELECT jsonb_build_object('gains', jsonb_agg(t)) FROM (
    SELECT r.relation::text, r.relation::oid::bigint AS oid, r.database, r.relfilenode::bigint,
           (SELECT d.oid::bigint FROM pg_database AS d WHERE d.datname = r.database) AS database_oid, r.fork,
           r.read_fraction, r.reads_saved, r.reads_saved_low, r.reads_saved_high,
           - h.reads_saved AS reads_added, - h.reads_saved_high AS reads_added_low, - h.reads_saved_low AS reads_added_high,
           r.storage_reads_saved, r.storage_reads_saved_low, r.storage_reads_saved_high,
           r.working_set_bytes, r.working_set_bytes_low, r.working_set_bytes_high, r.note
    FROM :"x".pgbufprobe_advice_relations(2::float8) AS r
    LEFT JOIN :"x".pgbufprobe_advice_relations(0.5::float8) AS h
           ON h.relfilenode = r.relfilenode AND h.fork = r.fork AND h.database IS NOT DISTINCT FROM r.database
    ORDER BY r.read_fraction DESC NULLS LAST LIMIT 20) AS t;

SELECT jsonb_build_object('predictions', jsonb_agg(t)) FROM :"x".pgbufprobe_predictions() AS t;

SELECT jsonb_build_object('clock', jsonb_agg(t)) FROM :"x".pgbufprobe_clock('500 ms'::interval) AS t;

SELECT jsonb_build_object('consumers', jsonb_agg(t)) FROM (
    SELECT c.consumer, c.today_bytes FROM :"x".pgbufprobe_memory_consumers() AS c) AS t;

SELECT jsonb_build_object('settings', jsonb_agg(t)) FROM (
    SELECT s.name, current_setting(s.name) AS setting FROM pg_settings AS s
    WHERE s.name LIKE 'pgbufprobe.%'
       OR s.name IN ('shared_buffers', 'huge_pages', 'shared_preload_libraries', 'track_io_timing', 'debug_io_direct',
                     'io_method', 'effective_cache_size', 'max_connections')
    ORDER BY s.name) AS t;

SELECT jsonb_build_object('pool', jsonb_agg(t)) FROM (
    SELECT r.relation::text, r.relation::oid::bigint AS oid, r.database, r.relfilenode::bigint,
           (SELECT d.oid::bigint FROM pg_database AS d WHERE d.datname = r.database) AS database_oid, r.fork,
           r.buffers * :block AS bytes, r.buffers_low * :block AS bytes_low, r.buffers_high * :block AS bytes_high,
           r.usagecounts[1] * :block AS idle_bytes, r.dirty * :block AS dirty_bytes, r.usagecount_avg, r.stay_seconds
    FROM :"x".pgbufprobe_relations(:pool::float8) AS r
    ORDER BY r.buffers DESC LIMIT 20) AS t;

-- The row without a relation is the whole database.
SELECT jsonb_build_object('caches', jsonb_agg(t)) FROM (
    WITH r AS MATERIALIZED (
        SELECT c.relation::text, c.relation::oid::bigint AS oid, c.fork, c.blocks * :block AS bytes,
               c.shared_blocks * :block AS shared_bytes, c.os_blocks * :block AS os_bytes, c.both_blocks * :block AS both_bytes,
               c.both_blocks_low * :block AS both_bytes_low, c.both_blocks_high * :block AS both_bytes_high
        FROM :"x".pgbufprobe_residency(NULL::regclass, 1, :files::float8) AS c),
    total AS (
        SELECT sum(r.bytes)::bigint AS bytes, sum(r.shared_bytes)::bigint AS shared,
               CASE WHEN count(r.os_bytes) = count(*) THEN sum(r.os_bytes)::bigint END AS os,
               CASE WHEN count(r.os_bytes) = count(*) THEN sum(r.both_bytes)::bigint END AS twice,
               sqrt(sum(((r.both_bytes_high - r.both_bytes_low) / 2)::float8 ^ 2))::bigint AS error
        FROM r)
    SELECT NULL AS relation, NULL::bigint AS oid, NULL AS fork, total.bytes, total.shared AS shared_bytes, total.os AS os_bytes,
           total.twice AS both_bytes, total.twice - total.error AS both_bytes_low, total.twice + total.error AS both_bytes_high
    FROM total
    UNION ALL
    (SELECT r.* FROM r
     WHERE coalesce(r.shared_bytes, 0) + coalesce(r.os_bytes, 0) > 0
     ORDER BY coalesce(r.shared_bytes, 0) + coalesce(r.os_bytes, 0) - coalesce(r.both_bytes, 0) DESC LIMIT 20)) AS t;

-- Of the eight largest relations.
SELECT jsonb_build_object('maps', jsonb_agg(t)) FROM (
    SELECT c.oid::regclass::text AS relation, c.oid::bigint AS oid, 'main' AS fork, c.bytes,
           (SELECT jsonb_agg(jsonb_build_object('blocks', m.blocks, 'shared_blocks', m.shared_blocks, 'os_blocks', m.os_blocks,
                                                'both_blocks', m.both_blocks) ORDER BY m.first_block)
            FROM :"x".pgbufprobe_residency(c.oid::regclass, 96, 1::float8) AS m
            WHERE m.fork = 'main') AS cells
    FROM (SELECT k.oid, pg_relation_size(k.oid::regclass) AS bytes FROM pg_class AS k
          WHERE k.relkind IN ('r', 'i', 'm', 't')
          ORDER BY bytes DESC NULLS LAST LIMIT 8) AS c
    WHERE c.bytes > 0) AS t;

COMMIT;
