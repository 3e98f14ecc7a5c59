# Hours have what the server has counted, follow the wall clock, and survive restarts, also with another size.

use strict;
use warnings;

use POSIX ();
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

my $shift = PostgreSQL::Test::Utils::tempdir() . '/seconds';
my $node;
{
	local $ENV{SHIFT_CLOCK} = $shift;
	$node = sampler_node('main', "timezone = 'UTC'\nlog_timezone = 'UTC'\ntrack_io_timing = on\nmax_connections = 40\n", 'shift_clock');
}

# Puts the clock of the server forward by as many seconds in all; 0 puts it right. At no moment, it is anything else.
sub shift_clock
{
	my ($seconds) = @_;
	append_to_file("$shift.new", $seconds);
	rename "$shift.new", $shift or die $!;
	return;
}

# The same clock goes on.
sub start_again
{
	my ($mode) = @_;
	local $ENV{SHIFT_CLOCK} = $shift;

	$node->stop($mode);
	start_with($node, 'shift_clock');
	return;
}

# As where a library cannot be preloaded.
sub can_shift
{
	my $before = ask($node, 'SELECT now()');
	shift_clock(36000);
	my $can = ask($node, "SELECT now() > '$before'::timestamptz + interval '9 hours'") eq 't';
	shift_clock(0);
	return $can;
}

# The worker may have seen the hour of that time.
my $can_shift = can_shift();
ask($node, 'SELECT pgbufprobe_history_reset()');

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
is(ask($node, "SELECT $work < 1.1 * $timed + 1 FROM $hours, $server"), 't', 'which is no work');

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
	$has_worked = ask($node, "SELECT $work > 1.4 * $timed FROM $hours, $server");
	last if $has_worked eq 't';
	@sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 8;
}
is($has_worked, 't', 'their parallel workers have worked as well');

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

# ---------------------------------------------------------------------------
# Hours that do not count

my $hour = ask($node, 'SELECT extract(hour FROM max(hour))::int FROM pgbufprobe_hours()');
my $next = ($hour + 1) % 24;
my $next_but_one = ($hour + 2) % 24;
for my $case ([ "$hour-$next", 'f' ], [ "$next-$next_but_one", 't' ], [ "$next - $next_but_one, $hour-$next", 'f' ], [ "$next-$hour", 't' ], [ '', 't' ])
{
	my ($list, $expected) = @$case;
	set($node, decision_skip_hours => $list);
	becomes_true($node, "in_decision = '$expected' FROM pgbufprobe_hours() WHERE extract(hour FROM hour) = $hour ORDER BY hour DESC LIMIT 1",
		"hours \"$list\" are left out: hour $hour " . ($expected eq 't' ? 'counts' : 'does not'));
}
for my $list ('2', '2-', '2-25', '3-3', '0-24', '2-5,', '2-5 7-8', '-1-3', 'night', '0-12, 12-24')
{
	has_error($node, "ALTER SYSTEM SET pgbufprobe.decision_skip_hours = '$list'", qr/22023: invalid value for parameter "pgbufprobe.decision_skip_hours": "\Q$list\E"/,
		"hours \"$list\" are no list");
}
set($node, decision_skip_hours => "$hour-$next");
ask($node, q{ALTER SYSTEM SET log_timezone = 'Etc/GMT-1'});
$node->reload;
becomes_true($node, "in_decision FROM pgbufprobe_hours() WHERE extract(hour FROM hour) = $hour ORDER BY hour DESC LIMIT 1",
	'hours are those of log_timezone');
ask($node, q{ALTER SYSTEM RESET log_timezone});
set($node, decision_skip_hours => '');

# ---------------------------------------------------------------------------
# The wall clock

SKIP:
{
	skip 'the clock of this server cannot be shifted', 38 if !$can_shift;
	# So that no hour of the clock ends but those that the test lets end.
	my $begins = 3601 - time % 3600;
	shift_clock($begins);
	becomes_true($node, 'max(hour) > now() - interval $$10 minutes$$ FROM pgbufprobe_hours()', 'an hour has just begun');
	my ($n, $newest) = split /\|/, ask($node, 'SELECT count(*), max(hour) FROM pgbufprobe_hours()');
	my $kept = ask($node, "SELECT string_agg(hour::text, ' ' ORDER BY hour) FROM pgbufprobe_hours() WHERE hour < '$newest'");
	shift_clock($begins + 3600);
	becomes_true($node, "count(*) = $n + 1 AND max(hour) = '$newest'::timestamptz + interval '1 hour' FROM pgbufprobe_hours()", 'an hour later: another one');
	my $of_newest = "FROM pgbufprobe_hours() WHERE hour = '$newest'";
	my $before = ask($node, "SELECT seconds, read_ms_per_second $of_newest");
	ask($node, 'CALL load(2)');
	becomes_true($node, "read_ms_per_second > 0 FROM pgbufprobe_hours() ORDER BY hour DESC LIMIT 1", 'which has what happens now');
	is(ask($node, "SELECT seconds, read_ms_per_second $of_newest"), $before, 'and the one before remains as it is');

	my $week = 7 * 24 * 3600;
	shift_clock($begins + $week);
	becomes_true($node, "count(*) = $n + 2 FROM pgbufprobe_hours()", 'a week later: all are there');
	shift_clock($begins + $week + 2 * 24 * 3600);
	becomes_true($node, "count(*) = 2 AND min(hour) > '$newest'::timestamptz + interval '6 days' FROM pgbufprobe_hours()", 'after nine days: those of the last eight');
	shift_clock($begins + $week + 7200);
	becomes_true($node, "count(*) = $n + 3 AND max(hour) < '$newest'::timestamptz + interval '8 days' FROM pgbufprobe_hours()",
		'the clock is put back: all are there, but no hour of the future');
	shift_clock($begins + $week);
	my $that = "FROM pgbufprobe_hours() WHERE hour = '$newest'::timestamptz + interval '7 days'";
	my $seconds = ask($node, "SELECT seconds $that");
	becomes_true($node, "seconds > $seconds $that", 'by two hours: the hour of that time goes on');
	is(ask($node, "SELECT max(hour) = '$newest'::timestamptz + interval '7 days' FROM pgbufprobe_hours()"), 't', 'as the last one');

	# Nothing is lost by a clock that is wrong for a while, and all is saved.
	my $now = time;
	my %wrong = ('1970' => 86400 - $now, '1996' => 820454400 - $now, '400 days later' => $begins + 400 * 86400, '2245' => 8678275200 - $now);
	for my $when (sort keys %wrong)
	{
		my $from = -s $node->logfile;
		my $had = ask($node, 'SELECT sum(seconds) FROM pgbufprobe_hours()');
		shift_clock($wrong{$when});
		becomes_true($node, 'count(*) = 1 AND min(hour) <= now() FROM pgbufprobe_hours()', "$when: its hour is the only one of that time");
		if ($when eq '1970')
		{
			start_again('fast');
			becomes_true($node, 'count(*) > 0 FROM pgbufprobe_history() WHERE taken_at > pg_postmaster_start_time()', "$when: started then");
		}
		shift_clock($begins + $week);
		becomes_true($node, "count(*) = $n + 2 AND sum(seconds) > $had FROM pgbufprobe_hours()", "$when, and corrected: all hours are there");
		ok(save_history($node), "$when, and corrected: all is saved");
		start_again('immediate');
		becomes_true($node, "count(*) = $n + 2 AND sum(seconds) > $had FROM pgbufprobe_hours()", "$when, and corrected: restored");
		cmp_ok(ask($node, q{SELECT count(DISTINCT date_trunc('hour', taken_at)) FROM pgbufprobe_history()}), '>', 1, "$when, and corrected: with the history");
		unlike(slurp_file($node->logfile, $from), qr/impossible/, "$when, and corrected: without a message");
	}

	# What was watched, and when a sample was taken, is not measured by that clock.
	ask($node, 'SELECT pgbufprobe_history_reset()');
	shift_clock(3600);
	# The first one may have been taken before the clock was put back.
	becomes_true($node, 'count(*) > 2 FROM pgbufprobe_history()', 'the clock is put back: samples are taken');
	ask($node, 'SELECT pgbufprobe_history_reset()');
	await_samples($node, 2);
	shift_clock(0);
	becomes_true($node, 'sample_age_seconds BETWEEN 0 AND 60 FROM pgbufprobe_metrics_sampler', 'the clock is put back: a sample is not of the future');
	ok(load_until($node, 4, q{verdict <> 'unknown' OR answer ~ '^(Not certain enough|Unknown: no other size)' FROM pgbufprobe_checkup() WHERE topic = 'size'}),
		'the clock is put back: the worker decides when it has watched for long enough') or diag(ask($node, q{SELECT answer FROM pgbufprobe_checkup() WHERE topic = 'size'}));
}

# ---------------------------------------------------------------------------
# Restarts

shift_clock(0);
becomes_true($node, 'min(hour) <= now() AND max(hour) <= now() FROM pgbufprobe_hours()', 'with the right time, there is no other hour');
ask($node, 'CALL load(10)');
# What was counted last may be so after the question. Shares have four digits.
my $least = "SELECT 0.99 * $worked FROM pgbufprobe_hours()";
my $hours_before = ask($node, 'SELECT count(*) FROM pgbufprobe_hours()');
my $work_before = ask($node, $least);
$node->restart;
becomes_true($node, "$worked >= $work_before AND count(*) >= $hours_before FROM pgbufprobe_hours()", 'restarted: nothing is lost');
$work_before = ask($node, $least);
ok(save_history($node), 'all is saved');
$node->stop('immediate');
$node->start;
becomes_true($node, "$worked >= $work_before FROM pgbufprobe_hours()", 'stopped immediately: what was saved is there');

my $size = 'SELECT shared_buffers_bytes / 8192 FROM pgbufprobe_hours() ORDER BY hour DESC LIMIT 1';
$work_before = ask($node, $least);
$node->append_conf('postgresql.conf', 'shared_buffers = 4096');
$node->restart;
becomes_true($node, "($size) = 4096", 'another size: the hour that runs is about this one');
is(ask($node, 'SELECT count(*) - count(DISTINCT hour) FROM pgbufprobe_hours()'), '0', 'another size: there is one row for each hour');
cmp_ok(ask($node, "SELECT $worked FROM pgbufprobe_hours()"), '>=', $work_before, 'another size: nothing is lost');
# Far outside of the sizes that were estimated, only what the server has counted remains.
$node->append_conf('postgresql.conf', 'shared_buffers = 65536');
$node->restart;
becomes_true($node, "($size) = 65536", 'far another size: likewise');
cmp_ok(ask($node, "SELECT $worked FROM pgbufprobe_hours()"), '>=', $work_before, 'far another size: nothing is lost');

ask($node, 'SELECT pgbufprobe_history_reset()');
becomes_true($node, "count(*) <= 1 AND coalesce($worked, 0) < $work_before / 2 FROM pgbufprobe_hours()", 'a reset: the hours begin again');

# ---------------------------------------------------------------------------
# A standby, another database, and no library

my $standby = init_standby($node);
$standby->start;
becomes_true($standby, 'count(*) = 1 AND max(seconds) > 0 FROM pgbufprobe_hours()', 'a standby has hours of its own');
ask($standby, "$by_index SELECT sum(length(page)) FROM pages");
becomes_true($standby, 'sum(read_ms_per_second) > 0 FROM pgbufprobe_hours()', 'with what it has read');
$standby->stop;

ask($node, 'CREATE DATABASE other');
ask($node, 'CREATE EXTENSION pgbufprobe', 'other');
is(ask($node, 'BEGIN READ ONLY; SELECT count(*) > 0 FROM pgbufprobe_hours()', 'other'), 't', 'another database, read-only: the same hours');

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
has_error($node, 'SELECT * FROM pgbufprobe_hours()', qr/55000: nothing watches this server, because no sampler is running/, 'not preloaded: an error says so');
$node->stop;
has_no_crash($_) for $node, $standby;

done_testing();
