# The background worker: its samples agree with the server and with each other, and its settings do what they promise.
# Counts are asserted, never times.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;
use Time::HiRes qw(usleep);

# ---------------------------------------------------------------------------
# A pool that is not full

my $node = sampler_node('main');
my $pid = worker_pid($node);

like($pid, qr/^\d+$/, 'there is one worker');
is(ask($node, "SELECT datname IS NULL $worker"), 't', 'in no database');
await_samples($node, 5);
samples_are_right($node, 'a pool that is not full');
is(ask($node, 'SELECT seconds IS NULL FROM pgbufprobe_history() LIMIT 1'), 't', 'the first sample has none before it');
is(ask($node, "SELECT $beginnings"), 1, 'and the others have');

# From 19 on there is no free list, and the hand goes where buffers are unused.
is( ask($node, 'SELECT count(estd_miss_ratio), count(reads_seen), min(note), max(note) = min(note) FROM pgbufprobe_advice()'),
	'0|0|the clock hand has not completed a pass yet|t',
	'a hand that was never round: no advice, and why');
becomes_true($node, q{string_agg(concat_ws(' ', verdict, value IS NULL, answer ~ '^(Keep|No)[: ]'), ', ') = 'fine f t, fine f t, fine t t'
	FROM (SELECT * FROM pgbufprobe_checkup() LIMIT 3) AS first_three}, 'after half a minute, the checkup says so');
becomes_true($node, q{(SELECT ticks FROM pgbufprobe_clock()) = max(ticks)
	AND (SELECT allocations FROM pgbufprobe_clock()) = max(allocations) FROM pgbufprobe_history()},
	'the last sample has the hand where it stands');

# ---------------------------------------------------------------------------
# A hand that turns

make_pages($node);
# so that nothing of that is left to be written while the hand turns
ask($node, 'CHECKPOINT');
# A worker that had to wait for a processor has looked less often, or has even lost what it knew.
for (1 .. 10)
{
	load_after_reset($node);
	await_samples($node, 2);
	last if ask($node, "SELECT sum(looks) >= 4 * ((max(ticks) - min(ticks)) / $pool) AND max(ticks_per_second * seconds) < 2 * $pool
		FROM pgbufprobe_history()") eq 't';
}
samples_are_right($node, 'a hand that turns');
becomes_true($node, q{(SELECT ticks FROM pgbufprobe_clock()) = max(ticks)
	AND (SELECT allocations FROM pgbufprobe_clock()) = max(allocations) FROM pgbufprobe_history()},
	'the last sample has the hand where it stands');
is(ask($node, 'SELECT min(unused) FROM pgbufprobe_history()'), 0, 'the pool was full');
my ($passes, $looks) = split /\|/, ask($node,
	"SELECT (max(ticks) - min(ticks)) / $pool, sum(looks) FROM pgbufprobe_history()");
cmp_ok($passes, '>=', 9, 'the hand went round');
cmp_ok($looks, '>=', 4 * $passes, 'four looks in each pass at least');

is( ask($node, q{
		SELECT count(*) FROM pgbufprobe_advice()
		 WHERE num_nonnulls(estd_miss_ratio, miss_ratio_low, miss_ratio_high, window_seconds, reads_seen) NOT IN (0, 5)
		    OR (estd_miss_ratio IS NULL AND note IS NULL) OR NOT estd_miss_ratio BETWEEN 0 AND 1
		    OR reads_seen = 0}),
	0, 'advice: a size has its figures, or a note why not');
becomes_true($node, q{estd_miss_ratio > 0 AND estd_miss_ratio BETWEEN miss_ratio_low AND miss_ratio_high AND mark LIKE 'today%'
	FROM pgbufprobe_advice() WHERE size_factor = 1}, 'advice: today is today');

# ---------------------------------------------------------------------------
# Settings, and what follows from a ring that stands still

# So that the ring stands still.
save_history($node, history_interval => '1h');
becomes_true($node, q{max(taken_at) < now() - interval '500 ms' FROM pgbufprobe_history()}, 'no sample is taken for an hour');
is( ask($node, qq{
		WITH ring AS (
			SELECT sum(seconds) AS seconds, sum(ticks_per_second * seconds) AS ticks
			  FROM pgbufprobe_history() WHERE taken_at >= now() - interval '300 s'),
		stay AS (
			SELECT sum(buffers) AS buffers, count(*) FILTER (WHERE NOT (0 <= min_seconds AND min_seconds <= avg_seconds
			       AND avg_seconds <= max_seconds AND max_seconds <= 7 * seconds_per_pass)) AS wrong,
			       min(seconds_per_pass) AS pass, max(seconds_per_pass) AS max_pass, min(watched_seconds) AS watched
			  FROM pgbufprobe_page_lifetime('1 h'))
		SELECT wrong, buffers = (SELECT sum(buffers) FROM pgbufprobe_relations()),
		       pass = max_pass, abs(pass * ticks - $pool * seconds) <= 0.005 * $pool * seconds,
		       abs(watched - seconds) <= 0.005 * seconds
		  FROM ring, stay}),
	'0|t|t|t|t', 'page lifetime: by the speed of the hand in the ring, without watching it');
set($node, history_interval => '100ms');
await_samples($node, 2);
stop_sampler($node);
becomes_true($node, "wait_event_type = 'Extension' AND pid = $pid $worker", 'sampler off: the worker waits');
is( ask($node, 'SELECT count(estd_miss_ratio), min(note), max(note) = min(note) FROM pgbufprobe_advice()'),
	'0|nothing watches this server, because pgbufprobe.sampler is off|t', 'sampler off: no advice, and why');
is( ask($node, q{SELECT max(watched_seconds) >= 0.01 AND max(watched_seconds) < 60 AND count(seconds_per_pass) = 0
		FROM pgbufprobe_page_lifetime('10 ms')}),
	't', 'sampler off: the speed of the hand is not taken from earlier samples');
ask($node, 'SELECT pgbufprobe_history_reset()');
is(ask($node, "SELECT $samples"), 0, 'reset: no sample is left');
is( ask($node, q{SELECT count(*) > 0, count(seconds_per_pass), min(watched_seconds) >= 0.01 FROM pgbufprobe_page_lifetime('10 ms')}),
	't|0|t', 'page lifetime: with an empty ring the hand is watched, and stands still');
set($node, sampler => 'on');
await_samples($node, 3);
is(worker_pid($node), $pid, 'sampler on again: the same worker');
samples_are_right($node, 'sampler on again');
is(ask($node, "SELECT $beginnings"), 1, 'sampler on again: nothing is said of the time between');

set($node, history_interval => '250ms');
# The worker may have been about to take the first one.
await_samples($node, 1);
my $newest = ask($node, 'SELECT max(taken_at) FROM pgbufprobe_history()');
becomes_true($node, "count(*) >= 3 FROM pgbufprobe_history() WHERE seconds >= 0.25 AND taken_at > '$newest'",
	'a longer interval takes effect');
is(ask($node, "SELECT min(seconds) >= 0.25 FROM pgbufprobe_history() WHERE taken_at > '$newest'"), 't',
	'no sample comes earlier than that');
set($node, history_interval => '100ms');
becomes_true($node, q{count(*) >= 3 FROM (SELECT seconds FROM pgbufprobe_history() ORDER BY taken_at DESC LIMIT 3) AS newest
	WHERE seconds < 0.25}, 'a shorter one, too');
is(ask($node, "SELECT $beginnings"), 1, 'and no sample is lost by a reload');

set($node, advice_memory => '0');
becomes_true($node, q{bool_and(note = 'pgbufprobe.advice_memory is 0') FROM pgbufprobe_advice()},
	'no memory: no advice, and why');
await_samples($node, 2);
my $unadvised = ask($node, 'SELECT now()');
ask($node, 'CALL load(2)');
await_samples($node, 1);
is(ask($node, "SELECT min(looks), max(looks) FROM pgbufprobe_history() WHERE taken_at > '$unadvised'"), '0|0',
	'no advice: no look at the pool');
set($node, advice_memory => '1kB');
becomes_true($node, q{bool_and(note = 'pgbufprobe.advice_memory is too small, or could not be allocated') FROM pgbufprobe_advice()},
	'too little memory: no advice, and why');
set($node, advice_memory => '256kB');
becomes_true($node, q{bool_and(note LIKE 'still learning%') FROM pgbufprobe_advice()},
	'memory again: advice begins to learn from nothing');
# What is said of each size while it is learned. The worker sees once a second how much has been read.
my (@fallen, $pace_said);
sub follow_learning
{
	my %share_of;

	@fallen = ();
	for (1 .. 15)
	{
		ask($node, 'CALL load(1)');
		usleep(200_000);
		for (split /\n/, ask($node, q{SELECT size_factor, (regexp_match(note, 'still learning: (\d+) %'))[1],
			note ~ '^still learning: \d+ % of the reads needed have been seen; at this pace, the rest takes about [\d.]+ (s|minutes)'
			FROM pgbufprobe_advice() WHERE note LIKE 'still learning%'}))
		{
			my ($size, $share, $has_pace) = split /\|/;
			push @fallen, "$size: $share % after $share_of{$size} %" if $share < ($share_of{$size} // 0);
			$share_of{$size} = $share;
			$pace_said ||= $has_pace eq 't';
		}
	}
	return;
}
# A worker that had to wait for a processor while the hand went round may have lost what it knew, and begins again.
for (1 .. 5)
{
	ask($node, 'SELECT pgbufprobe_history_reset()');
	follow_learning();
	my $may_have_lost = ask($node, "SELECT max(ticks_per_second * seconds) > $pool FROM pgbufprobe_history()") eq 't';
	last if $pace_said && (!@fallen || !$may_have_lost);
}
is("@fallen", '', 'while a size is learned, the share that has been seen does not fall');
ok($pace_said, 'and how long the rest takes is said');

has_error($node, "ALTER SYSTEM SET pgbufprobe.history_interval = '10ms'",
	'22023: 10 ms is outside the valid range for parameter "pgbufprobe.history_interval"', 'too short an interval');
has_error($node, 'ALTER SYSTEM SET pgbufprobe.max_cpu_fraction = 0',
	'22023: 0 is outside the valid range for parameter "pgbufprobe.max_cpu_fraction"', 'no share of a processor');
has_error($node, 'ALTER SYSTEM SET pgbufprobe.max_cpu_fraction = 1.1',
	'22023: 1.1 is outside the valid range for parameter "pgbufprobe.max_cpu_fraction"', 'more than one processor');
has_error($node, 'SET pgbufprobe.sampler = off',
	'55P02: parameter "pgbufprobe.sampler" cannot be changed now', 'a session cannot change it for itself');
has_error($node, 'SET pgbufprobe.nonsense = 1',
	'42602: invalid configuration parameter name "pgbufprobe.nonsense"', 'a setting that there is not');

# ---------------------------------------------------------------------------
# Its processor time, next to what the kernel counts

sub processor_seconds { return (split ' ', slurp_file("/proc/$pid/schedstat"))[0] / 1e9 }
sub newest_sample { return ask($node, 'SELECT max(taken_at) FROM pgbufprobe_history()') }

SKIP:
{
	skip 'the kernel does not count the time of a process in nanoseconds', 2
	  if !-r "/proc/$pid/schedstat" || processor_seconds() == 0;
	$pid = worker_pid($node);
	await_samples($node, 1);
	my $from = newest_sample();
	my $started = processor_seconds();
	my $first = newest_sample();
	ask($node, 'CALL load(10)');
	my $last = newest_sample();
	my $used = processor_seconds() - $started;
	await_samples($node, 2);
	# A sample has what was used up to the last sleep before it. So the first two after the start may have some of the time before.
	my ($within, $around) = split /\|/, ask($node, qq{
		SELECT sum(used) FILTER (WHERE taken_at <= '$last' AND n > 2), sum(used)
		  FROM (SELECT taken_at, sampler_cpu_fraction * seconds AS used,
		               count(*) FILTER (WHERE taken_at > '$first') OVER (ORDER BY taken_at) AS n
		          FROM pgbufprobe_history() WHERE taken_at > '$from') AS sample});
	cmp_ok($within * 0.998, '<=', $used, 'samples have no more processor time than the worker used');
	cmp_ok($around * 1.002, '>=', $used, 'and no less');
	note("$within s within, $used s by the kernel, $around s around");
}

# ---------------------------------------------------------------------------
# Its share of a processor

set($node, max_cpu_fraction => '0.0001');
{
	# A worker that has just saved all sleeps for half a minute, and on a slow machine for minutes.
	local $PostgreSQL::Test::Utils::timeout_default = 1800;
	load_after_reset($node);
	await_samples($node, 1);
}
samples_are_right($node, 'a small share of a processor');
my ($fewer_passes, $fewer_looks, $used) = split /\|/, ask($node, qq{
	SELECT (max(ticks) - min(ticks)) / $pool, sum(looks) FILTER (WHERE seconds IS NOT NULL),
	       sum(sampler_cpu_fraction * seconds) / sum(seconds)
	  FROM pgbufprobe_history()});
cmp_ok($fewer_looks / $fewer_passes, '<', $looks / $passes, 'a small share of a processor: fewer looks');
cmp_ok($used, '<', 0.0002, 'and it is not exceeded');
$node->stop;

done_testing();
