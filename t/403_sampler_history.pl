# The history gives the speed of the hand as long as the worker takes samples, however rarely that is, and whatever
# the wall clock says. It counts all buffers if the worker has the time for that, and otherwise estimates.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

sub watched { return "max(watched_seconds) FROM pgbufprobe_page_lifetime('10 ms')" }

# The newest sample, next to what the pool holds: a row for each usage count.
my $compared = q{
	FROM (SELECT * FROM pgbufprobe_history() ORDER BY taken_at DESC LIMIT 1) AS s,
	     unnest(usagecounts || unused) WITH ORDINALITY AS u(sampled, n)
	JOIN LATERAL (SELECT row_number() OVER () AS n, buffers FROM pgbufprobe_usagecount_histogram()) AS h USING (n)};

# ---------------------------------------------------------------------------
# A pool that is small for the worker's share of a processor

my $node = sampler_node('small', "pgbufprobe.history_interval = 1s\npgbufprobe.max_cpu_fraction = 0.01\n");
make_pages($node);
ask($node, 'CALL load(4)');

# The answer to a question about the speed of the hand. It is unknown while a sample is late by more than five seconds.
sub known_answer
{
	my ($query) = @_;
	my $answer;

	wait_for { ($answer = ask($node, $query)) !~ /^(\||$)|\|$/ };
	return $answer;
}

becomes_true($node, "bool_and(sampled = buffers AND buffers_error = 0) $compared",
	'a small pool: all buffers are counted');
is( ask($node, q{
		SELECT bool_and(buffers_error = 0 AND unused + (SELECT sum(n) FROM unnest(usagecounts) AS u(n)) = }
		  . "$pool) FROM pgbufprobe_history()"),
	't', 'a small pool: in each sample');
SKIP:
{
	skip 'there is no pg_buffercache', 1 unless create_if_available($node, 'pg_buffercache');
	# The hand passes the buffer once more for each use, and then takes it. Times have four digits.
	is( known_answer(qq{
			WITH first AS MATERIALIZED (SELECT min((bufferid - 1 - hand + $pool) % $pool + usagecount * $pool + 1) AS ticks
					FROM pg_buffercache, pgbufprobe_clock() WHERE relfilenode IS NOT NULL),
				shortest AS MATERIALIZED (SELECT min(min_seconds) / min(seconds_per_pass) * $pool AS ticks FROM pgbufprobe_page_lifetime())
			SELECT abs(shortest.ticks - first.ticks) < 0.5 + 0.001 * first.ticks, first.ticks < 500 FROM first, shortest}),
		't|t', 'the page that is evicted first: its lifetime is what the hand has to pass');
}
# The history goes on meanwhile, so that times are compared in passes.
is( known_answer(q{
		WITH exact AS MATERIALIZED (SELECT avg_seconds / seconds_per_pass AS passes
				FROM pgbufprobe_page_lifetime() WHERE relation = 'pages'::regclass AND fork = 'main'),
			estimated AS MATERIALIZED (SELECT avg_seconds / seconds_per_pass AS passes, avg_seconds_error / seconds_per_pass AS error
				FROM pgbufprobe_page_lifetime(sample_fraction => 0.5) WHERE relation = 'pages'::regclass AND fork = 'main')
		SELECT error > 0 AND error < 1, abs(estimated.passes - exact.passes) < 3 * error FROM exact, estimated}),
	't|t', 'the mean lifetime of its pages is estimated from half of the buffers');
# Some pages are used more, so that usage counts make most of the lifetime. The speed of the hand is that of the last seconds.
ask($node, "$by_index SELECT sum(length(page)) FROM pages WHERE id <= $pool / 2") for 1 .. 4;
is( known_answer(q{
		WITH all_relations AS MATERIALIZED (SELECT sum(avg_seconds * buffers) / sum(buffers) AS seconds FROM pgbufprobe_page_lifetime()),
			checkup AS MATERIALIZED (SELECT value AS seconds FROM pgbufprobe_checkup() WHERE key = 'page_lifetime')
		SELECT checkup.seconds / all_relations.seconds BETWEEN 0.5 AND 2 FROM all_relations, checkup}),
	't', 'the lifetime in the checkup is that of all relations');
$node->stop;

# ---------------------------------------------------------------------------
# A pool that is large for the worker's share of a processor: it sleeps for far longer than the interval

$node = sampler_node('large', "shared_buffers = 256MB\npgbufprobe.max_cpu_fraction = 0.0003\npgbufprobe.advice_memory = 16MB\n");
make_pages($node);
my $at_rest = ask($node, 'SELECT now()');
my $rarely = q{coalesce(max(seconds) > 1 AND max(taken_at) < now() - interval '500 ms', false) FROM pgbufprobe_history()};
my ($is_between, $is_by_samples);
# In one statement, since the next one may come. One that is late by more than five seconds says nothing of the hand.
ok( wait_for
	{
		($is_between, $is_by_samples) = split /\|/, ask($node, "SELECT (SELECT $rarely), max(watched_seconds) > 1 FROM pgbufprobe_page_lifetime('10 ms')");
		$is_between eq 't' && $is_by_samples eq 't';
	},
	'samples come far apart');
is($is_by_samples, 't', 'and give the speed of the hand between two of them');
is( ask($node, q{SELECT bool_and(buffers_error > 0
				AND unused + (SELECT sum(n) FROM unnest(usagecounts) AS u(n)) = 32768) FROM pgbufprobe_history()}),
	't', 'a large pool: the counts are estimates, which add up to the size of the pool');
# The errors are meant for 95 %: no sample is that far off by chance, nor the mean of three.
my $of_these = "FROM pgbufprobe_history() WHERE taken_at > '$at_rest'";
becomes_true($node, "count(*) >= 3 $of_these", 'three samples of a pool at rest');
is( ask($node, qq{
		SELECT bool_and(most < 3 * error), bool_and(abs(mean) < 2 * error / sqrt(3)), max(error) < 32768 / 10
		FROM (SELECT max(abs(sampled - buffers)) AS most, avg(sampled - buffers) AS mean, max(buffers_error) AS error
				FROM (SELECT * $of_these ORDER BY taken_at LIMIT 3) AS s,
				     unnest(usagecounts || unused) WITH ORDINALITY AS u(sampled, n)
				JOIN LATERAL (SELECT row_number() OVER () AS n, buffers FROM pgbufprobe_usagecount_histogram()) AS h USING (n)
			   GROUP BY n) AS each_count}),
	't|t|t', 'a large pool: all are within their errors, and so is their mean');
my $pid = worker_pid($node);
# It counts the server's files a little at a time. An open folder would keep a tablespace from being unmounted.
my @folders;
for (1 .. 3)
{
	@folders = map { readlink } grep { -d } glob "/proc/$pid/fd/*" or last;
	sleep 1;
}
is("@folders", '', 'a worker that sleeps has no folder open');
kill 'STOP', $pid;
becomes_true($node, 'NOT (max(watched_seconds) > 1) ' . "FROM pgbufprobe_page_lifetime('10 ms')",
	'a worker that does not come back: the hand is watched');
kill 'CONT', $pid;
set($node, max_cpu_fraction => '1', history_interval => '1s');
becomes_true($node, "bool_and(buffers_error = 0) $compared", 'with more time, all buffers are counted');
$node->stop;

# ---------------------------------------------------------------------------
# The wall clock

my $shift = PostgreSQL::Test::Utils::tempdir() . '/seconds';
{
	local $ENV{SHIFT_CLOCK} = $shift;
	$node = sampler_node('clock', '', 'shift_clock');
}
await_samples($node, 5);
save_history($node, history_interval => '10min');
becomes_true($node, q{max(taken_at) < now() - interval '1 s' FROM pgbufprobe_history()}, 'no sample comes for ten minutes');
my $before = ask($node, 'SELECT ' . watched());
cmp_ok($before, '>', 0.3, 'the samples before give the speed of the hand');
SKIP:
{
	append_to_file($shift, '400');
	# As where a library cannot be preloaded.
	skip 'the clock of this server cannot be shifted', 7
	  if ask($node, q{SELECT max(taken_at) > now() - interval '390 s' FROM pgbufprobe_history()}) eq 't';
	is(ask($node, 'SELECT ' . watched()), $before, 'six minutes later: the newest samples still count, the next one is not due');
	unlink $shift or die $!;
	append_to_file($shift, '36000');
	is(ask($node, q{SELECT max(taken_at) < now() - interval '9 h' FROM pgbufprobe_history()}), 't', 'the clock is put forward');
	is(ask($node, 'SELECT ' . watched()), $before, 'and the same samples count');
	is(ask($node, 'SELECT sample_age_seconds BETWEEN 0 AND 600 FROM pgbufprobe_metrics_sampler'), 't', 'the newest is no older than it was');

	# Those of before a restart are about another pool, also if they are of a later time by the clock.
	unlink $shift or die $!;
	append_to_file($shift, '-36000');
	$node->stop;
	{
		local $ENV{SHIFT_CLOCK} = $shift;
		start_with($node, 'shift_clock');
	}
	becomes_true($node, 'count(*) = 1 FROM pgbufprobe_history() WHERE age_seconds >= 0', 'restarted at an earlier time: there is one sample of this start');
	is(ask($node, 'SELECT count(*), count(sample_age_seconds) FROM pgbufprobe_metrics_sampler'), '1|0', 'which says nothing of a time yet');
	set($node, history_interval => '1s');
	becomes_true($node, 'sample_age_seconds BETWEEN 0 AND 60 AND looks_per_second > 0 FROM pgbufprobe_metrics_sampler', 'the next ones are the newest');
	unlink $shift or die $!;
	await_samples($node, 3);
	set($node, history_interval => '10min');
	save_history($node);
	$before = ask($node, 'SELECT ' . watched());
}

# or the worker might not notice that it was off
save_history($node, sampler => 'off');
becomes_true($node, "max(watched_seconds) <> $before FROM pgbufprobe_page_lifetime('10 ms')", 'sampler off: the hand is watched');
set($node, sampler => 'on');
becomes_true($node, 'count(*) > 0 FROM pgbufprobe_history() WHERE seconds IS NULL AND taken_at = (SELECT max(taken_at) FROM pgbufprobe_history())',
	'sampler on: the newest sample has none before it');
isnt(ask($node, 'SELECT ' . watched()), $before, 'and the speed of the hand is not taken from those before');
$node->stop;

done_testing();
