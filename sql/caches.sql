-- Which cache holds what.
CREATE EXTENSION pgbufprobe;

-- A table of which some pages are in shared buffers; on disk after a checkpoint.
CREATE TABLE cached (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO cached SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i;
CREATE VIEW cached_view AS SELECT * FROM cached;
CREATE TEMP TABLE cached_temp (i integer);
CREATE TABLE cached_parted (i integer PRIMARY KEY) PARTITION BY RANGE (i);
CREATE TABLE cached_part_1 PARTITION OF cached_parted FOR VALUES FROM (0) TO (10);
CREATE TABLE cached_part_2 PARTITION OF cached_parted FOR VALUES FROM (10) TO (20);
INSERT INTO cached_parted VALUES (1), (11);
CREATE TABLE cached_empty ();
CREATE UNLOGGED TABLE cached_unlogged (i integer PRIMARY KEY);

-- the file as it is, a row a segment
SELECT segment, bytes = pg_relation_size('cached') AS its_size
FROM pgbufprobe_os_cache('cached');

-- figures that must agree, by each method
SELECT m.method, c.*
FROM (VALUES ('auto'), ('mincore')) AS m(method),
     LATERAL pgbufprobe_os_cache('cached', method => m.method) AS c
WHERE c.cached_bytes NOT BETWEEN 0 AND c.bytes OR c.method NOT IN ('mincore', replace(m.method, 'auto', 'cachestat'));

-- each block is in one of four places
SELECT relation, fork, first_block, blocks = pg_relation_size(relation, fork) / current_setting('block_size')::integer AS all_blocks,
       shared_blocks + os_blocks - both_blocks <= blocks AS adds_up,
       both_blocks <= least(shared_blocks, os_blocks) AS both_in_each
FROM pgbufprobe_residency('cached')
ORDER BY fork;

-- from a part of the blocks: as consistent, with an interval; exact counts have none
SELECT relation, fork, first_block, blocks = pg_relation_size(relation, fork) / current_setting('block_size')::integer AS all_blocks,
       shared_blocks + os_blocks - both_blocks <= blocks AS adds_up,
       both_blocks BETWEEN both_blocks_low AND both_blocks_high AS inside,
       both_blocks_high - both_blocks_low < blocks AS small_interval, both_blocks_low < both_blocks_high AS estimated
FROM pgbufprobe_residency('cached', sample_fraction => 0.5)
ORDER BY fork;
SELECT bool_and(both_blocks_low = both_blocks AND both_blocks_high = both_blocks) AS exact, count(*) > 100 AS relations
FROM pgbufprobe_residency();

-- partitions of a partitioned table, or index
SELECT relation, fork FROM pgbufprobe_residency('cached_parted') ORDER BY relation::text, fork;
SELECT relation FROM pgbufprobe_residency('cached_parted_pkey') WHERE fork = 'main' ORDER BY relation::text;
SELECT * FROM pgbufprobe_residency('cached_empty');

-- every relation of the database that has pages, but for temporary ones
SELECT count(*) FILTER (WHERE r.relation IS NULL) AS missed, count(*) FILTER (WHERE c.oid IS NULL) AS too_many,
       count(*) FILTER (WHERE r.shared_blocks + r.os_blocks - r.both_blocks > r.blocks) AS do_not_add_up
FROM (SELECT oid FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm') AND relpersistence <> 't') c
FULL JOIN (SELECT * FROM pgbufprobe_residency() WHERE fork = 'main') r ON r.relation = c.oid;
-- those with most blocks in both first, then the largest
SELECT count(*) > 1 AS some, bool_and((both_blocks, blocks) <= (previous_both, previous_blocks)) AS in_order
FROM (SELECT *, lag(both_blocks) OVER list AS previous_both, lag(blocks) OVER list AS previous_blocks
      FROM pgbufprobe_residency() WITH ORDINALITY
      WINDOW list AS (ORDER BY ordinality)) o;
SELECT database = current_database() AS here,
       abs(duplicate_fraction - both_bytes::numeric / (shared_bytes + os_bytes - both_bytes)) < 0.001 AS duplicates
FROM pgbufprobe_double_buffering;

-- ranges that follow each other and hold what the whole holds
SELECT fork, count(*) AS buckets, sum(m.blocks) = r.blocks AS whole,
       bool_and(m.first_block = before) AS gapless, max(m.blocks) - min(m.blocks) <= 1 AS of_equal_length,
       (sum(m.shared_blocks), sum(m.os_blocks), sum(m.both_blocks)) = (r.shared_blocks, r.os_blocks, r.both_blocks) AS same_counts,
       bool_and((m.both_blocks_low, m.both_blocks_high) = (m.both_blocks, m.both_blocks)) AS exact
FROM (SELECT *, coalesce(sum(blocks) OVER (PARTITION BY fork ORDER BY ordinality ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS before
      FROM pgbufprobe_residency('cached', 7) WITH ORDINALITY) m
JOIN pgbufprobe_residency('cached') r USING (relation, fork)
GROUP BY fork, r.blocks, r.shared_blocks, r.os_blocks, r.both_blocks ORDER BY fork;
SELECT count(*) = pg_relation_size('cached') / current_setting('block_size')::integer AS no_more_than_blocks
FROM pgbufprobe_residency('cached', 1000000) WHERE fork = 'main';
SELECT * FROM pgbufprobe_residency('cached_empty', 100);

-- dropped from the page cache, and back; shared buffers keep what they have
CHECKPOINT;
SELECT pgbufprobe_os_advise('cached', 'dontneed') = pg_relation_size('cached') AS dropped;
-- but for pages that the kernel was working on
DO $$ BEGIN
    FOR attempt IN 1 .. 100 LOOP
        EXIT WHEN (SELECT cached_bytes FROM pgbufprobe_os_cache('cached')) = 0;
        PERFORM pg_sleep(0.1), pgbufprobe_os_advise('cached', 'dontneed');
    END LOOP;
END $$;
SELECT cached_bytes FROM pgbufprobe_os_cache('cached');
SELECT os_blocks, both_blocks, shared_blocks = blocks AS still_shared FROM pgbufprobe_residency('cached') WHERE fork = 'main';
SELECT tier, reads = pg_relation_size('cached') / current_setting('block_size')::integer AS each_once
FROM pgbufprobe_read_cost('cached', 1000000);
SELECT pgbufprobe_os_advise('cached', 'willneed') = pg_relation_size('cached') AS wanted;

-- figures of a read
SELECT * FROM pgbufprobe_read_cost('cached', 10)
WHERE NOT (p99_us <= max_us AND avg_us <= max_us AND reads = 10);
SELECT * FROM pgbufprobe_read_cost('cached_empty');

-- a fork that is there, with pages or without
SELECT segment, bytes FROM pgbufprobe_os_cache('cached_unlogged', 'init');
SELECT fork, blocks FROM pgbufprobe_residency('cached_unlogged', 10) WHERE fork = 'init';
SELECT pgbufprobe_os_advise('cached_unlogged', 'willneed', 'init');

-- mistakes
SELECT * FROM pgbufprobe_os_cache('cached', method => 'guess');
SELECT * FROM pgbufprobe_os_cache('cached', 'trunk');
SELECT * FROM pgbufprobe_os_cache('cached_view');
SELECT * FROM pgbufprobe_os_cache('cached_parted');
SELECT * FROM pgbufprobe_os_cache('cached_temp');
SELECT * FROM pgbufprobe_os_cache(0);
SELECT * FROM pgbufprobe_os_cache(NULL);
SELECT * FROM pgbufprobe_os_cache('cached', 'init');
SELECT * FROM pgbufprobe_residency('cached_view');
SELECT * FROM pgbufprobe_residency('cached_temp');
SELECT * FROM pgbufprobe_residency(0);
SELECT * FROM pgbufprobe_residency('cached', 1, 0);
SELECT * FROM pgbufprobe_residency('cached', 1, NULL);
SELECT * FROM pgbufprobe_residency('cached', 0);
SELECT * FROM pgbufprobe_residency('cached', 1000001);
SELECT * FROM pgbufprobe_residency('cached', NULL);
SELECT * FROM pgbufprobe_residency('cached', 10, 0.5);
SELECT * FROM pgbufprobe_read_cost('cached', 0);
SELECT * FROM pgbufprobe_read_cost('cached', 10, 'init');
SELECT * FROM pgbufprobe_read_cost('cached_parted');
SELECT * FROM pgbufprobe_read_cost('cached_temp');
SELECT * FROM pgbufprobe_read_cost(0);
SELECT pgbufprobe_os_advise('cached', 'forget');
SELECT pgbufprobe_os_advise('cached_view', 'willneed');
SELECT pgbufprobe_os_advise('cached', 'willneed', 'init');
SELECT pgbufprobe_os_advise('cached_parted', 'willneed');
SELECT pgbufprobe_os_advise(NULL, 'willneed');

DROP VIEW cached_view;
DROP TABLE cached, cached_parted, cached_empty, cached_unlogged;
DROP EXTENSION pgbufprobe;
