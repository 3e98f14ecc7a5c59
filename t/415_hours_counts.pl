# Hours have what the server has counted, and the work that it has not timed yet.

use strict;
use warnings;

use POSIX ();
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

my $node = sampler_node('main', "track_io_timing = on\nmax_connections = 40\n");

# What all hours have together, and the history of accesses, and what the server says of the same.
my $worked = 'sum(work_ms_per_second * seconds)';
my $hours = qq{(SELECT $worked AS active_ms, sum(read_ms_per_second * seconds) AS read_ms,
	(SELECT sum(accesses) FROM pgbufprobe_history()) AS accesses, (SELECT sum(miss_ratio * accesses) FROM pgbufprobe_history()) AS reads
	FROM pgbufprobe_hours()) AS h};
# The times of reads differ slightly between both views. One also has the writes of sessions.
my $read_ms = ask($node, 'SHOW server_version_num') < 160000 ? 'sum(blk_read_time)' :
	q{(SELECT sum(read_time) + sum(write_time) FILTER (WHERE backend_type = 'client backend') FROM pg_stat_io
		WHERE object = 'relation' AND context = 'normal')};
my $server = qq{(SELECT sum(blks_hit + blks_read) AS accesses, sum(blks_read) AS reads, sum(active_time) AS active_ms,
	$read_ms AS read_ms FROM pg_stat_database) AS s};

sub counts_of
{
	my ($from) = @_;
	return split /\|/, ask($node, "SELECT accesses, reads, active_ms, read_ms FROM $from");
}

# ---------------------------------------------------------------------------
# What the server counts

# Waits until the worker has counted all that sessions have published, which one that ends does last. The first count that
# is added may be older.
sub await_counts
{
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()}) or die 'sessions do not end';
	for (1 .. 2)
	{
		my $seconds = ask($node, 'SELECT sum(seconds) FROM pgbufprobe_hours()');
		$node->poll_query_until('postgres', "SELECT sum(seconds) > $seconds FROM pgbufprobe_hours()") or die 'nothing is counted';
	}
	return;
}

make_pages($node);
# The clock hand has to complete a pass before the first figures.
ask($node, 'CALL load(4)');
becomes_true($node, 'min(seconds) > 0 FROM pgbufprobe_hours()', 'there is an hour');
is(ask($node, q{SELECT bool_and(hour = date_trunc('hour', hour) AND hour <= now() AND in_decision AND seconds <= 3601
		AND shared_buffers_bytes = 8192 * 2048) FROM pgbufprobe_hours()}), 't', 'it begins at an hour of the clock, and is of this size');
await_counts();
my @before = (counts_of($hours), counts_of($server));
ask($node, 'CALL load(10); SELECT pg_sleep(1)');
my @named = ('accesses', 'reads', 'active time', 'waiting for reads');
# The server's statistics of temporary files and rings count as well, up to 15; sessions that ask count on both sides.
for my $i (0 .. 3)
{
	my $column = (qw(accesses reads active_ms read_ms))[$i];
	becomes_true($node, "(s.$column - $before[$i + 4]) > 0 AND abs((h.$column - $before[$i]) / (s.$column - $before[$i + 4]) - 1) < 0.1 FROM $hours, $server",
		"$named[$i]: as the server has counted");
}

# ---------------------------------------------------------------------------
# What the server does not time

# Eight sessions.
my @sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 8;
my $work = "(h.active_ms - $before[2]) / 1000";
my $timed = "(s.active_ms - $before[6]) / 1000";
$_->query_safe('BEGIN; SELECT 1') for @sessions[ 0 .. 3 ];
my $seconds = ask($node, 'SELECT sum(seconds) FROM pgbufprobe_hours()');
becomes_true($node, "sum(seconds) > $seconds + 12 FROM pgbufprobe_hours()", 'sessions wait for their clients');
# Four sessions would have worked for 48 seconds by then. One count may stand for some of them, as below.
is(ask($node, "SELECT $work < 1.1 * $timed + 24 FROM $hours, $server"), 't', 'which is no work');

# Half of the work is that of parallel workers, all of which waits for somebody to open a file, without a wait event. It must
# outweigh the work before, which takes longer on a slow machine. Of a worker that had to wait for a processor, one count
# stands for all that time.
my $parallel = ask($node, 'SHOW server_version_num') < 160000 ? 'force_parallel_mode' : 'debug_parallel_query';
my $fifo = PostgreSQL::Test::Utils::tempdir() . '/fifo';
POSIX::mkfifo($fifo, 0666) or die $!;
my $reading = qq{pg_stat_activity WHERE query LIKE 'SELECT pg_read_file(''$fifo''%' AND leader_pid IS NULL};
my $has_worked = 'f';
for (1 .. 4)
{
	my ($enough, $timed_before) = split /\|/, ask($node, "SELECT 100 + 7 * h.active_ms / 1000, $timed FROM $hours, $server");
	$_->query_until(qr/started/, "SET $parallel = on;\n\\echo started\nSELECT pg_read_file('$fifo');\n") for @sessions;
	becomes_true($node, "$work > $enough AND $timed < $timed_before + 20
		AND (SELECT max(query_start) < now() - interval '6 s' FROM $reading) FROM $hours, $server",
		'statements work before their end');
	# what cannot be positioned cannot be read, so that all statements fail
	open my $all, '>', $fifo or die $!;
	$_->quit for @sessions;
	close $all;
	becomes_true($node, "$timed > $timed_before + 40 FROM $server", 'at the end of the sessions, the server has timed them');
	await_counts();
	$has_worked = ask($node, "SELECT $work BETWEEN 1.4 * $timed AND 2.5 * $timed FROM $hours, $server");
	last if $has_worked eq 't';
	@sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 8;
}
is($has_worked, 't', 'their parallel workers have worked as well, and nobody twice');

# Whoever sleeps or waits for a lock does no work, and needs no privilege for that. At the end of these statements, the server
# times all of it.
ask($node, 'CREATE ROLE nobody_special; CREATE TABLE locked (id integer); GRANT SELECT ON locked TO nobody_special');
ask($node, 'SELECT pgbufprobe_history_reset()');
my $locker = $node->background_psql('postgres', on_error_stop => 0);
$locker->query_safe('BEGIN; LOCK TABLE locked; SELECT pg_advisory_lock(1)');
my @idlers = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 12;
my @ways = ('pg_sleep(1000)', 'pg_advisory_lock(1)', 'count(*) FROM locked');
my $idling = q{pg_stat_activity WHERE query LIKE '%AS idles%' AND pid <> pg_backend_pid()};
my $timed_before = (counts_of($server))[2];
$idlers[$_]->query_until(qr/begun/, "SET ROLE nobody_special;\n\\echo begun\nSELECT $ways[ $_ % 3 ] AS idles;\n") for 0 .. 11;
becomes_true($node, "count(*) = 12 AND max(query_start) < now() - interval '12 s' FROM $idling", 'twelve sessions sleep and wait for locks');
ask($node, "SELECT pg_cancel_backend(pid) FROM $idling");
$_->quit for @idlers, $locker;
becomes_true($node, "s.active_ms > $timed_before + 140e3 FROM $server", 'which the server times as their activity');
await_counts();
cmp_ok((counts_of($hours))[2], '<', 40e3, 'but is no work');

$node->stop;
has_no_crash($node);
done_testing();
