# A snapshot names 200 relations, and those of a rewritten one once; a difference loses nothing of the others.

use strict;
use warnings;

use Server;
use Test::More;

my $node = start_server('main', "shared_buffers = 2048\n$no_background_writes");

# ---------------------------------------------------------------------------
# More relations than a snapshot names

ask($node, 'CREATE DATABASE many');
$node->safe_psql(
	'many', q{
	CREATE EXTENSION pgbufprobe;
	DO $$ BEGIN
		FOR i IN 1 .. 300 LOOP
			EXECUTE format('CREATE TABLE t%s AS SELECT repeat(%L, 900) AS x FROM generate_series(1, 8 + %s %% 8)', i, 'x', i);
		END LOOP;
	END $$;
	CREATE TABLE late (x text);
	CREATE VIEW named AS SELECT r.* FROM pgbufprobe_snapshot() AS state,
		jsonb_to_recordset(state->'relations') AS r(relation text, oid oid, fork text, buffers bigint);
	CREATE VIEW here AS SELECT * FROM pgbufprobe_relations() WHERE database IS NULL OR database = current_database();
	CREATE VIEW compared(named, many, different, largest, buffers, forks) AS SELECT
		(SELECT count(*) FROM named), (SELECT count(*) > 300 FROM here),
		(SELECT count(*) FROM named n LEFT JOIN here h ON h.relation = n.oid AND h.fork = n.fork WHERE n.buffers IS DISTINCT FROM h.buffers),
		(SELECT min(buffers) FROM named) >= (SELECT max(buffers) FROM here h WHERE NOT EXISTS (SELECT FROM named n WHERE h.relation = n.oid AND h.fork = n.fork)),
		(SELECT (SELECT sum(buffers) FROM here) = (state->'other_relations'->>'buffers')::bigint
			+ (SELECT sum((r->>'buffers')::bigint) FROM jsonb_array_elements(state->'relations') r) FROM pgbufprobe_snapshot() AS state),
		(SELECT (SELECT count(*) FROM here) = (state->'other_relations'->>'forks')::bigint + 200 FROM pgbufprobe_snapshot() AS state)});
my $session = $node->background_psql('many');
$session->query_safe('SELECT * FROM compared') for 1 .. 2;
is($session->query_safe('SELECT * FROM compared'), '200|t|0|t|t|t', 'the 200 largest are named, the others are a sum');
$session->query_safe('CREATE TEMP TABLE before AS SELECT pgbufprobe_snapshot() AS state');
$session->query_safe(q{INSERT INTO late SELECT repeat('x', 500) FROM generate_series(1, 3000)});
$session->query_safe('CREATE TEMP TABLE after AS SELECT pgbufprobe_snapshot() AS state');
my $changes = 'before b, after a, pgbufprobe_snapshot_diff(b.state, a.state, by_relation => true) WITH ORDINALITY d';
is($session->query_safe(
		"SELECT ordinality, fork, coalesce(from_buffers, -1), to_buffers * 8192 = pg_relation_size('late')
		   FROM $changes WHERE relation = 'public.late' AND fork = 'main'"),
	'1|main|-1|t', 'one that came in comes first, with a change that is unknown');
is($session->query_safe(
		"SELECT count(*) FILTER (WHERE relation IS NULL), max(ordinality) FILTER (WHERE relation IS NULL) = count(*),
		        count(from_buffers) - count(*) FILTER (WHERE relation IS NULL), count(to_buffers) - count(*) FILTER (WHERE relation IS NULL)
		   FROM $changes"), '1|t|200|200', 'both name 200, and the sum of the others comes last');
is($session->query_safe(
		"SELECT sum(from_buffers) = (SELECT sum((r->>'buffers')::bigint) FROM before, jsonb_array_elements((state->'relations') || (state->'other_relations')) r),
		        sum(to_buffers) = (SELECT sum((r->>'buffers')::bigint) FROM after, jsonb_array_elements((state->'relations') || (state->'other_relations')) r)
		   FROM $changes"), 't|t', 'nothing is lost between them');
$session->quit;

# ---------------------------------------------------------------------------
# While a relation is rewritten, its old file and its new one may both be found to be its own

ask($node, 'CREATE DATABASE rewritten');
ask($node, q{
	CREATE EXTENSION pgbufprobe;
	CREATE TABLE own AS SELECT generate_series(1, 20000);
	DO $$
	DECLARE
		it text := pg_get_functiondef('pgbufprobe_relations'::regproc);
	BEGIN
		EXECUTE regexp_replace(it, 'pgbufprobe_relations', 'each_once');
		EXECUTE regexp_replace(it, '\mLANGUAGE c\M.*', 'LANGUAGE sql VOLATILE PARALLEL SAFE ROWS 500 COST 10000
			AS ''SELECT r.* FROM each_once(1) AS r, generate_series(1, CASE WHEN r.relation = ''''own''''::regclass THEN 2 ELSE 1 END)''');
	END $$}, 'rewritten');
is( ask($node, q{
		SELECT count(*), count(*) FILTER (WHERE relation IS NULL AND to_buffers >= 80), bool_and(from_buffers <= 2048 AND to_buffers <= 2048)
		  FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot(), by_relation => true) WHERE relation = 'public.own' AND fork = 'main' OR relation IS NULL}, 'rewritten'),
	'2|1|t', 'two files of one relation: one has its name, the other is one of the others');

$node->stop;
done_testing();
