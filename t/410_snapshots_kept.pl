# Users keep snapshots: in a dump, in another schema, on an upgraded server, and as roles with few privileges.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $dump = temp_path('dump');

# What a role needs to take and compare snapshots.
my $needed = join ', ', map { "pgbufprobe_$_" } qw(snapshot snapshot_diff clock usagecount_histogram relations);

sub new_node
{
	my ($name) = @_;
	return init_server($name, "shared_buffers = 2048\n$no_background_writes",
		extra => [ '--encoding=UTF8', '--no-locale' ]);
}

my $node = new_node('main');
$node->start;
ask($node, q{
	CREATE ROLE owner LOGIN;
	CREATE DATABASE original OWNER owner});

# Nothing is found by its name alone.
sub bare
{
	my ($node, $database, $query) = @_;
	return (split /\n/, ask($node, "SET search_path = ''; $query", $database))[-1] // '';
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
ask($node, 'CREATE TABLE kept AS SELECT 1 AS label, pgbufprobe_snapshot() AS state', 'owned', 'owner');
$node->command_ok([ 'pg_dump', '-U', 'owner', '--no-comments', '--no-privileges', '-f', $dump, 'owned' ], 'the owner of a database dumps it');
$node->command_ok([ 'psql', '-X', '-q', '-U', 'owner', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', 'owned_restored' ], 'and restores it');
is(contents($node, 'owned_restored'), contents($node, 'owned'), 'with the snapshots');
is(ask($node, 'SELECT count(*), count(passes) FROM kept, pgbufprobe_snapshot_diff(state, pgbufprobe_snapshot())', 'owned_restored', 'owner'), '7|7',
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
# Moved to another schema

ask($node, 'CREATE SCHEMA "Other ""place"; ALTER EXTENSION pgbufprobe SET SCHEMA "Other ""place"', 'original');
my $there = '"Other ""place"';
is(bare($node, 'original', "SELECT count(*), count(passes) FROM $there.pgbufprobe_snapshot_diff($there.pgbufprobe_snapshot())"), '7|7', 'moved: compared');
is(bare($node, 'original', "SELECT count(*) > 0 FROM $there.pgbufprobe_snapshot_diff($there.pgbufprobe_snapshot(), by_relation => true)"), 't', 'moved: relations, too');
is(bare($node, 'original', "SELECT count(*) FROM $there.pgbufprobe_advice()"), 11, 'moved: advice answers');
is(bare($node, 'original', "SELECT count(*) FROM $there.pgbufprobe_checkup()"), 9, 'moved: so does the checkup');
has_error($node, "SET search_path = ''; SELECT $there.$_", '55000: nothing watches', "moved: $_ is found", 'original')
  for 'pgbufprobe_history()', 'pgbufprobe_history_reset()';

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

has_no_crash($node);
done_testing();
