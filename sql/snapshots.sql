-- Snapshots and the differences between them; what is known without the background worker.
CREATE EXTENSION pgbufprobe;
\set SHOW_CONTEXT never
SELECT setting::integer AS pool FROM pg_settings WHERE name = 'shared_buffers' \gset
SELECT pg_stat_reset_shared('bgwriter');

-- A snapshot is a value, which its user keeps where he likes.
CREATE TABLE kept (label text PRIMARY KEY, state jsonb);
INSERT INTO kept VALUES ('first', pgbufprobe_snapshot());
SELECT array_agg(key ORDER BY key COLLATE "C") AS fields FROM kept, jsonb_object_keys(state) AS key;
SELECT (state->>'format')::integer AS format, (state->>'shared_buffers')::integer = :pool AS pool,
       (state->>'hand')::integer BETWEEN 0 AND :pool - 1 AS hand_in_pool,
       (state->>'taken_at')::timestamptz BETWEEN pg_postmaster_start_time() AND clock_timestamp() AS taken_just_now,
       (state->>'statistics_reset_at')::timestamptz = pg_stat_get_bgwriter_stat_reset_time() AS reset,
       state->>'database' = current_database() AS here
FROM kept;
SELECT jsonb_agg(level->'usagecount') AS usagecounts, sum((level->>'buffers')::bigint) = :pool AS whole_pool,
       bool_and((level->>'dirty')::bigint <= (level->>'buffers')::bigint) AS among_them
FROM kept, jsonb_array_elements(state->'usagecounts') AS level;

-- It says what the functions say that look at the pool now.  The second look counts: the first one of a session at
-- a catalog moves usage counts.
CREATE VIEW snapshot_and_pool AS
WITH taken AS MATERIALIZED (
    SELECT pgbufprobe_snapshot() AS state
), clock AS MATERIALIZED (
    SELECT * FROM pgbufprobe_clock()
), histogram AS MATERIALIZED (
    SELECT usagecount, buffers, dirty FROM pgbufprobe_usagecount_histogram()
), relations AS MATERIALIZED (
    SELECT relation, fork, buffers, dirty FROM pgbufprobe_relations()
    WHERE database IS NULL OR database = current_database()
), named AS (
    SELECT r.* FROM taken, jsonb_to_recordset(state->'relations')
        AS r(relation text, oid oid, fork text, buffers bigint, dirty bigint)
), other AS (
    SELECT o.* FROM taken, jsonb_to_record(state->'other_relations') AS o(forks bigint, buffers bigint, dirty bigint)
)
SELECT (SELECT (state->>'hand', state->>'passes', state->>'allocations')
             = (hand::text, passes::text, allocations::text) FROM taken, clock) AS same_clock,
       (SELECT array_agg(l ORDER BY usagecount) FROM taken,
               jsonb_to_recordset(state->'usagecounts') AS l(usagecount integer, buffers bigint, dirty bigint))
       = (SELECT array_agg(h ORDER BY usagecount) FROM histogram h) AS same_histogram,
       (SELECT count(*) > 20 AND bool_and((r.buffers, r.dirty) = (n.buffers, n.dirty))
          FROM named n LEFT JOIN relations r ON r.relation = n.oid AND r.fork = n.fork) AS same_relations,
       (SELECT bool_and(to_regclass(relation)::oid = oid) FROM named) AS qualified_names,
       (SELECT count(*) FROM named) <= 200 AS not_too_many,
       (SELECT (SELECT count(*) FROM named) + forks = (SELECT count(*) FROM relations) AND
               (SELECT sum(buffers) FROM named) + buffers = (SELECT sum(buffers) FROM relations) AND
               (SELECT sum(dirty) FROM named) + dirty = (SELECT sum(dirty) FROM relations) FROM other) AS others_are_the_rest;
-- The background writer may publish allocations between the snapshot and the clock, so there are further looks.
CREATE FUNCTION snapshot_and_pool_again() RETURNS snapshot_and_pool LANGUAGE plpgsql AS $$
DECLARE
    seen snapshot_and_pool;
BEGIN
    FOR look IN 1 .. 10 LOOP
        SELECT * INTO seen FROM snapshot_and_pool;
        EXIT WHEN look > 1 AND seen.same_clock;
    END LOOP;
    RETURN seen;
END $$;
SELECT * FROM snapshot_and_pool_again();

-- Nothing has changed between a snapshot and itself.
SELECT relation, fork, usagecount, from_buffers = to_buffers AND from_dirty = to_dirty AS same, passes
FROM kept, pgbufprobe_snapshot_diff(state, state);
SELECT count(*) > 20 AS many, bool_and((from_buffers, from_dirty) = (to_buffers, to_dirty)) AS same, count(usagecount) AS usagecounts,
       min(passes) AS from_passes, max(passes) AS to_passes
FROM kept, pgbufprobe_snapshot_diff(state, state, true);

-- A sweep.  After a search, the hand stands behind a buffer whose count is 0, and as many searches as there
-- are such buffers, beside those that the free list serves, bring it back there: one whole turn.
CREATE TABLE swept (id integer, filler text) WITH (autovacuum_enabled = off);
SELECT pgbufprobe_snapshot() AS before \gset
INSERT INTO swept SELECT i, repeat('x', 500) FROM generate_series(1, 20000) i;
SELECT ordinality, coalesce(from_buffers, 0) AS from_buffers, to_buffers * current_setting('block_size')::bigint = pg_relation_size('swept') AS all_of_it
FROM pgbufprobe_snapshot_diff(:'before', by_relation => true) WITH ORDINALITY WHERE relation = 'public.swept' AND fork = 'main';

CREATE VIEW pool AS
SELECT from_freelist AS free, sum(buffers) AS unused
FROM pgbufprobe_usagecount_histogram(),
     pgbufprobe_sweep_cost((SELECT setting::integer FROM pg_settings WHERE name = 'shared_buffers'), 'current')
WHERE coalesce(usagecount, 0) = 0
GROUP BY from_freelist;
-- all once before it counts
SELECT free + 1 AS victims FROM pool \gset
SELECT scenario FROM pgbufprobe_sweep_cost(:victims, 'live');
SELECT free + unused AS victims FROM pool \gset

SELECT pgbufprobe_snapshot() AS before \gset
SELECT scenario FROM pgbufprobe_sweep_cost(:victims, 'live');
SELECT pgbufprobe_snapshot() AS after \gset
INSERT INTO kept VALUES ('before', :'before'), ('after', :'after');

-- every usage count has gone one to the left
SELECT usagecount, abs(to_buffers - shifted) < 16 AS one_to_the_left,
       round(passes::numeric, 1) AS passes
FROM (SELECT *, CASE WHEN coalesce(usagecount, 0) = 0 THEN from_buffers ELSE 0 END
                + coalesce(lead(from_buffers) OVER (PARTITION BY usagecount IS NULL ORDER BY usagecount), 0) AS shifted
      FROM pgbufprobe_snapshot_diff(:'before', :'after')) AS diff
ORDER BY usagecount;
SELECT count(*) AS rows, max(from_buffers) FILTER (WHERE usagecount > 0) > 1000 AS many_moved, sum(to_buffers - from_buffers) AS lost,
       count(DISTINCT passes) AS ways,
       round(min(passes) * :pool) = ((:'after'::jsonb->>'passes')::bigint - (:'before'::jsonb->>'passes')::bigint) * :pool
                                    + (:'after'::jsonb->>'hand')::bigint - (:'before'::jsonb->>'hand')::bigint AS passes_add_up
FROM pgbufprobe_snapshot_diff(:'before', :'after');

-- of relations: the same sums, largest change first
SELECT sum(from_buffers) = (SELECT sum((r->>'buffers')::bigint)
                            FROM kept, jsonb_array_elements((state->'relations') || (state->'other_relations')) AS r WHERE label = 'before') AS from_adds_up,
       sum(to_buffers) = (SELECT sum((r->>'buffers')::bigint)
                          FROM kept, jsonb_array_elements((state->'relations') || (state->'other_relations')) AS r WHERE label = 'after') AS to_adds_up,
       bool_and(change <= previous) FILTER (WHERE relation IS NOT NULL) AS in_order,
       bool_and(passes = (SELECT max(passes) FROM pgbufprobe_snapshot_diff(:'before', :'after'))) AS same_passes
FROM (SELECT *, lag(change) OVER (ORDER BY ordinality) AS previous
      FROM pgbufprobe_snapshot_diff(:'before', :'after', true) WITH ORDINALITY,
           LATERAL (SELECT abs(coalesce(to_buffers, 0) - coalesce(from_buffers, 0)) AS change) l) d;

-- with one of them from a table, and from one to now
SELECT count(*) AS rows, bool_and(d = n) AS same
FROM pgbufprobe_snapshot_diff(:'before', :'after') d
JOIN (SELECT n.* FROM kept b, kept a, pgbufprobe_snapshot_diff(b.state, a.state) n WHERE b.label = 'before' AND a.label = 'after') n
     ON d.usagecount IS NOT DISTINCT FROM n.usagecount;
SELECT count(*) AS rows, bool_and(d.from_buffers = n.from_buffers AND d.passes <= n.passes) AS later
FROM pgbufprobe_snapshot_diff(:'before', :'after') d JOIN pgbufprobe_snapshot_diff(:'before') n
     ON d.usagecount IS NOT DISTINCT FROM n.usagecount;

-- back to front, whether the hand has moved between them or not
SELECT * FROM pgbufprobe_snapshot_diff(:'after', :'before');
SELECT * FROM pgbufprobe_snapshot_diff(:'after', :'before', true);
SELECT * FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot(), :'after'::jsonb || jsonb_build_object('hand', (pgbufprobe_clock()).hand, 'passes', (pgbufprobe_clock()).passes));
SELECT * FROM pgbufprobe_snapshot_diff(:'after'::jsonb || '{"run": "later"}', :'before');

-- What can be known of the way from one to the other.
CREATE FUNCTION way(before jsonb, after jsonb, OUT passes double precision) RETURNS SETOF double precision LANGUAGE sql AS $$
    SELECT DISTINCT passes FROM pgbufprobe_snapshot_diff($1, (SELECT state FROM kept WHERE label = 'before') || $2)
$$;
CREATE FUNCTION way_to(after jsonb, OUT passes double precision) RETURNS SETOF double precision LANGUAGE sql AS $$
    SELECT w.* FROM kept, way(state || jsonb_build_object('passes', 10, 'hand', 100, 'shared_buffers', 1000),
                              jsonb_build_object('passes', 12, 'hand', 50, 'shared_buffers', 1000) || after) w
    WHERE label = 'before'
$$;
SELECT * FROM way_to('{}');
-- the server was started in between, or its pool was another
SELECT * FROM way_to('{"run": "another"}');
SELECT * FROM way_to('{"shared_buffers": 2000}');
SELECT * FROM way_to('{"shared_buffers": 0}');
-- the clock of the machine was put back
SELECT * FROM way_to('{"taken_at": "2000-01-01 00:00:00+00"}');
SELECT * FROM way_to('{"taken_at": "2000-01-01 00:00:00+00", "passes": 10, "hand": 99}');
-- the server's count of passes wraps at 2^32
SELECT round(passes * :pool) = 2 * :pool + 7 AS all_of_it FROM kept, way(state || jsonb_build_object('passes', 4294967295, 'hand', 0), '{"passes": 1, "hand": 7}')
WHERE label = 'before';
-- years of a large pool apart
SELECT * FROM way_to('{"passes": 2147483657, "hand": 2147483647}');
SELECT * FROM way_to('{"hand": 9223372036854775807, "passes": 9223372036854775807}');

-- A relation that one snapshot names and the other does not: that one had no page of it if it names all relations.
CREATE FUNCTION of_relations(others integer, VARIADIC relations jsonb[] DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT state || jsonb_build_object('relations', relations, 'other_relations',
                                       jsonb_build_object('forks', others, 'buffers', 10 * others, 'dirty', others))
    FROM kept WHERE label = 'first' $$;
CREATE FUNCTION relation(name text, buffers integer, oid bigint DEFAULT 1, fork text DEFAULT 'main') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('relation', name, 'oid', oid, 'fork', fork, 'buffers', buffers, 'dirty', 1) $$;
SELECT * FROM pgbufprobe_snapshot_diff(of_relations(0), of_relations(0, relation('public.one', 5)), true);
SELECT * FROM pgbufprobe_snapshot_diff(of_relations(0, relation('public.one', 5)), of_relations(0), true);
SELECT * FROM pgbufprobe_snapshot_diff(of_relations(3), of_relations(0, relation('public.one', 5)), true);
SELECT * FROM pgbufprobe_snapshot_diff(of_relations(0, relation('public.one', 5)), of_relations(3), true);
-- the largest change first, up or down, which counts from or to nothing where it is unknown; a relation with another
-- name is the same, one with another number is not
SELECT * FROM pgbufprobe_snapshot_diff(
    of_relations(2, relation('public.old', 5), relation('public.less', 50, 2), relation('public.gone', 1000, 4), relation('public.fork', 7, 5, 'fsm')),
    of_relations(1, relation('public.new', 9), relation('public.less', 20, 2), relation('public.old', 900, 3), relation('public.fork', 8, 5, 'fsm')), true);
SELECT relation, from_buffers, to_buffers FROM pgbufprobe_snapshot_diff(of_relations(0), of_relations(0), true);
-- several that are gone, and several that have come, by the same number of pages
SELECT relation, fork, to_buffers - from_buffers AS change FROM pgbufprobe_snapshot_diff(
    of_relations(0, relation('public.b', 5, 2), relation('public.a', 5, 1), relation('public.a', 5, 1, 'fsm')), of_relations(0), true);
SELECT relation, fork, to_buffers - from_buffers AS change FROM pgbufprobe_snapshot_diff(
    of_relations(0), of_relations(0, relation('public.b', 5, 2), relation('public.a', 5, 1), relation('public.a', 5, 1, 'fsm')), true);
SELECT * FROM pgbufprobe_snapshot_diff(of_relations(0), of_relations(0) || '{"database": "elsewhere"}', true);
SELECT count(*) AS rows FROM pgbufprobe_snapshot_diff(of_relations(0), of_relations(0) || '{"database": "elsewhere"}');

-- What is no snapshot: each kind of damage, as either argument of both kinds of difference, has an error that names it.
CREATE FUNCTION complaint(bad jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    good jsonb := (SELECT state FROM kept WHERE label = 'first');
    call text;
    state text;
    message text;
    detail text;
    context text;
    said text[];
BEGIN
    FOREACH call IN ARRAY '{"pgbufprobe_snapshot_diff($1, $2)", "pgbufprobe_snapshot_diff($2, $1)",
                            "pgbufprobe_snapshot_diff($1, $2, true)", "pgbufprobe_snapshot_diff($2, $1, true)"}'::text[] LOOP
        BEGIN
            EXECUTE 'SELECT count(*) FROM ' || call USING bad, good;
            said := said || 'accepted'::text;
        EXCEPTION WHEN others THEN
            GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
                                    context = PG_EXCEPTION_CONTEXT;
            said := said || concat_ws(' ', state, replace(message, CASE WHEN call LIKE '%($1%' THEN '"before"' ELSE '"after"' END, '...') || '.',
                                      detail, substring(context FROM '^field .*? of a snapshot'));
        END;
    END LOOP;
    RETURN (SELECT string_agg(DISTINCT s, E'\n') FROM unnest(said) AS s);
END $$;
-- whether a complaint is the one that is wanted, and otherwise the complaint
CREATE FUNCTION names(complaint text, field text, wanted text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN complaint = format('22023 argument ... is not a complete snapshot. Its field "%s" must be %s.', field, wanted)
                THEN 'as expected' ELSE complaint END $$;
CREATE VIEW good AS SELECT state FROM kept WHERE label = 'first';
SELECT complaint(state) FROM good;

SELECT bad, complaint(bad) FROM (VALUES
    ('null'::jsonb), ('5'), ('"text"'), ('[]'), ('[{"format": 1}]'), ('{}'), ('{"format": 2}'), ('{"format": 0}'), ('{"format": "1"}'),
    ('{"format": 1}')) AS v(bad);
SELECT complaint(jsonb_build_array(state)) FROM good;
SELECT complaint(to_jsonb(state::text)) FROM good;

-- each field missing in turn; a difference does not use two of them
SELECT key, complaint(state - key) FROM good, jsonb_object_keys(state) AS key ORDER BY key COLLATE "C";
SELECT key, complaint(jsonb_set(state, '{usagecounts,2}', (state #> '{usagecounts,2}') - key))
FROM good, jsonb_object_keys(state #> '{usagecounts,2}') AS key ORDER BY key COLLATE "C";
SELECT key, complaint(jsonb_set(state, '{relations,0}', (state #> '{relations,0}') - key))
FROM good, jsonb_object_keys(state #> '{relations,0}') AS key ORDER BY key COLLATE "C";
SELECT key, complaint(jsonb_set(state, '{other_relations}', (state->'other_relations') - key))
FROM good, jsonb_object_keys(state->'other_relations') AS key ORDER BY key COLLATE "C";

-- each count as something else
SELECT names(complaint(jsonb_set(state, path::text[], bad)), field, 'a non-negative integer'), count(*)
FROM good,
     (VALUES ('{format}', 'format'), ('{shared_buffers}', 'shared_buffers'), ('{hand}', 'hand'), ('{passes}', 'passes'),
             ('{usagecounts,0,buffers}', 'buffers'), ('{usagecounts,6,dirty}', 'dirty'), ('{relations,0,oid}', 'oid'), ('{relations,1,buffers}', 'buffers'),
             ('{relations,2,dirty}', 'dirty'), ('{other_relations,forks}', 'forks'),
             ('{other_relations,buffers}', 'buffers'), ('{other_relations,dirty}', 'dirty'))
       AS p(path, field),
     (VALUES ('null'::jsonb), ('true'), ('"5"'), ('"NaN"'), ('""'), ('[]'), ('[5]'), ('{}'), ('-1'), ('-1e-10'), ('0.5'), ('1.0'), ('1e400'), ('-1e400'),
             ('9223372036854775808'), ('18446744073709551616')) AS b(bad)
GROUP BY 1;
SELECT complaint(jsonb_set(state, '{relations,0,buffers}', '9223372036854775807')) AS largest, complaint(jsonb_set(state, '{relations,0,buffers}', '-0')) AS smallest FROM good;

SELECT complaint(jsonb_set(state, '{relations,0,oid}', '4294967295')) AS largest,
       complaint(jsonb_set(state, '{relations,0,oid}', '4294967296')) AS too_large FROM good;

-- each text, each time, each array and object
SELECT names(complaint(jsonb_set(state, path::text[], bad)), field, 'a string'), count(*)
FROM good, (VALUES ('{run}', 'run'), ('{database}', 'database'), ('{taken_at}', 'taken_at'),
                   ('{relations,0,relation}', 'relation'), ('{relations,0,fork}', 'fork')) AS p(path, field),
           (VALUES ('null'::jsonb), ('false'), ('5'), ('["text"]'), ('{}')) AS b(bad)
GROUP BY 1;
SELECT bad, complaint(jsonb_set(state, '{taken_at}', to_jsonb(bad)))
FROM good, (VALUES ('infinity'), ('-infinity'), (''), ('soon'), ('2026-13-01'), ('999999-01-01'), ('2026-01-01 00:00:00 Nowhere/Land')) AS b(bad);
SELECT field, bad, complaint(jsonb_set(state, ARRAY[field], bad))
FROM good, (VALUES ('usagecounts'), ('relations'), ('other_relations')) AS f(field),
           (VALUES ('null'::jsonb), ('5'), ('"text"'), ('{}'), ('[5, 5, 5, 5, 5, 5, 5]'), ('[[], [], [], [], [], [], []]'),
                   ('[null, null, null, null, null, null, null]')) AS b(bad);

-- lengths
SELECT complaint(jsonb_set(state, '{usagecounts}', '[]')) AS none, complaint(state #- '{usagecounts,0}') AS one_less,
       complaint(jsonb_insert(state, '{usagecounts,0}', state #> '{usagecounts,0}')) AS one_more FROM good;
SELECT complaint(state || jsonb_build_object('relations', (SELECT jsonb_agg(relation('r', 1, i)) FROM generate_series(1, 200) i))) AS most,
       complaint(state || jsonb_build_object('relations', (SELECT jsonb_agg(relation('r', 1, i)) FROM generate_series(1, 201) i))) AS too_many
FROM good;
-- usage counts stand in their order
SELECT complaint(jsonb_set(state, '{usagecounts}', (SELECT jsonb_agg(l ORDER BY l->>'usagecount' DESC) FROM jsonb_array_elements(state->'usagecounts') l)))
       AS turned_round, complaint(jsonb_set(state, '{usagecounts,6,usagecount}', '6')) AS six FROM good;
-- fields that a program has added are ignored
SELECT complaint(state || '{"label": "mine", "nested": [{}]}') FROM good;

SELECT * FROM pgbufprobe_snapshot_diff(NULL);
SELECT * FROM pgbufprobe_snapshot_diff(:'after', NULL);
SELECT * FROM pgbufprobe_snapshot_diff(NULL, :'after', true);
SELECT count(*) AS usagecounts FROM pgbufprobe_snapshot_diff(:'before', :'after', NULL);

-- Nobody has watched: what the sampler does is an error, advice says why there is none.
SELECT * FROM pgbufprobe_status();
SELECT * FROM pgbufprobe_history();
SELECT * FROM pgbufprobe_hours();
SELECT * FROM pgbufprobe_predictions();
SELECT pgbufprobe_history_reset();
SELECT size_factor, shared_buffers_bytes = size_factor * :pool * current_setting('block_size')::integer AS bytes,
       num_nonnulls(os_cache_bytes, fits, miss_ratio, miss_ratio_low, miss_ratio_high, storage_ratio, storage_ratio_low,
                    storage_ratio_high, read_ms_per_second, read_ms_low, read_ms_high) AS figures, count(*) OVER (PARTITION BY note) AS same_note
FROM pgbufprobe_advice();
SELECT DISTINCT note FROM pgbufprobe_advice();

-- The checkup.
CREATE TABLE checkup AS SELECT * FROM pgbufprobe_checkup() WITH ORDINALITY;
SELECT topic, verdict IN ('fine', 'consider', 'change', 'unknown') AS verdict, (action IS NULL) = (verdict = 'fine') AS action,
       answer ~ '^[A-Z0-9].*\.$' AND coalesce(action, 'A.') ~ '^[A-Z].*[.;]$' AND coalesce(detail, 'A.') ~ '^[A-Z0-9].*\.$' AS sentences,
       length(answer) <= 72 AS short, (verdict = 'unknown') = (answer ~ '^(Unknown: |Too early)') AS known
FROM checkup ORDER BY ordinality;
SELECT abs(coalesce(pg_size_bytes(substring(answer FROM ': (.*) of ')), 0) - buffers * current_setting('block_size')::integer)
       <= 0.01 * :pool * current_setting('block_size')::integer AS free_by_histogram
FROM pgbufprobe_checkup(), pgbufprobe_usagecount_histogram() WHERE topic = 'pool' AND usagecount IS NULL;
-- no answer promises forever, and none is about one database only
SELECT topic, answer FROM checkup WHERE concat(answer, action, detail) ~* 'for ever|forever|database';
-- what it names is there
SELECT DISTINCT function FROM checkup, regexp_matches(concat_ws(' ', answer, action, detail), '(pgbufprobe_\w+)', 'g') AS m,
       LATERAL (SELECT m[1] AS function) f
WHERE to_regproc(function) IS NULL;

DROP FUNCTION snapshot_and_pool_again, way, way_to, of_relations, relation, complaint, names;
DROP VIEW pool, good, snapshot_and_pool;
DROP TABLE swept, kept, checkup;
DROP EXTENSION pgbufprobe;
