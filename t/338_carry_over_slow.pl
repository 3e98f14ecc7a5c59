# A restore whose reads take long: between two of them it leaves its database, gives way to those who want to lock the
# relation, and ends with the server, also while it verifies the file and plans.

use strict;
use warnings;

use CacheMap;
use CarryOver;
use Faults;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $nblocks = 500;
my $node = carry_node('main', "pgbufprobe.os_cache = off\n") or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $dir = PostgreSQL::Test::Utils::tempdir();
ask($node, "CREATE TABLESPACE slow LOCATION '$dir'");
ask($node, 'CREATE DATABASE slow');
my $table = make_table($node, 'slow', 'pages', $nblocks, 'slow');
use_blocks($node, 'slow', 'pages', 0, $nblocks - 1, 5);
my $file = maps_file($node);

# Each read by a worker takes long.
sub slow_reads
{
	my ($path) = @_;
	return set_faults('pgbufprobe carry-over', $path, pread => { delay_s => 0.05 });
}

# Restarts the server, and waits until these many blocks of the table are there, most of which are read slowly. No other table
# is in a tablespace.
sub restart_slowly
{
	my ($wanted, $what) = @_;

	$node->stop if $node->{_pid};
	slow_reads('/PG_1');
	start_with_faults($node);
	return ok($node->poll_query_until('postgres', "SELECT count(*) >= $wanted FROM pg_buffercache WHERE $table"), $what);
}

restart_slowly(5, 'a slow restore');
# All reads of the extent would take 25 seconds.
ok(stop_within($node, 12), 'a stop does not wait for it');

restart_slowly(110, 'one worker goes on where the one before had no more time');
clear_faults();
is_restored($node, 'a restore that becomes faster');
is(scalar(() = in_buffers($node, $table) =~ /:/g), $nblocks, 'all blocks are back');

restart_slowly(5, 'another slow restore');
is( ask($node, q{BEGIN; SET lock_timeout = '10 s'; LOCK TABLE pages IN ACCESS EXCLUSIVE MODE; SELECT 'locked'; COMMIT}, 'slow'),
	'locked', 'who wants to lock the table does not wait for it');
clear_faults();
is_restored($node, 'a restore after a lock');

# A lock is given up after 50 ms of reads, not only when the worker ends: the same worker goes on with another table.
my $other = make_table($node, 'slow', 'others', 100, 'slow');
use_blocks($node, 'slow', $_, 0, 99, 5) for 'pages', 'others';
my $worker = q{(SELECT pid FROM pg_stat_activity WHERE backend_type = 'pgbufprobe carry-over restore')};
my $same = '';
for my $try (1 .. 5)
{
	restart_slowly(3, 'a third slow restore');
	my $first = ask($node, "SELECT count(*) FROM pg_buffercache WHERE $other") == 0 ? 'pages' : 'others';
	$same = ask($node, "BEGIN; CREATE TEMPORARY TABLE worker AS SELECT $worker AS pid; LOCK TABLE $first IN ACCESS EXCLUSIVE MODE;
		DO \$\$ BEGIN PERFORM pg_sleep(1), pg_stat_clear_snapshot(); END \$\$; SELECT pid = $worker FROM worker; COMMIT", 'slow');
	clear_faults();
	restored($node);
	last if $same eq 't';
}
is($same, 't', 'who locks a table gets it from a worker that goes on');

# Who drops a database waits until it is free, which it is every four seconds, but gives up after five.
use_blocks($node, 'slow', 'pages', 0, $nblocks - 1, 5);
my $is_dropped;
for my $try (1 .. 5)
{
	restart_slowly(5, 'a fourth slow restore');
	$is_dropped = $node->psql('postgres', 'DROP DATABASE slow') == 0;
	last if $is_dropped;
}
ok($is_dropped, 'the database can be dropped meanwhile');
is_restored($node, 'a restore without the database');
unlike(slurp_file($node->logfile), qr/ERROR.*carry|PANIC|TRAP:/, 'nothing has failed');

# ---------------------------------------------------------------------------
# Files that take half a minute to verify, and to plan

$node->stop;
my $good = slurp_file($file);
my $header = substr $good, 0, 56;
my $map_bytes = unpack 'x76 L', $good;
my @maps = map { pack('L5', 1663, 4_000_000_000 + $_, 1000, 0, 0) . substr $good, 76, 4 + $map_bytes } 0 .. 599;

sub whole { my $body = $header . join '', @_; return with_checksum($body . pack 'q', length($body) + 12) }

for my $case ([ 'verified', $header . "\0" x (600 * 65536 - 56) . pack('q L', 600 * 65536 + 12, 0) ], [ 'planned', whole(@maps) ])
{
	my ($what, $content) = @$case;

	write_maps($node, $content);
	slow_reads($file);
	start_with_faults($node);
	# it reads by now: the status says so of a plan
	becomes_true($node, "carry_over = '" . ($what eq 'planned' ? 'restoring' : 'off') . "' FROM pgbufprobe_status()", "a file is being $what");
	ok(stop_within($node, 12), "a stop does not wait until it is $what");
	clear_faults();
}
$node->start;
is_restored($node, 'a file of 600 databases that are gone');

has_no_crash($node);
done_testing();
