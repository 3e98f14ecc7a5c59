# Snapshots are data: a dump and an upgrade of the server carry them over, with their numbers, and the next one
# gets the next number. And they are taken and compared in whatever schema the extension is.

use strict;
use warnings;

use Cwd;
use File::Spec;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = "shared_buffers = 2048\nautovacuum = off\n";
my $dump = "${PostgreSQL::Test::Utils::tmp_check}/dump";

sub new_node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', $conf);
	return $node;
}

# Nothing is found by its name alone.
sub ask
{
	my ($node, $database, $query) = @_;
	return (split /\n/, $node->safe_psql($database, "SET search_path = ''; $query"))[-1] // '';
}

sub contents
{
	my ($node, $database, $schema) = @_;
	return $node->safe_psql($database, "SET timezone = 'UTC';
		SELECT * FROM $schema.pgbufprobe_snapshots ORDER BY id;
		SELECT * FROM $schema.pgbufprobe_snapshot_usagecounts ORDER BY snapshot_id, usagecount");
}

# The last number that was given away, whether its snapshot is still there or not.
sub last_number
{
	my ($node, $database) = @_;
	return ask($node, $database, 'SELECT last_value FROM probes.pgbufprobe_snapshots_id_seq');
}

my $node = new_node('main');
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE original');
$node->safe_psql('original', q{
	CREATE SCHEMA probes;
	CREATE EXTENSION pgbufprobe SCHEMA probes;
	SELECT probes.pgbufprobe_snapshot('one');
	SELECT probes.pgbufprobe_snapshot(NULL);
	SELECT count(*) FROM probes.pgbufprobe_sweep_cost(5000, 'live');
	SELECT probes.pgbufprobe_snapshot(E'a "label"\tof\nthree\\lines\n');
	SELECT probes.pgbufprobe_snapshot('gone');
	DELETE FROM probes.pgbufprobe_snapshots WHERE label = 'gone' OR label IS NULL});
my $contents = contents($node, 'original', 'probes');
my $difference = $node->safe_psql('original', 'SELECT * FROM probes.pgbufprobe_snapshot_diff(1, 3)');

is(scalar(() = $contents =~ /^/mg), 2 + 2 + 2 * 7, 'two snapshots are left, one of which has three lines');
isnt($difference, '', 'and can be compared');

# ---------------------------------------------------------------------------
# Dumped and restored

my %restore = (
	plain => sub {
		$node->command_ok([ 'pg_dump', '-f', $dump, 'original' ], 'plain: dumped');
		$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $_[0], '-f', $dump ], 'plain: restored');
	},
	custom => sub {
		$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'original' ], 'custom: dumped');
		$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $_[0], $dump ], 'custom: restored');
	},
	data_only => sub {
		$node->safe_psql($_[0], 'CREATE SCHEMA probes; CREATE EXTENSION pgbufprobe SCHEMA probes');
		$node->command_ok([ 'pg_dump', '--data-only', '-f', $dump, 'original' ], 'data only: dumped');
		$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $_[0], '-f', $dump ], 'data only: restored');
	});
for my $way (sort keys %restore)
{
	$node->safe_psql('postgres', "CREATE DATABASE $way");
	$restore{$way}->($way);
	is(contents($node, $way, 'probes'), $contents, "$way: every snapshot is there, as it was");
	is($node->safe_psql($way, 'SELECT * FROM probes.pgbufprobe_snapshot_diff()'), $difference, "$way: they compare as before");
	is(last_number($node, $way), 4, "$way: the sequence stands where it stood");
	is(ask($node, $way, 'SELECT probes.pgbufprobe_snapshot()'), 5, "$way: the next one gets the next number");
	is(ask($node, $way, 'SELECT count(*), count(ticks) FROM probes.pgbufprobe_snapshot_diff(1)'), '7|7',
		"$way: which is of the same run of the same server");
}

$node->safe_psql('postgres', 'CREATE DATABASE empty');
$node->safe_psql('empty', 'CREATE EXTENSION pgbufprobe');
$node->safe_psql('postgres', 'CREATE DATABASE empty_restored');
$node->command_ok([ 'pg_dump', '-f', $dump, 'empty' ], 'without snapshots: dumped');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', 'empty_restored', '-f', $dump ],
	'without snapshots: restored');
is($node->safe_psql('empty_restored', 'SELECT pgbufprobe_snapshot()'), 1, 'without snapshots: the first one is number 1');

# ---------------------------------------------------------------------------
# Moved to another schema

$node->safe_psql('original', 'CREATE SCHEMA "Other ""place"; ALTER EXTENSION pgbufprobe SET SCHEMA "Other ""place"');
my $there = '"Other ""place"';
is(contents($node, 'original', $there), $contents, 'moved: every snapshot is there, as it was');
is(ask($node, 'original', "SELECT $there.pgbufprobe_snapshot('moved')"), 5, 'moved: the next one gets the next number');
is(ask($node, 'original', "SELECT count(*), count(ticks) FROM $there.pgbufprobe_snapshot_diff()"), '7|7', 'moved: compared');
is(ask($node, 'original', "SELECT count(*) FROM $there.pgbufprobe_residence('1 ms') WHERE relation IS NOT NULL AND buffers = 0"), 0,
	'moved: how long pages stay is told');
is(ask($node, 'original', "SELECT count(*) FROM $there.pgbufprobe_advice()"), 11, 'moved: advice answers');
is(ask($node, 'original', "SELECT count(*) FROM $there.pgbufprobe_checkup()"), 8, 'moved: so does the checkup');
is(ask($node, 'original', "SELECT $there.pgbufprobe_snapshot_prune('0')"), 3, 'moved: and they are pruned');
for my $function ('pgbufprobe_history()', 'pgbufprobe_history_reset()')
{
	my ($rc, $out, $err) = $node->psql('original', "SET search_path = ''; SELECT $there.$function");
	like($err, qr/pgbufprobe must be loaded via shared_preload_libraries/, "moved: $function is found");
}

# What somebody else calls pg_stat_activity or pgbufprobe_clock is not asked.
$node->safe_psql('plain', q{
	CREATE SCHEMA evil;
	CREATE FUNCTION evil.pgbufprobe_clock() RETURNS int LANGUAGE sql AS 'SELECT 1/0';
	CREATE TABLE evil.pg_stat_activity ();
	CREATE TABLE evil.pgbufprobe_snapshots ()});
is( $node->safe_psql('plain', q{
		SET search_path = evil, pg_catalog;
		SELECT probes.pgbufprobe_snapshot();
		SELECT count(*) FROM probes.pgbufprobe_checkup();
		SELECT count(*) FROM probes.pgbufprobe_snapshot_diff()}),
	"6\n8\n7", 'a search path leads nobody astray');

# ---------------------------------------------------------------------------
# Another server: what was counted on the old one goes on there

SKIP:
{
	my $major = $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::int / 10000");

	# 18 knows other folders for extensions, but its pg_upgrade does not.
	skip 'pg_upgrade of 18 looks for libraries in $libdir only', 7
	  if $major == 18 && !-e $node->config_data('--pkglibdir') . '/pgbufprobe.so';

	my $upgraded = new_node('upgraded');
	my $old_bin = $node->config_data('--bindir');
	$contents = contents($node, 'custom', 'probes');
	$node->stop;
	{
		# It leaves scripts where it was called.
		my ($old_data, $new_data) = map { File::Spec->rel2abs($_->data_dir) } $node, $upgraded;
		my $here = getcwd();
		chdir $PostgreSQL::Test::Utils::tmp_check or die "could not go there: $!";
		command_ok(
			[
				'pg_upgrade', '--no-sync', '-b', $old_bin, '-B', $old_bin, '-d', $old_data, '-D', $new_data,
				'-s', $node->host, '-p', $node->port, '-P', $upgraded->port
			],
			'pg_upgrade carries the server over');
		chdir $here or die "could not go back: $!";
	}
	$upgraded->start;
	is(contents($upgraded, 'custom', 'probes'), $contents, 'upgraded: every snapshot is there, as it was');
	is(last_number($upgraded, 'custom'), 5, 'upgraded: so is the sequence');
	is(ask($upgraded, 'custom', 'SELECT probes.pgbufprobe_snapshot()'), 6, 'upgraded: the next one gets the next number');
	is(ask($upgraded, 'custom', 'SELECT count(*), count(ticks), count(buffers_change) FROM probes.pgbufprobe_snapshot_diff(3)'),
		'7|0|7', 'upgraded: it is of another run');
	is($upgraded->safe_psql('custom', 'SELECT * FROM probes.pgbufprobe_snapshot_diff(1, 3)'), $difference,
		'upgraded: those of the old run compare as before');
	is(ask($upgraded, 'custom', 'SELECT count(*) FROM probes.pgbufprobe_checkup()'), 8, 'upgraded: the checkup answers');
	$upgraded->stop;
}

done_testing();
