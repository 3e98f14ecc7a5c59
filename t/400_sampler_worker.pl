# The background worker: its samples agree with the server and with each other, and its settings do what they promise.
# Counts are asserted, never times.

use strict;
use warnings;

use Checkup;
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
is( ask($node, 'SELECT count(miss_ratio), min(note), max(note) = min(note) FROM pgbufprobe_advice()'),
	'0|the clock hand has not completed a pass yet|t',
	'a hand that was never round: no advice, and why');
ok(wait_for { join(' ', map { $_->{says} =~ /^(fine KEEP_UNUSED 16 MB|\w+)/ } @{ checkup($node) }{ 'size', 'pool', 'page lifetime' }) eq 'fine KEEP_UNUSED 16 MB fine fine' },
	'after half a minute, the checkup says so');
becomes_true($node, "$ticks > 0 OR count(seconds_per_pass) = 0 FROM pgbufprobe_history()", 'a hand that stands still has no speed');

# ---------------------------------------------------------------------------
# A hand that turns

make_pages($node);
# so that nothing of that is left to be written while the hand turns
ask($node, 'CHECKPOINT');
# A worker that had to wait for a processor has looked less often, or has even lost what it knew.
my $first_sample;
for (1 .. 10)
{
	$first_sample = load_after_reset($node);
	await_samples($node, 2);
	last if ask($node, "SELECT sum(looks) >= 4 * $passed AND max(seconds / seconds_per_pass) < 2 FROM pgbufprobe_history()") eq 't';
}
samples_are_right($node, 'a hand that turns');
becomes_true($node, "abs($passed * $pool / ($ticks - $first_sample->{ticks}) - 1) < 0.01 FROM pgbufprobe_history()",
	'the samples have the whole way of the hand');
# Allocations are published after the hand has moved, so the last ones are in a sample in which it stands still.
becomes_true($node, "sum(seconds / seconds_per_pass / inspected_per_allocation) * $pool
	/ ((SELECT allocations FROM pgbufprobe_clock()) - $first_sample->{allocations}) BETWEEN 0.5 AND 1.01 FROM pgbufprobe_history()",
	'and the allocations');
is(ask($node, 'SELECT max((SELECT sum(u) FROM unnest(usagecounts) u)) FROM pgbufprobe_history()'), $pool, 'the pool was full');
my ($passes, $looks) = split /\|/, ask($node, "SELECT $passed, sum(looks) FROM pgbufprobe_history()");
cmp_ok($passes, '>=', 9, 'the hand went round');
cmp_ok($looks, '>=', 4 * $passes, 'four looks in each pass at least');

is( ask($node, q{
		SELECT count(*) FROM pgbufprobe_advice()
		 WHERE num_nonnulls(miss_ratio, miss_ratio_low, miss_ratio_high) NOT IN (0, 3)
		    OR (miss_ratio IS NULL AND note IS NULL) OR NOT miss_ratio BETWEEN 0 AND 1}),
	0, 'advice: a size has its figures, or a note why not');
becomes_true($node, q{miss_ratio > 0 AND miss_ratio BETWEEN miss_ratio_low AND miss_ratio_high AND mark LIKE 'today%' AND reads_seen > 0
	FROM pgbufprobe_advice(), pgbufprobe_status() WHERE size_factor = 1}, 'advice: today is today');

# ---------------------------------------------------------------------------
# Settings, and what follows from a ring that stands still

# So that the ring stands still.
save_history($node, history_interval => '1h');
becomes_true($node, q{max(taken_at) < now() - interval '500 ms' FROM pgbufprobe_history()}, 'no sample is taken for an hour');
is( ask($node, qq{
		WITH ring AS MATERIALIZED (
			SELECT sum(seconds) / $passed AS seconds_per_pass FROM pgbufprobe_history() WHERE taken_at >= now() - interval '300 s')
		SELECT count(*) > 1, bool_and(stay_seconds BETWEEN 0.995 * usagecount_avg * seconds_per_pass AND 1.005 * (usagecount_avg + 1) * seconds_per_pass)
		  FROM ring, pgbufprobe_relations()}),
	't|t', 'pages stay for as many passes as they were used, by the speed of the hand in the ring, and less than one more');
set($node, history_interval => '100ms');
await_samples($node, 2);
stop_sampler($node);
becomes_true($node, "wait_event_type = 'Extension' AND pid = $pid $worker", 'sampler off: the worker waits');
# nor is the speed of the hand taken from earlier samples
knows_nothing($node, 'nothing watches this server, because pgbufprobe.sampler is off', 'sampler off');
ask($node, 'SELECT pgbufprobe_history_reset()');
is(ask($node, "SELECT $samples"), 0, 'reset: no sample is left');
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
becomes_true($node, q{bool_and(note = 'pgbufprobe.advice_memory is too small, or not available') FROM pgbufprobe_advice()},
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
	my $may_have_lost = ask($node, "SELECT max(seconds / seconds_per_pass) > 1 FROM pgbufprobe_history()") eq 't';
	last if $pace_said && (!@fallen || !$may_have_lost);
}
is("@fallen", '', 'while a size is learned, the share that has been seen does not fall');
ok($pace_said, 'and how long the rest takes is said');

for ([ "history_interval = '10ms'", '10 ms' ], [ 'max_cpu_fraction = 0', 0 ], [ 'max_cpu_fraction = 1.1', 1.1 ])
{
	my ($setting, $value) = @$_;
	my ($name) = $setting =~ /(\w+)/;
	has_error($node, "ALTER SYSTEM SET pgbufprobe.$setting", "22023: $value is outside the valid range for parameter \"pgbufprobe.$name\"", "$setting is outside of the range");
}
has_error($node, 'SET pgbufprobe.sampler = off', '55P02: parameter "pgbufprobe.sampler" cannot be changed now', 'a session cannot change it for itself');
has_error($node, 'SET pgbufprobe.nonsense = 1', '42602: invalid configuration parameter name "pgbufprobe.nonsense"', 'a setting that there is not');

# ---------------------------------------------------------------------------
# Its processor time, next to what the kernel counts

sub newest_sample { return ask($node, 'SELECT max(taken_at) FROM pgbufprobe_history()') }

SKIP:
{
	skip 'the kernel does not count the time of a process in nanoseconds', 2
	  if !processor_seconds($pid);
	$pid = worker_pid($node);
	await_samples($node, 1);
	my $from = newest_sample();
	my $started = processor_seconds($pid);
	my $first = newest_sample();
	ask($node, 'CALL load(10)');
	my $last = newest_sample();
	my $used = processor_seconds($pid) - $started;
	await_samples($node, 2);
	# A sample has what was used up to the last sleep before it. So the first two after the start may have some of the time before.
	my ($within, $around) = split /\|/, ask($node, qq{
		SELECT sum(used) FILTER (WHERE taken_at <= '$last' AND n > 2), sum(used)
		  FROM (SELECT taken_at, cpu_fraction * seconds AS used,
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
	SELECT $passed, sum(looks) FILTER (WHERE seconds IS NOT NULL),
	       sum(cpu_fraction * seconds) / sum(seconds)
	  FROM pgbufprobe_history()});
cmp_ok($fewer_looks / $fewer_passes, '<', $looks / $passes, 'a small share of a processor: fewer looks');
cmp_ok($used, '<', 0.0002, 'and it is not exceeded');
$node->stop;

done_testing();
