-- pg_buffercache as the oracle of every count, and the live search as that of the replay.
--
-- Needs a server that nobody else uses, with autovacuum = off and bgwriter_lru_maxpages = 0. Fills its pool, so a small one saves
-- time.
--
-- A session's first use of a catalog reads pages and so moves usage counts. Hence both sides of a comparison are taken within
-- one function, which has done the same once before.
SET client_min_messages = warning;
CREATE EXTENSION pgbufprobe;
CREATE EXTENSION pg_buffercache;
BEGIN;

-- A later checkpoint could clean pages between two counts.
CHECKPOINT;

CREATE FUNCTION pg_temp.pool() RETURNS int LANGUAGE sql
AS $$ SELECT setting::int FROM pg_settings WHERE name = 'shared_buffers' $$;

-- Clean and dirty pages, several forks, and in use by a cursor.
CREATE SEQUENCE numbers;
SELECT nextval('numbers');
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

-- Histogram

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

SELECT asked, difference
FROM (VALUES (NULL::regclass), ('mixed'), ('mixed_pkey'), ('numbers'), ('pg_class'), ('pg_database')) relation(asked),
     LATERAL pg_temp.histogram_differences(asked) AS difference;

-- The comparisons above saw clean and dirty pages.
SELECT sum(dirty) > 0 AS dirty, sum(dirty) < sum(buffers) AS clean FROM pgbufprobe_usagecount_histogram('mixed');

-- The forks of a table beside its main one count, too.
SELECT sum(buffers) = (SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('mixed')) AS all_forks
FROM pgbufprobe_usagecount_histogram('mixed');

-- The histogram sums up to shared_buffers, and two histograms line up.
SELECT sum(buffers) = pg_temp.pool() AS whole_pool,
       array_agg(usagecount) = (SELECT array_agg(usagecount) FROM pgbufprobe_usagecount_histogram('mixed')) AS line_up
FROM pgbufprobe_usagecount_histogram();

-- Relations

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

SELECT * FROM pg_temp.relations_differences();

SELECT fork FROM pgbufprobe_relations() WHERE relation = 'mixed'::regclass ORDER BY 1;

-- Files of this database that are not of the relation that they are said to belong to, and those of another one with the name
-- of a relation of this one.
SELECT * FROM pgbufprobe_relations()
WHERE CASE WHEN coalesce(database, current_database()) = current_database()
           THEN pg_relation_filenode(relation) IS DISTINCT FROM relfilenode ELSE relation IS NOT NULL END;

-- The average is that of the array, but for half of the last of the four digits that it is rounded to, and a bit for 2.1875,
-- which is 2.188.
SELECT * FROM (SELECT r.*, (SELECT sum(n * (level - 1)) / r.buffers
                              FROM unnest(usagecounts) WITH ORDINALITY u(n, level)) AS average
                 FROM pgbufprobe_relations() r) averaged
WHERE abs(usagecount_avg - average) > 0.000501;

-- The largest comes first, and all add up to the histogram of the pool.
SELECT array_agg(buffers) = array_agg(buffers ORDER BY buffers DESC) AS sorted,
       sum(buffers) = (SELECT sum(buffers) FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NOT NULL) AS adds_up
FROM pgbufprobe_relations();

-- What must stay as it is

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

-- No query changes a buffer or moves the hand, but a live sweep, which evicts nothing, cleans nothing and loses no unused buffer.
SELECT query, change
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
    ('SELECT * FROM pgbufprobe_checkup()'),
    ('SELECT * FROM pgbufprobe_sweep_cost(100000, ''live'')')) queries(query),
     LATERAL pg_temp.changed_by(query, query ~ 'live') AS change;

-- The replay announces what the live search does

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

-- Pages are given back to the free list by a truncation, taken from it by reading. The pool is nowhere near full after this.
CALL pg_temp.fill(pg_temp.pool() + pg_temp.pool() / 4);
TRUNCATE filler;
CALL pg_temp.fill(pg_temp.pool() / 4);
SELECT unused > pg_temp.pool() / 4 AS has_unused FROM pool_state;

CREATE TEMP VIEW wrongly_announced AS
SELECT victims, a.* FROM unnest(ARRAY[1, 300, 1000, 2 * pg_temp.pool()]) victims, LATERAL pg_temp.announced_and_done(victims) a WHERE announced IS DISTINCT FROM done;
TABLE wrongly_announced;

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
SELECT before = unused AS announces_all, after = unused AS loses_none FROM pg_temp.free_list_after_live();

-- More pages than buffers.
TRUNCATE filler;
CALL pg_temp.fill(pg_temp.pool() + pg_temp.pool() / 4);

SELECT unused FROM pool_state;

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
SELECT scenario, replayed, counted
FROM (SELECT max(usagecount) AS highest FROM pgbufprobe_usagecount_histogram()) h,
     LATERAL (VALUES ('current', NULL), ('worst', highest)) s(scenario, per_buffer),
     LATERAL pg_temp.foretold(scenario, per_buffer) WHERE replayed IS DISTINCT FROM counted;
TABLE wrongly_announced;

-- And once more with the counts in another state: all used up, some raised. There were pinned buffers on the way, and dirty
-- victims. The hand moves by what the live sweep inspects.
DO 'BEGIN PERFORM * FROM mixed; END';
SELECT announced = done AS as_announced FROM pg_temp.announced_and_done(2 * pg_temp.pool());
SELECT hand_moved = live_inspected AS hand_moved FROM pg_temp.announced_and_done(1000);
SELECT pinned > 0 AS has_pinned FROM pool_state;
SELECT (done::json->>'dirty_victims')::bigint > 0 AS has_dirty FROM pg_temp.announced_and_done(2 * pg_temp.pool());

-- Scans

-- The locked scan finds the dirty buffers, the comparing one looks for a relation that is not there, the reading one for nothing.
SELECT method, CASE method WHEN 'lock' THEN matched - (SELECT count(*) FROM pg_buffercache WHERE isdirty) ELSE matched END AS matched
FROM pgbufprobe_scan_cost(1);

ROLLBACK;
DROP EXTENSION pg_buffercache;
DROP EXTENSION pgbufprobe;
