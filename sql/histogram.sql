-- Usage counts, of the pool and of one relation.
CREATE EXTENSION pgbufprobe;
CREATE ROLE regress_pgbufprobe_plain;
CREATE ROLE regress_pgbufprobe_monitor IN ROLE pg_monitor;

-- always the same rows
SELECT usagecount FROM pgbufprobe_usagecount_histogram();

-- every buffer is in exactly one of them
SELECT sum(buffers) = (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS whole_pool,
       sum(bytes) = sum(buffers) * current_setting('block_size')::integer AS in_bytes,
       round(sum(fraction)::numeric, 2) AS fractions,
       bool_and(dirty <= buffers) AS dirty_among_them,
       bool_and(pinned <= buffers) AS pinned_among_them
FROM pgbufprobe_usagecount_histogram();

-- a relation, with all its forks
CREATE TABLE counted (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO counted SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i;
CREATE VIEW counted_view AS SELECT * FROM counted;
SELECT sum(buffers) >= pg_relation_size('counted') / current_setting('block_size')::integer AS all_pages,
       sum(buffers) FILTER (WHERE usagecount IS NULL) AS unused,
       round(sum(fraction)::numeric, 2) AS fractions
FROM pgbufprobe_usagecount_histogram('counted');

-- nothing in shared buffers: no share of nothing
CREATE TABLE counted_empty ();
SELECT * FROM pgbufprobe_usagecount_histogram('counted_empty');

-- relations without buffers in the pool
CREATE TABLE counted_parted (i integer PRIMARY KEY) PARTITION BY RANGE (i);
CREATE TEMP TABLE counted_temp (i integer);
CREATE TYPE counted_type AS (i integer);
SELECT * FROM pgbufprobe_usagecount_histogram('counted_view');
SELECT * FROM pgbufprobe_usagecount_histogram('counted_parted');
SELECT * FROM pgbufprobe_usagecount_histogram('counted_parted_pkey');
SELECT * FROM pgbufprobe_usagecount_histogram('counted_temp');
SELECT * FROM pgbufprobe_usagecount_histogram('counted_type');
SELECT * FROM pgbufprobe_usagecount_histogram(0);
SELECT * FROM pgbufprobe_usagecount_histogram('no_such_table');

-- no lock is left behind, whether it worked or not
BEGIN;
SELECT count(*) FROM pgbufprobe_usagecount_histogram('counted');
SELECT count(*) FROM pg_locks WHERE relation = 'counted'::regclass;
COMMIT;

SET ROLE regress_pgbufprobe_plain;
SELECT * FROM pgbufprobe_usagecount_histogram();
SET ROLE regress_pgbufprobe_monitor;
SELECT count(*) FROM pgbufprobe_usagecount_histogram();
RESET ROLE;

DROP VIEW counted_view;
DROP TABLE counted, counted_empty, counted_parted;
DROP TYPE counted_type;
DROP ROLE regress_pgbufprobe_plain, regress_pgbufprobe_monitor;
DROP EXTENSION pgbufprobe;
