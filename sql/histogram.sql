-- Usage counts, of the pool and of one relation.
CREATE EXTENSION pgbufprobe;

-- always the same rows
SELECT usagecount FROM pgbufprobe_usagecount_histogram();

-- every buffer is in exactly one of them
SELECT sum(buffers) = (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS whole_pool,
       bool_and(dirty <= buffers) AS dirty_among_them
FROM pgbufprobe_usagecount_histogram();

-- a relation, with all its forks
CREATE TABLE counted (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO counted SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i;
CREATE VIEW counted_view AS SELECT * FROM counted;
SELECT sum(buffers) >= pg_relation_size('counted') / current_setting('block_size')::integer AS all_pages,
       sum(buffers) FILTER (WHERE usagecount IS NULL) AS unused
FROM pgbufprobe_usagecount_histogram('counted');

-- estimated from a tenth of the buffers: the same rows, which add up as exact ones do
SELECT usagecount FROM pgbufprobe_usagecount_histogram(sample_fraction => 0.1);
SELECT sum(buffers) = (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS whole_pool,
       bool_and(dirty <= buffers) AS dirty_among_them,
       bool_and(buffers BETWEEN buffers_low AND buffers_high AND buffers_low < buffers_high) AS intervals
FROM pgbufprobe_usagecount_histogram(NULL, 0.1);
-- exact figures have no interval
SELECT bool_and(buffers = buffers_low AND buffers = buffers_high) AS exact FROM pgbufprobe_usagecount_histogram();
SELECT bool_and(buffers = buffers_low AND buffers = buffers_high) AS exact FROM pgbufprobe_usagecount_histogram('counted', 1);
SELECT sum(buffers) = (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS whole_pool
FROM pgbufprobe_usagecount_histogram(NULL, 1e-300);

-- The intervals of nearly all of many estimates have the exact count, and are small, and the mean of the estimates is that
-- count. They are meant for 95 %: of 1000, less than 90 % that have it, or a mean that far off, never happen by chance.
CREATE TABLE filling (page text) WITH (autovacuum_enabled = off);
ALTER TABLE filling ALTER page SET STORAGE PLAIN;
INSERT INTO filling SELECT repeat('x', 5000) FROM generate_series(1, 1500);
WITH exact AS MATERIALIZED (
    SELECT asked, coalesce(h.usagecount, -1) AS usagecount, buffers, dirty
    FROM (VALUES (NULL), ('counted')) a(asked), pgbufprobe_usagecount_histogram(asked::regclass) h
), estimated AS MATERIALIZED (
    SELECT i, asked, coalesce(h.usagecount, -1) AS usagecount, buffers, buffers_low, buffers_high, dirty,
           greatest(buffers_high - buffers, buffers - buffers_low) AS error
    FROM (VALUES (NULL), ('counted')) a(asked), generate_series(1, 1000) i,
         pgbufprobe_usagecount_histogram(asked::regclass, 0.1 + 0 * i) h
), levels AS (
    SELECT e.asked, x.buffers, avg(e.buffers) AS mean, max(e.buffers) AS most, max(e.error) AS error,
           avg((x.buffers BETWEEN e.buffers_low AND e.buffers_high)::integer) AS buffers_within,
           avg((abs(e.dirty - x.dirty) <= e.error)::integer) AS dirty_within
    FROM estimated e JOIN exact x ON x.asked IS NOT DISTINCT FROM e.asked AND x.usagecount = e.usagecount
    GROUP BY e.asked, e.usagecount, x.buffers
)
SELECT asked, bool_or(most > buffers) AS estimated, bool_and(buffers > 0 OR most = 0) AS none_of_nothing,
       least(min(buffers_within), min(dirty_within)) >= 0.9 AS within_error,
       bool_and(abs(mean - buffers) < 1 + error / 5) AS no_bias,
       max(error) < 0.06 * (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS small_error
FROM levels GROUP BY asked ORDER BY asked;

-- fractions that there are not
SELECT * FROM pgbufprobe_usagecount_histogram(NULL, NULL);
SELECT * FROM pgbufprobe_usagecount_histogram(NULL, 0);
SELECT * FROM pgbufprobe_usagecount_histogram('counted', -0.5);
SELECT * FROM pgbufprobe_usagecount_histogram('counted', 1.5);
SELECT * FROM pgbufprobe_usagecount_histogram(sample_fraction => 'NaN');

-- nothing in shared buffers
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

DROP VIEW counted_view;
DROP TABLE counted, counted_empty, counted_parted, filling;
DROP TYPE counted_type;
DROP EXTENSION pgbufprobe;
