# Relations are truncated, cut, dropped and rewritten while sessions restore maps of them. Every restore ends with counts
# that add up, or because the relation does not exist any more; and it leaves no lock.

use strict;
use warnings;

use ChangingTables;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $seconds = 5;
my $node = start_server('main', "shared_buffers = 16MB\ncheckpoint_timeout = 30s\nmax_wal_size = 128MB");

ask($node, q(
CREATE EXTENSION pgbufprobe;
CREATE TABLE kept (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO kept SELECT i, repeat('k', 1000) FROM generate_series(1, 3000) i;
CREATE TABLE maps AS SELECT map FROM pgbufprobe_cache_map('kept', 'main');
-- As long as it exists, its map belongs to it alone.
DROP TABLE kept;
));

my $counts = 'SELECT count(*) FILTER (WHERE requested <> already_present + read + skipped) FROM maps,';
my $ask = write_asking_script(
	$node, $seconds,
	'its own map' => "$counts pgbufprobe_cache_map(one, 'main') own, pgbufprobe_cache_restore(one, own.map)",
	'shared buffers' => "$counts pgbufprobe_cache_restore(one, map, target => 'shared_buffers')",
	'another map' => "$counts pgbufprobe_cache_restore(one, map)");
my @expected = map { ("$_|42P01", "$_|adds up") } 'another map', 'its own map', 'shared buffers';
my $ddl_script = write_ddl_script($node);
my (%seen, $transactions);

for my $round (1 .. 10)
{
	my $ddl = start_pgbench($node, 'ddl', $seconds, '-c', '2', '-f', $ddl_script);
	my $asking = start_psql($node, 'asking', '-f', $ask);

	$asking->{run}->finish;
	$seen{$_} = 1 for split /\n/, $asking->{out};
	is($asking->{err}, '', 'there is no other error');
	my $count = finish_pgbench($ddl) // last;
	$transactions += $count;
	last if keys %seen >= @expected && $transactions > 3;
}
is_deeply([ sort keys %seen ], \@expected, 'counts add up, or the relation does not exist any more; no lock remains');
cmp_ok($transactions, '>', 3, 'meanwhile, tables came and went');

has_no_crash($node);
done_testing();
