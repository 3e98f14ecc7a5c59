# Users keep snapshots: in a dump, in another schema, on an upgraded server, as roles with few privileges, across a
# restart and a crash. A value that comes back is a snapshot or an error that the user has made.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $dump = "${PostgreSQL::Test::Utils::tmp_check}/dump";
srand(20261122);

# What a role needs to take and compare snapshots.
my $needed = join ', ', map { "pgbufprobe_$_" } qw(snapshot snapshot_diff clock usagecount_histogram relations);

sub new_node
{
	my ($name) = @_;
	return init_server($name, "shared_buffers = 2048\nrestart_after_crash = on\n$no_background_writes",
		extra => [ '--encoding=UTF8', '--no-locale' ]);
}

my $node = new_node('main');
$node->start;
ask($node, q{
	CREATE ROLE owner LOGIN;
	CREATE ROLE monitor LOGIN IN ROLE pg_monitor;
	CREATE ROLE plain LOGIN;
	CREATE DATABASE original OWNER owner});

# Nothing is found by its name alone.
sub bare
{
	my ($node, $database, $query) = @_;
	return (split /\n/, ask($node, "SET search_path = ''; $query", $database))[-1] // '';
}

sub as_user
{
	my ($role, $database, $query) = @_;
	return $node->safe_psql($database, $query, connstr => $node->connstr($database) . " user=$role");
}

sub contents
{
	my ($node, $database) = @_;
	return ask($node, 'SELECT * FROM kept ORDER BY label', $database);
}

sub difference
{
	my ($node, $database) = @_;
	return ask($node, q{
		SELECT d.* FROM kept b, kept a, probes.pgbufprobe_snapshot_diff(b.state, a.state) d WHERE b.label = 'one' AND a.label = 'two';
		SELECT d.* FROM kept b, kept a, probes.pgbufprobe_snapshot_diff(b.state, a.state, by_relation => true) d
		WHERE b.label = 'one' AND a.label = 'two'}, $database);
}

# ---------------------------------------------------------------------------
# Kept in a table, dumped and restored

ask($node, q{
	CREATE SCHEMA probes;
	CREATE EXTENSION pgbufprobe SCHEMA probes;
	CREATE TABLE kept (label text PRIMARY KEY, state jsonb NOT NULL);
	INSERT INTO kept VALUES ('one', probes.pgbufprobe_snapshot());
	CREATE TABLE "Grown ""%s"" Ünïcode" AS SELECT repeat('x', 500) FROM generate_series(1, 5000);
	SELECT count(*) FROM probes.pgbufprobe_sweep_cost(5000, 'live');
	INSERT INTO kept VALUES ('two', probes.pgbufprobe_snapshot())}, 'original');
my $contents = contents($node, 'original');
my $difference = difference($node, 'original');

like($difference, qr/^public\."Grown ""%s"" Ünïcode"\|main\|/m, 'a relation is named so that the name can be used');
like($difference, qr/^\|\|\|\d+\|\d+\|\d+\|\d+\|\d*\.?\d*[1-9]\d*$/m, 'and the hand has moved');

my %restore = (
	custom => [ [ 'pg_dump', '-Fc', '-f', $dump ], [ 'pg_restore', '--exit-on-error', $dump ] ],
	plain => [ [ 'pg_dump', '-f', $dump ], [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump ] ]);
for my $way (sort keys %restore)
{
	my ($save, $load) = @{ $restore{$way} };

	ask($node, "CREATE DATABASE $way");
	$node->command_ok([ @$save, 'original' ], "$way: dumped");
	$node->command_ok([ @$load, '-d', $way ], "$way: restored");
	is(contents($node, $way), $contents, "$way: every snapshot is there, as it was");
	is(difference($node, $way), $difference, "$way: they compare as before");
}
unlike(slurp_file($dump), qr/(COPY|setval).*pgbufprobe/, 'the dump has no data of the extension');

# By the owner of a database, in which a superuser has made the extension: nothing of it is for a superuser alone.
for my $database ('owned', 'owned_restored')
{
	ask($node, "CREATE DATABASE $database OWNER owner");
	ask($node, "CREATE EXTENSION pgbufprobe; GRANT EXECUTE ON FUNCTION $needed TO owner", $database);
}
as_user('owner', 'owned', 'CREATE TABLE kept AS SELECT 1 AS label, pgbufprobe_snapshot() AS state');
$node->command_ok([ 'pg_dump', '-U', 'owner', '--no-comments', '--no-privileges', '-f', $dump, 'owned' ], 'the owner of a database dumps it');
$node->command_ok([ 'psql', '-X', '-q', '-U', 'owner', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', 'owned_restored' ], 'and restores it');
is(contents($node, 'owned_restored'), contents($node, 'owned'), 'with the snapshots');
is(as_user('owner', 'owned_restored', 'SELECT count(*), count(passes) FROM kept, pgbufprobe_snapshot_diff(state, pgbufprobe_snapshot())'), '7|7',
	'which the owner compares');
is(bare($node, 'plain', 'SELECT count(*), count(passes) FROM public.kept, probes.pgbufprobe_snapshot_diff(state)'), '14|14',
	'in another database of the server, it is the same pool');

# ---------------------------------------------------------------------------
# Published

ask($node, 'CREATE PUBLICATION everything FOR ALL TABLES', 'original');
is(bare($node, 'original', q{SELECT string_agg(schemaname || '.' || tablename, ' ' ORDER BY tablename COLLATE "C") FROM pg_publication_tables}),
	'public.Grown "%s" Ünïcode public.kept', 'a publication of all tables has nothing of the extension');
is(bare($node, 'original', 'SELECT count(*) FROM probes.pgbufprobe_snapshot_diff(probes.pgbufprobe_snapshot())'), 7,
	'and changes nothing for it');

# ---------------------------------------------------------------------------
# Who takes it does not matter

sub run_by
{
	my ($role) = @_;
	return as_user($role, 'postgres', q{SELECT pgbufprobe_snapshot()->>'run'});
}

ask($node, 'CREATE EXTENSION pgbufprobe');
ask($node, "GRANT EXECUTE ON FUNCTION $needed TO plain");
my $run = ask($node, q{SELECT pgbufprobe_snapshot()->>'run'});
is(run_by('monitor'), $run, 'a member of pg_monitor sees the same run of the server');
is(run_by('plain'), $run, 'so does a role with the function and nothing else');
is(ask($node, q{SET debug_parallel_query = on; SET parallel_setup_cost = 0; SELECT pgbufprobe_snapshot()->>'run'}
	=~ s/debug_parallel_query/ask($node, 'SHOW server_version_num') >= 160000 ? 'debug_parallel_query' : 'force_parallel_mode'/er),
	$run, 'and a parallel worker');

# What is known after a restart or a crash, of what was before; and that all agree on the new run.
sub is_another_run
{
	my ($how) = @_;
	my $now = ask($node, q{SELECT pgbufprobe_snapshot()->>'run'});

	isnt($now, $run, "$how: another run");
	is(run_by($_), $now, "$how: also for $_") for 'monitor', 'plain';
	is(bare($node, 'original', q{SELECT count(*), count(to_buffers - from_buffers), count(passes)
			FROM public.kept, probes.pgbufprobe_snapshot_diff(state) WHERE label = 'two'}),
		'7|7|0', "$how: how the hand came here is unknown");
	is(bare($node, 'original', q{SELECT count(*) > 100, bool_or(to_buffers < from_buffers)
			FROM public.kept, probes.pgbufprobe_snapshot_diff(state, by_relation => true) WHERE label = 'two'}),
		't|t', "$how: relations can be compared");
	is(difference($node, 'original'), $difference, "$how: snapshots of the old run compare as before");
	$run = $now;
	return;
}

$node->restart;
is_another_run('restart');

my $checkpointer = ask($node, q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
my $before_crash = ask($node, 'SELECT pgbufprobe_snapshot()');
my $started_at = ask($node, 'SELECT pg_postmaster_start_time()');
kill 'KILL', $checkpointer;
poll_through_crash($node, "SELECT pid <> $checkpointer FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
  or die 'the server did not come back';
is(ask($node, 'SELECT pg_postmaster_start_time()'), $started_at, 'crash: the postmaster is the same');
is_another_run('crash');
is(as_user('plain', 'postgres', "SELECT count(*), count(passes) FROM pgbufprobe_snapshot_diff('$before_crash', pgbufprobe_snapshot())"),
	'7|0', 'crash: a role without privileges does not compare counts across it');

# ---------------------------------------------------------------------------
# Reset statistics: the hand does not start at 0

is( ask($node, q{
		CREATE TEMP TABLE before AS SELECT pgbufprobe_snapshot() AS state;
		SELECT pg_stat_reset_shared('bgwriter');
		SELECT count(*), count(passes) FROM before, pgbufprobe_snapshot_diff(state)}),
	"\n7|7", 'the way of the hand is known across a reset');

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
# What is no snapshot: a real one with something else in a random place

my $json = JSON::PP->new->canonical->allow_nonref->allow_bignum;
my @junk = ('null', 'true', -1, 0, 1, 2147483648, 4294967296, '9223372036854775807', '9223372036854775808', 1.5, '"x"', '""', '"infinity"', '"2000-01-01"',
	'[]', '{}', '[0, 0, 0, 0, 0, 0, 0]', '[{}, {}, {}, {}, {}, {}, {}]', '"' . 'y' x 10000 . '"');

# Each place in a value, as a reference to where it is kept.
sub places
{
	my ($value) = @_;
	return map { ($_, places($$_)) } ref $value eq 'HASH' ? map { \$value->{$_} } sort keys %$value
	  : ref $value eq 'ARRAY' ? map { \$_ } @$value : ();
}

sub replace_place
{
	my $value = $json->decode($_[0]);

	for (0 .. int rand 3)
	{
		my @places = places($value);
		my $place = $places[ rand @places ];
		my $other = $json->encode(${ $places[ rand @places ] });

		if (ref $$place eq 'HASH' && %$$place && rand() < 0.3) { my @keys = sort keys %$$place; delete $$place->{ $keys[ rand @keys ] }; }
		elsif (ref $$place eq 'ARRAY' && @$$place && rand() < 0.3) { splice @$$place, rand @$$place, 1, map { $json->decode($other) } 1 .. rand 3; }
		else { $$place = $json->decode(rand() < 0.3 ? $other : $junk[ rand @junk ]); }
	}
	return $json->encode($value);
}

sub replace_bytes
{
	my ($text) = @_;

	substr($text, rand length $text, 1) = chr(32 + rand 95) for 0 .. int rand 3;
	return $text;
}

sub replace_digits
{
	my ($text) = @_;
	my @digits;

	push @digits, pos($text) - 1 while $text =~ /\d/g;
	substr($text, $digits[ rand @digits ], 1) = int rand 10 for 0 .. int rand 3;
	# What makes a number a huge one, or none.
	return $text =~ s/(?<=[ \[:])(\d+)(?=[,\]}])/rand() < 0.02 ? $1 . ('e400', 'e3', '.0', 'e-1', '0' x 30)[ rand 5 ] : $1/ger;
}

# Of two relations, so that more of what is replaced is something else than another relation.
ask($node, q{
	CREATE TABLE good AS SELECT jsonb_set(state, '{relations}', jsonb_build_array(state->'relations'->0, state->'relations'->1)) AS state
		FROM pgbufprobe_snapshot() AS state;
	CREATE TABLE bad (n serial, value text);
	CREATE FUNCTION judge(value text, OUT states text, OUT adds_up boolean) LANGUAGE plpgsql AS $$
	DECLARE
		good jsonb := (SELECT state FROM good);
		call text;
		one boolean;
	BEGIN
		FOREACH call IN ARRAY '{"($1, $2)", "($2, $1)"}'::text[] LOOP
			BEGIN
				EXECUTE 'SELECT count(*) = 7 AND bool_and(least(from_buffers, to_buffers, from_dirty, to_dirty) >= 0 AND coalesce(passes, 0) >= 0)
				           FROM pgbufprobe_snapshot_diff' || call INTO one USING value::jsonb, good;
				adds_up := coalesce(adds_up, true) AND one;
				EXECUTE 'SELECT coalesce(bool_and(least(from_buffers, to_buffers, from_dirty, to_dirty) >= 0 AND num_nonnulls(from_buffers, to_buffers) >= 1), true)
				           FROM pgbufprobe_snapshot_diff' || replace(call, ')', ', true)') INTO one USING value::jsonb, good;
				adds_up := adds_up AND one;
				states := concat_ws(' ', states, '00000');
			EXCEPTION WHEN others THEN
				states := concat_ws(' ', states, SQLSTATE);
			END;
		END LOOP;
	END $$});
my $good = ask($node, 'SELECT state FROM good');
is(ask($node, 'SELECT j.* FROM good, judge(state::text) j'), '00000 00000|t', 'what nothing was done to is a snapshot');

my @ways = (\&replace_place, \&replace_bytes, \&replace_digits);
my $file = "${PostgreSQL::Test::Utils::tmp_check}/bad";
append_to_file($file, join '', map { $ways[ $_ % @ways ]->($good) =~ s/\\/\\\\/gr . "\n" } 1 .. 10_000);
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', "\\copy bad(value) FROM '$file'" ],
	'10,000 bad values');
ask($node, 'CREATE TABLE judged AS SELECT b.*, j.* FROM bad b, judge(value) j');
note(ask($node, "SELECT count(*), state FROM judged, regexp_split_to_table(states, ' ') AS state GROUP BY 2 ORDER BY 1 DESC"));
is(ask($node, q{SELECT count(*), bool_and(states ~ '^(00000|22...|0A...) (00000|22...|0A...)$'), bool_and(adds_up) FROM judged}),
	'10000|t|t', 'each is a snapshot that adds up, or a mistake of the user');
cmp_ok(ask($node, "SELECT count(*) FROM judged WHERE states ~ '$_'"), '>', 100, "often enough: $_") for '00000', '22023', '22P02';
unlike(slurp_file($node->logfile), qr/TRAP:|terminated by signal (?!9)/, 'no process has crashed');

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

# ---------------------------------------------------------------------------
# Moved to another schema

ask($node, 'CREATE SCHEMA "Other ""place"; ALTER EXTENSION pgbufprobe SET SCHEMA "Other ""place"', 'original');
my $there = '"Other ""place"';
is(bare($node, 'original', "SELECT count(*), count(passes) FROM $there.pgbufprobe_snapshot_diff($there.pgbufprobe_snapshot())"), '7|7', 'moved: compared');
is(bare($node, 'original', "SELECT count(*) > 0 FROM $there.pgbufprobe_snapshot_diff($there.pgbufprobe_snapshot(), by_relation => true)"), 't', 'moved: relations, too');
is(bare($node, 'original', "SELECT count(*) FROM $there.pgbufprobe_advice()"), 11, 'moved: advice answers');
is(bare($node, 'original', "SELECT count(*) FROM $there.pgbufprobe_checkup()"), 9, 'moved: so does the checkup');
for my $function ('pgbufprobe_history()', 'pgbufprobe_history_reset()')
{
	my ($rc, $out, $err) = $node->psql('original', "SET search_path = ''; SELECT $there.$function");
	like($err, qr/nothing watches this server, because no sampler is running/, "moved: $function is found");
}

# Objects of the same names in another schema are not used.
ask($node, q{
	CREATE SCHEMA evil;
	CREATE FUNCTION evil.pgbufprobe_clock(watch interval DEFAULT NULL) RETURNS int LANGUAGE sql AS 'SELECT 1/0';
	CREATE FUNCTION evil.pgbufprobe_snapshot() RETURNS jsonb LANGUAGE sql AS 'SELECT jsonb_build_array(1/0)';
	CREATE TABLE evil.pg_stat_activity ()}, 'plain');
is( ask($node, q{
		SET search_path = evil, pg_catalog;
		SELECT count(*) FROM probes.pgbufprobe_checkup();
		SELECT count(*) FROM probes.pgbufprobe_snapshot_diff(probes.pgbufprobe_snapshot())}, 'plain'),
	"9\n7", 'the search path changes nothing');

# ---------------------------------------------------------------------------
# Another server

SKIP:
{
	skip 'pg_upgrade of 18 looks for libraries in $libdir only', 5 unless can_upgrade($node);

	my $upgraded = new_node('upgraded');
	$node->stop;
	upgrades_ok($node, $upgraded);
	$upgraded->start;
	is(contents($upgraded, 'custom'), $contents, 'upgraded: every snapshot is there, as it was');
	is(bare($upgraded, 'custom', q{SELECT count(*), count(passes), count(to_buffers - from_buffers) FROM public.kept, probes.pgbufprobe_snapshot_diff(state) WHERE label = 'one'}),
		'7|0|7', 'upgraded: the next one is of another run');
	is(difference($upgraded, 'custom'), $difference, 'upgraded: those of the old run compare as before');
	is(bare($upgraded, 'custom', 'SELECT count(*) FROM probes.pgbufprobe_checkup()'), 9, 'upgraded: the checkup answers');
	$upgraded->stop;
}

done_testing();
