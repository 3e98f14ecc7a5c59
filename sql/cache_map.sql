-- Cache maps: what they are, what is restored, and what is refused.
CREATE EXTENSION pgbufprobe;
\set SHOW_CONTEXT never

CREATE TABLE mapped (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO mapped SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i;
CREATE VIEW mapped_view AS SELECT * FROM mapped;
CREATE TEMP TABLE mapped_temp (i integer);
CREATE TABLE mapped_parted (i integer) PARTITION BY RANGE (i);
CREATE TABLE mapped_empty ();
CREATE UNLOGGED TABLE mapped_unlogged (i integer PRIMARY KEY);
CREATE TABLE "Mapped, too" AS SELECT 1 AS i;
CREATE TABLE maps AS SELECT map FROM pgbufprobe_cache_map('mapped', 'main');

-- what a map is: a header, runs of blocks, a checksum
SELECT substr(map, 1, 8) = 'pbpcache'::bytea AS magic, length(map) > 52 AS has_runs, length(map) <= 52 + pg_relation_size('mapped') / 8192 AS small
FROM maps;
-- one fork that is named has a map in any case
SELECT relation, fork, length(map) AS empty FROM pgbufprobe_cache_map('mapped_empty', 'main');
SELECT * FROM pgbufprobe_cache_map('mapped_empty');
-- of indexes and all forks
SELECT relation, fork, length(map) > 52 AS has_runs FROM pgbufprobe_cache_map('mapped_unlogged_pkey') ORDER BY fork;
SELECT relation, fork, map = (SELECT map FROM pgbufprobe_cache_map('mapped', 'main')) AS same_as_alone FROM pgbufprobe_cache_map('mapped') ORDER BY fork;
SELECT count(*) > 50 AS relations, count(DISTINCT (relation, fork)) = count(*) AS once,
       count(*) FILTER (WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = relation)) AS unknown
FROM pgbufprobe_cache_map();
SELECT relation FROM pgbufprobe_cache_map(fork => 'main') WHERE relation::text ~* 'mapped' ORDER BY relation::text COLLATE "C";
SELECT DISTINCT fork FROM pgbufprobe_cache_map(NULL, 'fsm');

-- all of it is there
SELECT requested > 100 AS requested, already_present = requested AS present, read, skipped
FROM maps, pgbufprobe_cache_restore('mapped', map, target => 'shared_buffers');
SELECT requested > 100 AS requested, already_present + read = requested AS there, skipped
FROM maps, pgbufprobe_cache_restore('mapped', map, mb_per_second => 100000);
-- a block past the end is skipped; the map of a relation that was dropped applies to another one
CREATE TABLE mapped_before AS SELECT * FROM mapped;
CREATE TABLE maps_before AS SELECT map FROM pgbufprobe_cache_map('mapped_before', 'main');
DROP TABLE mapped_before;
SELECT requested > 100 AS requested, already_present, read, skipped = requested AS skipped
FROM maps_before, pgbufprobe_cache_restore('mapped_empty', map);
-- so does that of the same relation under another name
ALTER TABLE mapped RENAME TO mapped_renamed;
SELECT requested > 100 AS requested, already_present = requested AS present
FROM maps, pgbufprobe_cache_restore('mapped_renamed', map, target => 'shared_buffers');
ALTER TABLE mapped_renamed RENAME TO mapped;
-- NULL
SELECT pgbufprobe_cache_restore(NULL, map) IS NULL AS nothing, pgbufprobe_cache_restore('mapped', NULL) IS NULL AS no_map FROM maps;

-- what is refused; for all ways in which a map can be wrong, see t/323_carry_bad_maps.pl
SELECT pgbufprobe_cache_restore('mapped', '');
SELECT pgbufprobe_cache_restore('mapped_empty', map) FROM maps;
SELECT pgbufprobe_cache_restore('mapped', map) FROM pgbufprobe_cache_map('"Mapped, too"', 'main');
SELECT pgbufprobe_cache_restore('mapped', map, 'nonsense') FROM maps;
SELECT pgbufprobe_cache_restore('mapped', map, target => 'cpu') FROM maps;
SELECT pgbufprobe_cache_restore('mapped', map, mb_per_second => 0) FROM maps;
SELECT pgbufprobe_cache_restore('mapped', map, mb_per_second => 'NaN') FROM maps;
SELECT pgbufprobe_cache_restore('mapped_view', map) FROM maps;
SELECT pgbufprobe_cache_restore('mapped_temp', map) FROM maps;
SELECT pgbufprobe_cache_restore('mapped_parted', map) FROM maps;
SELECT pgbufprobe_cache_restore(0, map) FROM maps;
-- an index that a concurrent build has left, or still writes
CREATE UNIQUE INDEX CONCURRENTLY mapped_filler ON mapped (length(filler));
SELECT pgbufprobe_cache_restore('mapped_filler', map) FROM pgbufprobe_cache_map('mapped_filler', 'main');
SELECT * FROM pgbufprobe_read_cost('mapped_filler');
DROP INDEX mapped_filler;
SELECT * FROM pgbufprobe_cache_map('mapped', 'init');
SELECT * FROM pgbufprobe_cache_map('mapped', 'nonsense');
SELECT * FROM pgbufprobe_cache_map(NULL, 'nonsense');
SELECT * FROM pgbufprobe_cache_map('mapped_view');
SELECT * FROM pgbufprobe_cache_map('mapped_temp');
SELECT * FROM pgbufprobe_cache_map('mapped_parted', 'main');
SELECT * FROM pgbufprobe_cache_map('mapped_parted');
SELECT * FROM pgbufprobe_cache_map(0);

DROP VIEW mapped_view;
DROP TABLE maps, maps_before, mapped, mapped_parted, mapped_empty, mapped_unlogged, "Mapped, too";
DROP EXTENSION pgbufprobe;
