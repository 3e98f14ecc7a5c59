# Who may call what: nobody by default, pg_monitor the readers, a role with a
# grant what it was granted, and the live search superusers alone.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %readers = (
	pgbufprobe_sweep_cost => q{SELECT count(*) FROM pgbufprobe_sweep_cost(10)},
	pgbufprobe_scan_cost => q{SELECT count(*) FROM pgbufprobe_scan_cost(1)},
	pgbufprobe_usagecount_histogram =>
	  q{SELECT sum(buffers) FROM pgbufprobe_usagecount_histogram()},
	pgbufprobe_relations =>
	  q{SELECT bool_and(buffers > 0) FROM pgbufprobe_relations()},
	pgbufprobe_clock => q{SELECT buffers FROM pgbufprobe_clock()},
	pgbufprobe_clock_rate =>
	  q{SELECT count(*) FROM pgbufprobe_clock_rate('1 ms')},
	pgbufprobe_snapshot => q{SELECT pgbufprobe_snapshot() > 0},
	pgbufprobe_snapshot_diff => q{SELECT count(*) FROM pgbufprobe_snapshot_diff()},
	pgbufprobe_snapshot_prune => q{SELECT pgbufprobe_snapshot_prune('1 day')},
	pgbufprobe_residence => q{SELECT bool_and(buffers > 0) FROM pgbufprobe_residence('1 ms')},
	pgbufprobe_history => q{SELECT count(*) > 0 FROM pgbufprobe_history()},
	pgbufprobe_advice => q{SELECT count(*) FROM pgbufprobe_advice()},
	pgbufprobe_checkup => q{SELECT count(*) FROM pgbufprobe_checkup()});
my %answers = (
	pgbufprobe_sweep_cost => 2,
	pgbufprobe_scan_cost => 3,
	pgbufprobe_usagecount_histogram => 2048,
	pgbufprobe_relations => 't',
	pgbufprobe_clock => 2048,
	pgbufprobe_clock_rate => 1,
	pgbufprobe_snapshot => 't',
	pgbufprobe_snapshot_diff => 7,
	pgbufprobe_snapshot_prune => 0,
	pgbufprobe_residence => 't',
	pgbufprobe_history => 't',
	pgbufprobe_advice => 11,
	pgbufprobe_checkup => 8);
# What some functions call and read, which a role needs, too; pg_monitor has it.
my %needed = (
	pgbufprobe_snapshot => ['INSERT, SELECT ON pgbufprobe_snapshots, pgbufprobe_snapshot_usagecounts'],
	pgbufprobe_snapshot_diff => ['EXECUTE ON FUNCTION pgbufprobe_no_snapshot'],
	pgbufprobe_snapshot_prune => ['DELETE ON pgbufprobe_snapshots'],
	pgbufprobe_checkup =>
	  [ 'SELECT ON pgbufprobe_double_buffering', 'EXECUTE ON FUNCTION pgbufprobe_residency' ]);
# For nobody but those who were granted it.
my %movers = (
	pgbufprobe_history_reset => q{SELECT pgbufprobe_history_reset() IS NOT NULL},
	pgbufprobe_os_advise => q{SELECT pgbufprobe_os_advise('pg_class', 'willneed') > 0},
	pgbufprobe_read_cost => q{SELECT sum(reads) > 0 FROM pgbufprobe_read_cost('pg_class', 10)});
my $live = q{SELECT scenario FROM pgbufprobe_sweep_cost(10, 'live')};

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_buffers = 2048\nshared_preload_libraries = pgbufprobe\npgbufprobe.sample_interval = 100ms\n");
$node->start;
$node->safe_psql(
	'postgres', q(
CREATE ROLE plain;
CREATE ROLE monitor IN ROLE pg_monitor;
CREATE ROLE granted;
CREATE DATABASE mine OWNER plain;
CREATE EXTENSION pgbufprobe;
SELECT pgbufprobe_snapshot() FROM generate_series(1, 2);
));
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pgbufprobe_history()')
  or die 'no sample was taken';

# What a role gets for a query: its answer, or its error with the SQLSTATE.
sub as_role
{
	my ($role, $query) = @_;
	my ($rc, $out, $err) = $node->psql('postgres',
		"\\set VERBOSITY verbose\nSET ROLE $role; $query;");

	return $rc == 0 ? $out : $err;
}

sub readers_answer
{
	my ($role) = @_;

	for my $function (sort keys %readers)
	{
		is(as_role($role, $readers{$function}),
			$answers{$function}, "$role: $function answers");
	}
}

for my $function (sort keys %readers, keys %movers)
{
	like(as_role('plain', $readers{$function} // $movers{$function}),
		qr/ERROR:  42501: permission denied for function $function/,
		"plain role: $function is denied");
}
for my $relation (qw(pgbufprobe_double_buffering pgbufprobe_snapshots pgbufprobe_snapshot_usagecounts))
{
	like(as_role('plain', "SELECT * FROM $relation"),
		qr/ERROR:  42501: permission denied for (table|view) $relation/,
		"plain role: $relation is denied");
}
# The privilege is looked at before the argument.
like(as_role('plain', q{SELECT * FROM pgbufprobe_sweep_cost(-1, 'nonsense')}),
	qr/ERROR:  42501: permission denied for function pgbufprobe_sweep_cost/,
	'plain role: wrong arguments are denied all the same');
like(as_role('plain', $live),
	qr/ERROR:  42501: permission denied for function pgbufprobe_sweep_cost/,
	'plain role: the live search is denied');

readers_answer('monitor');
like(as_role('monitor', $live),
	qr/ERROR:  42501: must be superuser to run the "live" scenario/,
	'monitor: the live search is for superusers');

for my $function (sort keys %movers)
{
	like(as_role('monitor', $movers{$function}),
		qr/ERROR:  42501: permission denied for function $function/,
		"monitor: $function is denied");
}
# What is written down stays as it was written.
for my $table (qw(pgbufprobe_snapshots pgbufprobe_snapshot_usagecounts))
{
	like(as_role('monitor', "UPDATE $table SET buffers = 0"),
		qr/ERROR:  42501: permission denied for table $table/, "monitor: $table is not to be changed");
}

$node->safe_psql('postgres',
	join '', map { "GRANT EXECUTE ON FUNCTION $_ TO granted;\n" } sort keys %readers, keys %movers);
for my $function (sort keys %needed)
{
	like(as_role('granted', $readers{$function}),
		qr/ERROR:  42501: permission denied/, "granted: $function needs more than itself");
}
$node->safe_psql('postgres', join '', map { "GRANT $_ TO granted;\n" } map { @$_ } values %needed);
readers_answer('granted');
for my $function (sort keys %movers)
{
	is(as_role('granted', $movers{$function}), 't', "granted: $function works");
}
# The function looks by itself, whatever was granted.
like(as_role('granted', $live),
	qr/ERROR:  42501: must be superuser to run the "live" scenario/,
	'granted: the live search is for superusers');
is($node->safe_psql('postgres', $live), 'live', 'a superuser may');

# A relation's pages in the pool are counted without its table being read, so
# that monitoring needs no privilege on users' tables.
$node->safe_psql(
	'postgres', q(
CREATE TABLE secret AS SELECT 1 AS n;
REVOKE ALL ON secret FROM PUBLIC;
));
is( as_role('monitor',
		q{SELECT sum(buffers) FROM pgbufprobe_usagecount_histogram('secret')}),
	1, 'monitor: counts the pages of a table that it may not read');
like(as_role('monitor', 'SELECT * FROM secret'),
	qr/permission denied for table secret/, 'and that it may not read');

# It is C code in the server: not for owners of databases.
my ($rc, $out, $err) = $node->psql('mine', 'SET ROLE plain; CREATE EXTENSION pgbufprobe;');
like($err, qr/permission denied to create extension "pgbufprobe"/,
	'the owner of a database may not create the extension');

$node->stop;
done_testing();
