-- What shared buffers hold of each relation.
CREATE EXTENSION pgbufprobe;

-- the pool is what is held of relations, and what is unused
SELECT (SELECT sum(buffers) FROM pgbufprobe_relations())
     + (SELECT buffers FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NULL)
     - (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') BETWEEN -50 AND 50 AS whole_pool;

-- of a table, which fits
CREATE TABLE listed (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO listed SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i;
SELECT database = current_database() AS here, relfilenode = pg_relation_filenode(relation) AS its_file,
       relation, buffers * current_setting('block_size')::integer = pg_relation_size(relation) AS all_of_it, stay_seconds
FROM pgbufprobe_relations()
WHERE relation = 'listed'::regclass AND fork = 'main';

-- its forks together are what the histogram of the table counts
SELECT sum(r.buffers) = (SELECT sum(buffers) FROM pgbufprobe_usagecount_histogram('listed')) AS all_forks,
       array_agg(r.fork ORDER BY r.fork) AS forks
FROM pgbufprobe_relations() r
WHERE r.relation = 'listed'::regclass;

-- estimated from a part of the buffers: as consistent, and the exact count is nearly always in the interval
SELECT sum(buffers) <= (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS within_pool,
       bool_and(buffers = (SELECT sum(n) FROM unnest(usagecounts) AS u(n))) AS levels,
       bool_and(buffers > 0 AND dirty <= buffers) AS parts,
       bool_and(buffers BETWEEN buffers_low AND buffers_high AND buffers_low < buffers_high) AS intervals
FROM pgbufprobe_relations(0.5);
SELECT bool_and(buffers = buffers_low AND buffers = buffers_high) AS exact FROM pgbufprobe_relations(1);
WITH exact AS MATERIALIZED (
    SELECT * FROM pgbufprobe_relations() WHERE relation = 'listed'::regclass AND fork = 'main'
), estimated AS MATERIALIZED (
    SELECT r.* FROM generate_series(1, 1000) i, pgbufprobe_relations(0.3 + 0 * i) r
    WHERE r.relation = 'listed'::regclass AND r.fork = 'main'
)
SELECT count(DISTINCT e.buffers) > 1 AS estimated,
       sum((x.buffers BETWEEN e.buffers_low AND e.buffers_high)::integer) >= 900 AS within_error,
       abs(sum(e.buffers) / 1000 - x.buffers) < 1 + max(e.buffers_high - e.buffers) / 5 AS no_bias
FROM estimated e, exact x GROUP BY x.buffers;
-- no buffer is left out of all samples
SELECT relfilenode, fork FROM pgbufprobe_relations()
EXCEPT
SELECT relfilenode, fork FROM generate_series(1, 300) i, pgbufprobe_relations(0.1 + 0 * i);
SELECT * FROM pgbufprobe_relations(NULL);
SELECT * FROM pgbufprobe_relations(0);

-- figures that say the same
SELECT r.*
FROM pgbufprobe_relations() r,
     LATERAL (SELECT sum(n) AS buffers, sum(n * (usage - 1)) / sum(n) AS average, count(*) AS levels
              FROM unnest(r.usagecounts) WITH ORDINALITY AS u(n, usage)) u
WHERE u.buffers <> r.buffers
   OR abs(u.average - r.usagecount_avg) > 0.001
   OR u.levels <> (SELECT count(*) FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NOT NULL);

-- largest first
SELECT bool_and(buffers <= previous) AS descending
FROM (SELECT buffers, lag(buffers) OVER (ORDER BY ordinality) AS previous
      FROM pgbufprobe_relations() WITH ORDINALITY) o;

-- catalogs that all databases share belong to none
SELECT database, relation FROM pgbufprobe_relations()
WHERE relation = 'pg_database'::regclass AND fork = 'main';

DROP TABLE listed;
DROP EXTENSION pgbufprobe;
