-- pg_buffercache as the oracle of every count, and the live search as the
-- oracle of the replay.
--
-- Needs a server that nobody else uses, with autovacuum = off and
-- bgwriter_lru_maxpages = 0. Fills its pool, so a small one saves time.
--
-- A session's first use of a catalog reads pages and so moves usage counts.
-- Hence both sides of a comparison are taken within one function, which has
-- done the same once before.

BEGIN;

SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pgbufprobe;

SELECT count(*) > 0 AS has_oracle FROM pg_available_extensions WHERE name = 'pg_buffercache' \gset
\if :has_oracle
\else
SELECT plan(1);
SELECT skip('this server has no pg_buffercache');
SELECT * FROM finish();
ROLLBACK;
\quit
\endif
CREATE EXTENSION IF NOT EXISTS pg_buffercache;

SELECT plan(44);

-- A later checkpoint could clean pages between two counts.
CHECKPOINT;

CREATE FUNCTION pg_temp.pool() RETURNS int LANGUAGE sql
AS $$ SELECT setting::int FROM pg_settings WHERE name = 'shared_buffers' $$;

-- Clean and dirty pages, several forks, and in use by a cursor.
CREATE TABLE mixed (id int PRIMARY KEY, t text) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO mixed SELECT i, repeat('m', 100) FROM generate_series(1, 5000) i;
CHECKPOINT;
DELETE FROM mixed WHERE id BETWEEN 1000 AND 2000;
DECLARE pinning CURSOR FOR SELECT id FROM mixed;
MOVE 1 FROM pinning;

-- One row a page. Inserts go through the whole pool, not through a ring.
CREATE UNLOGGED TABLE filler (id int PRIMARY KEY, page text) WITH (autovacuum_enabled = off);
ALTER TABLE filler ALTER page SET STORAGE PLAIN;
CREATE PROCEDURE pg_temp.fill(pages int) LANGUAGE sql
AS $$ INSERT INTO filler SELECT i, repeat('x', 5000) FROM generate_series(1, pages) i $$;

-- ---------------------------------------------------------------------------
-- Histogram
-- ---------------------------------------------------------------------------

CREATE FUNCTION pg_temp.histogram_differences(asked regclass DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    differences text[];
BEGIN
    FOR try IN 1 .. 2 LOOP
        WITH mine AS MATERIALIZED (
            SELECT usagecount, buffers, dirty
              FROM pgbufprobe_usagecount_histogram(asked) WHERE buffers > 0
        ), oracle AS MATERIALIZED (
            SELECT usagecount::int, count(*), count(*) FILTER (WHERE isdirty)
              FROM pg_buffercache
             WHERE asked IS NULL
                OR (relfilenode = (SELECT pg_relation_filenode(asked))
                    AND (reldatabase = 0 OR reldatabase = (SELECT oid FROM pg_database
                                                            WHERE datname = current_database())))
             GROUP BY usagecount
        )
        SELECT array_agg(concat('pgbufprobe: ', mine, ', pg_buffercache: ', oracle)) INTO differences
          FROM mine FULL JOIN oracle ON mine = oracle WHERE mine IS NULL OR oracle IS NULL;
    END LOOP;
    RETURN QUERY SELECT unnest(differences);
END $$;

SELECT is_empty('SELECT * FROM pg_temp.histogram_differences()',
    'histogram of the pool equals pg_buffercache');
SELECT is_empty($$ SELECT * FROM pg_temp.histogram_differences('mixed') $$,
    'histogram of a table equals pg_buffercache');
SELECT is_empty($$ SELECT * FROM pg_temp.histogram_differences('mixed_pkey') $$,
    'histogram of an index equals pg_buffercache');
SELECT is_empty($$ SELECT * FROM pg_temp.histogram_differences('pg_class') $$,
    'histogram of a mapped catalog equals pg_buffercache');
SELECT is_empty($$ SELECT * FROM pg_temp.histogram_differences('pg_database') $$,
    'histogram of a shared catalog equals pg_buffercache');

-- That the comparisons above saw what they are about.
SELECT ok(sum(dirty) > 0 AND sum(dirty) < sum(buffers), 'the table has clean and dirty pages')
  FROM pgbufprobe_usagecount_histogram('mixed');

SELECT results_eq(
    $$ SELECT usagecount FROM pgbufprobe_usagecount_histogram('mixed') $$,
    $$ SELECT usagecount FROM pgbufprobe_usagecount_histogram() $$,
    'two histograms line up');

-- ---------------------------------------------------------------------------
-- Relations
-- ---------------------------------------------------------------------------

-- Names, known beforehand: looking one up would move a usage count.
CREATE TEMP TABLE databases AS SELECT oid, datname FROM pg_database;

CREATE FUNCTION pg_temp.relations_differences() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    differences text[];
BEGIN
    FOR try IN 1 .. 2 LOOP
        WITH mine AS MATERIALIZED (
            SELECT * FROM pgbufprobe_relations()
        ), cache AS MATERIALIZED (
            SELECT * FROM pg_buffercache WHERE relfilenode IS NOT NULL
        ), named AS (
            SELECT d.datname, c.relfilenode, (ARRAY['main', 'fsm', 'vm', 'init'])[relforknumber + 1] AS fork,
                   usagecount, isdirty
              FROM cache c
              LEFT JOIN databases d ON d.oid = c.reldatabase
        ), my_levels AS (
            SELECT database, relfilenode, fork, level - 1, n
              FROM mine, unnest(usagecounts) WITH ORDINALITY u(n, level) WHERE n > 0
        ), its_levels AS (
            SELECT datname, relfilenode, fork, usagecount, count(*)
              FROM named GROUP BY 1, 2, 3, 4
        ), my_sums AS (
            SELECT database, relfilenode, fork, buffers, dirty FROM mine
        ), its_sums AS (
            SELECT datname, relfilenode, fork, count(*), count(*) FILTER (WHERE isdirty)
              FROM named GROUP BY 1, 2, 3
        )
        SELECT array_agg(line) INTO differences
          FROM (SELECT 'pgbufprobe: ' || d AS line FROM (TABLE my_levels EXCEPT TABLE its_levels) d
                UNION ALL
                SELECT 'pg_buffercache: ' || d FROM (TABLE its_levels EXCEPT TABLE my_levels) d
                UNION ALL
                SELECT 'pgbufprobe: ' || d FROM (TABLE my_sums EXCEPT TABLE its_sums) d
                UNION ALL
                SELECT 'pg_buffercache: ' || d FROM (TABLE its_sums EXCEPT TABLE my_sums) d) lines;
    END LOOP;
    RETURN QUERY SELECT unnest(differences);
END $$;

SELECT is_empty('SELECT * FROM pg_temp.relations_differences()',
    'relations and forks equal pg_buffercache');

SELECT results_eq(
    $$ SELECT fork COLLATE "C" FROM pgbufprobe_relations() WHERE relation = 'mixed'::regclass ORDER BY 1 $$,
    $$ VALUES ('fsm' COLLATE "C"), ('main') $$,
    'a relation has a row for each fork in the pool');
SELECT is_empty(
    $$ SELECT * FROM pgbufprobe_relations()
        WHERE (database IS NULL OR database = current_database())
          AND pg_relation_filenode(relation) IS DISTINCT FROM relfilenode $$,
    'each file of this database belongs to the relation it is said to belong to');
SELECT is_empty(
    $$ SELECT * FROM pgbufprobe_relations()
        WHERE database <> current_database() AND relation IS NOT NULL $$,
    'no file of another database is said to be a relation of this one');
-- Half of the last of the four digits that an average is rounded to, and a bit for 2.1875, which is 2.188.
SELECT is_empty(
    $$ SELECT * FROM (SELECT r.*, (SELECT sum(n * (level - 1)) / r.buffers
                                     FROM unnest(usagecounts) WITH ORDINALITY u(n, level)) AS average
                        FROM pgbufprobe_relations() r) averaged
        WHERE abs(usagecount_avg - average) > 0.000501 $$,
    'the average is that of the array');
SELECT is(as_listed, sorted, 'the largest comes first')
  FROM (SELECT array_agg(buffers) AS as_listed, array_agg(buffers ORDER BY buffers DESC) AS sorted
          FROM pgbufprobe_relations()) ordered;

-- ---------------------------------------------------------------------------
-- What must stay as it is
-- ---------------------------------------------------------------------------

-- The lines of pg_buffercache that a query changes, and the hand if it moves.
CREATE FUNCTION pg_temp.changed_by(query text, ignore_usage boolean DEFAULT false)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    before text[];
    after text[];
BEGIN
    FOR try IN 1 .. 2 LOOP
        -- Raises counts, some of which the first try could have taken away.
        PERFORM * FROM mixed;
        SELECT array_agg(CASE WHEN ignore_usage THEN to_jsonb(b) - 'usagecount' ELSE to_jsonb(b) END)
               || CASE WHEN NOT ignore_usage THEN to_jsonb((SELECT ARRAY[passes, hand] FROM pgbufprobe_clock())) END
          INTO before FROM pg_buffercache b;
        EXECUTE query;
        SELECT array_agg(CASE WHEN ignore_usage THEN to_jsonb(b) - 'usagecount' ELSE to_jsonb(b) END)
               || CASE WHEN NOT ignore_usage THEN to_jsonb((SELECT ARRAY[passes, hand] FROM pgbufprobe_clock())) END
          INTO after FROM pg_buffercache b;
    END LOOP;
    RETURN QUERY SELECT 'before: ' || l FROM (SELECT unnest(before) EXCEPT SELECT unnest(after)) d(l);
    RETURN QUERY SELECT 'after: ' || l FROM (SELECT unnest(after) EXCEPT SELECT unnest(before)) d(l);
END $$;

SELECT is_empty(
    format('SELECT * FROM pg_temp.changed_by(%L)', query),
    query || ' changes no buffer and does not move the hand')
  FROM (VALUES
    ('SELECT * FROM pgbufprobe_sweep_cost(100000)'),
    ('SELECT * FROM pgbufprobe_scan_cost()'),
    ('SELECT * FROM pgbufprobe_usagecount_histogram()'),
    ('SELECT * FROM pgbufprobe_usagecount_histogram(''mixed'')'),
    ('SELECT * FROM pgbufprobe_relations()'),
    ('SELECT * FROM pgbufprobe_clock(''1 ms'')'),
    ('SELECT pgbufprobe_snapshot()'),
    ('SELECT * FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot())'),
    ('SELECT * FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot(), by_relation => true)'),
    ('SELECT * FROM pgbufprobe_checkup()')) queries(query);

SELECT is_empty(
    $$ SELECT * FROM pg_temp.changed_by('SELECT * FROM pgbufprobe_sweep_cost(100000, ''live'')', true) $$,
    'a live sweep evicts nothing, cleans nothing and loses no unused buffer');

-- ---------------------------------------------------------------------------
-- The replay announces what the live search does
-- ---------------------------------------------------------------------------

-- Announced and then done, as text that shows all that must agree.
CREATE FUNCTION pg_temp.announced_and_done(victims int, OUT announced text, OUT done text,
    OUT hand_moved bigint, OUT live_inspected bigint)
LANGUAGE plpgsql AS $$
DECLARE
    start bigint;
    n int;
    counts record;
BEGIN
    FOREACH n IN ARRAY ARRAY[1, victims] LOOP
        SELECT inspected, from_freelist, dirty_victims INTO counts
          FROM pgbufprobe_sweep_cost(n, 'current');
        announced := row_to_json(counts);
        SELECT passes * buffers + hand INTO start FROM pgbufprobe_clock();
        SELECT inspected, from_freelist, dirty_victims INTO counts
          FROM pgbufprobe_sweep_cost(n, 'live');
        done := row_to_json(counts);
        live_inspected := counts.inspected;
        SELECT passes * buffers + hand - start INTO hand_moved FROM pgbufprobe_clock();
    END LOOP;
END $$;

-- What pg_buffercache says about the same.
CREATE TEMP VIEW pool_state AS
SELECT count(*) FILTER (WHERE relfilenode IS NULL) AS unused,
       count(*) FILTER (WHERE pinning_backends > 0) AS pinned,
       sum(usagecount) FILTER (WHERE pinning_backends = 0) AS usage_sum
  FROM pg_buffercache;

-- There is no free list from 19 on: the hand finds unused buffers.
CREATE FUNCTION pg_temp.free_buffers() RETURNS bigint LANGUAGE sql AS $$
    SELECT CASE WHEN current_setting('server_version_num')::int < 190000 THEN unused ELSE 0 END
      FROM pool_state $$;

-- The last number of victims turns the hand often enough to use up each count.
CREATE FUNCTION pg_temp.all_turns() RETURNS int LANGUAGE sql AS $$
    SELECT pg_temp.pool() * (max(usagecount) + 1) FROM pgbufprobe_usagecount_histogram() $$;

-- Pages are given back to the free list by a truncation, taken from it by
-- reading. The pool is nowhere near full after this.
TRUNCATE filler;
CALL pg_temp.fill(pg_temp.pool() / 4);

SELECT cmp_ok(unused, '>', pg_temp.pool() / 4::bigint, 'there are unused buffers') FROM pool_state;

SELECT is(announced, done, 'with free buffers, as announced; victims: ' || victims)
  FROM unnest(ARRAY[1, 300, 1000, 2 * pg_temp.pool()]) victims,
       pg_temp.announced_and_done(victims);

-- Both read the list, and the list is what pg_buffercache shows as unused.
CREATE FUNCTION pg_temp.free_list_after_live(OUT before bigint, OUT after bigint, OUT unused bigint)
LANGUAGE plpgsql AS $$
BEGIN
    FOR try IN 1 .. 2 LOOP
        SELECT from_freelist INTO before FROM pgbufprobe_sweep_cost(2 * pg_temp.pool(), 'current');
        PERFORM pgbufprobe_sweep_cost(2 * pg_temp.pool(), 'live');
        SELECT from_freelist INTO after FROM pgbufprobe_sweep_cost(2 * pg_temp.pool(), 'current');
        unused := pg_temp.free_buffers();
    END LOOP;
END $$;
SELECT is(ARRAY[before, after], ARRAY[unused, unused],
    'the free list is as long as there are unused buffers, before and after a live sweep')
  FROM pg_temp.free_list_after_live();

-- More pages than buffers.
TRUNCATE filler;
CALL pg_temp.fill(pg_temp.pool() + pg_temp.pool() / 4);

SELECT is(unused, 0::bigint, 'the pool is full') FROM pool_state;

-- Counted from pg_buffercache: each unit of usage costs one inspection, and so does each victim, and each time that the
-- hand passes a pinned buffer.
CREATE FUNCTION pg_temp.foretold(scenario text, per_buffer int, OUT replayed bigint, OUT counted bigint)
LANGUAGE plpgsql AS $$
BEGIN
    FOR try IN 1 .. 2 LOOP
        SELECT c.inspected INTO replayed FROM pgbufprobe_sweep_cost(pg_temp.all_turns(), scenario) c;
        SELECT pg_temp.all_turns() + coalesce(per_buffer * (pg_temp.pool() - pinned), usage_sum)
               + replayed / buffers * pinned + (SELECT count(*) FROM pg_buffercache
                  WHERE pinning_backends > 0 AND (bufferid - 1 - hand + buffers) % buffers < replayed % buffers)
          INTO counted FROM pool_state, pgbufprobe_clock();
    END LOOP;
END $$;
SELECT is(replayed, counted, '"current" inspects as often as the usage counts add up to')
  FROM pg_temp.foretold('current', NULL);
SELECT is(replayed, counted, '"worst" inspects as often as the highest usage counts add up to')
  FROM (SELECT max(usagecount) AS highest FROM pgbufprobe_usagecount_histogram()) h,
       pg_temp.foretold('worst', highest);

SELECT is(announced, done, 'full pool, as announced; victims: ' || victims)
  FROM unnest(ARRAY[1, 300, 1000, 2 * pg_temp.pool()]) victims,
       pg_temp.announced_and_done(victims);

-- And once more with the counts in another state: all used up, some raised.
DO 'BEGIN PERFORM * FROM mixed; END';
SELECT is(announced, done, 'full pool after use, as announced; victims: 2 x pool')
  FROM pg_temp.announced_and_done(2 * pg_temp.pool());
SELECT is(hand_moved, live_inspected, 'the hand moves by what the live sweep inspects')
  FROM pg_temp.announced_and_done(1000);
SELECT cmp_ok(pinned, '>', 0::bigint, 'there were pinned buffers on the way') FROM pool_state;
SELECT cmp_ok((done::json->>'dirty_victims')::bigint, '>', 0::bigint, 'there were dirty victims')
  FROM pg_temp.announced_and_done(2 * pg_temp.pool());

-- ---------------------------------------------------------------------------
-- Scans
-- ---------------------------------------------------------------------------

SELECT is(matched, (SELECT count(*) FROM pg_buffercache WHERE isdirty), 'the locked scan finds the dirty buffers')
  FROM pgbufprobe_scan_cost(1) WHERE method = 'lock';
SELECT is(matched, 0::bigint, 'the comparing scan looks for a relation that is not there')
  FROM pgbufprobe_scan_cost(1) WHERE method = 'match';
SELECT is(matched, NULL, 'the reading scan looks for nothing')
  FROM pgbufprobe_scan_cost(1) WHERE method = 'read';

SELECT * FROM finish();
ROLLBACK;
