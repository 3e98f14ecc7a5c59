# Relations are truncated, cut, dropped and rewritten while sessions restore maps of them. Every restore ends with counts
# that add up, or because the relation does not exist any more; and it leaves no lock.

use strict;
use warnings;

use ChangingTables;
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
outcomes_are(
	$node, $seconds,
	[ map { ("$_|42P01", "$_|adds up") } 'another map', 'its own map', 'shared buffers' ],
	{
		'its own map' => "$counts pgbufprobe_cache_map(one, 'main') own, pgbufprobe_cache_restore(one, own.map)",
		'shared buffers' => "$counts pgbufprobe_cache_restore(one, map, target => 'shared_buffers')",
		'another map' => "$counts pgbufprobe_cache_restore(one, map)" });
has_no_crash($node);
done_testing();
