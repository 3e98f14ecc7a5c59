# The history gives the speed of the hand as long as the worker takes samples, however rarely that is, and whatever
# the wall clock says. It counts all buffers if the worker has the time for that, and otherwise estimates.

use strict;
use warnings;

use Checkup;
use Sampler;
use Server;
use Test::More;

# Of the newest samples, like the speed of the hand; unknown if these are not of now.
my $share = 'cpu_fraction FROM pgbufprobe_status()';

# Samples, next to what the pool holds: a row for each usage count.
sub compared
{
	return "FROM (SELECT * FROM pgbufprobe_history() $_[0]) AS s, unnest(usagecounts) WITH ORDINALITY AS u(sampled, n)
		JOIN LATERAL (SELECT row_number() OVER () AS n, buffers FROM pgbufprobe_usagecount_histogram()) AS h USING (n)";
}
my $is_counted = 'bool_and(sampled = buffers) ' . compared('ORDER BY taken_at DESC LIMIT 1');

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

becomes_true($node, $is_counted, 'a small pool: all buffers are counted');
samples_are_right($node, 'a small pool');
SKIP:
{
	skip 'there is no pg_buffercache', 1 unless create_if_available($node, 'pg_buffercache');
	# The hand passes a buffer once more for each use, and then takes it. A sample may come between both questions.
	becomes_true($node, qq{count(*) = 2 AND bool_and(abs(stay_seconds / (stay_passes * seconds_per_pass) - 1) < 0.005)
		FROM (SELECT relfilenode, relforknumber, avg((bufferid - 1 - hand + $pool) % $pool + 1 + usagecount * $pool) / $pool AS stay_passes
				FROM pg_buffercache, pgbufprobe_clock() GROUP BY relfilenode, relforknumber) AS pool
		JOIN (SELECT * FROM pgbufprobe_relations() WHERE relation IN ('pages'::regclass, 'pages_pkey'::regclass)) AS r USING (relfilenode),
		(SELECT sum(seconds) / $passed AS seconds_per_pass FROM pgbufprobe_history() WHERE taken_at > now() - interval '300 s') AS ring
		WHERE relforknumber = 0 AND fork = 'main'}, 'the pages of a relation stay as long as the hand has to pass them');
}
is( known_answer(q{
		SELECT estimated.stay_seconds / exact.stay_seconds BETWEEN 0.9 AND 1.1
		  FROM pgbufprobe_relations() AS exact JOIN pgbufprobe_relations(sample_fraction => 0.5) AS estimated USING (relfilenode, fork)
		 WHERE exact.relation = 'pages'::regclass AND fork = 'main'}),
	't', 'half of the buffers are enough for an estimate');
# Some pages are used more, so that usage counts make most of the lifetime. The speed of the hand is that of the last seconds.
ask($node, "$by_index SELECT sum(length(page)) FROM pages WHERE id <= $pool / 2") for 1 .. 4;
my $lifetime;
wait_for { ($lifetime) = checkup($node)->{'page lifetime'}{says} =~ / STAY (.*)/ };
is(known_answer("SELECT extract(epoch FROM '$lifetime'::interval) / (sum(stay_seconds * buffers) / sum(buffers)) BETWEEN 0.5 AND 2 FROM pgbufprobe_relations()"),
	't', 'the lifetime in the checkup is that of all relations');
$node->stop;

# ---------------------------------------------------------------------------
# A pool that is large for the worker's share of a processor: it sleeps for far longer than the interval

$node = sampler_node('large', "shared_buffers = 256MB\npgbufprobe.max_cpu_fraction = 0.0003\npgbufprobe.advice_memory = 16MB\n");
make_pages($node);
my $at_rest = ask($node, 'SELECT now()');
my $rarely = q{coalesce(max(seconds) > 1 AND max(taken_at) < now() - interval '500 ms', false) FROM pgbufprobe_history()};
# In one statement, since the next one may come. One that is late by more than five seconds says nothing of the hand.
becomes_true($node, "(SELECT $rarely) AND cpu_fraction > 0 FROM pgbufprobe_status()", 'samples come far apart, and those before count between two of them');
# No sample is that far off by chance, nor the mean of three.
my $of_these = "FROM pgbufprobe_history() WHERE taken_at > '$at_rest'";
becomes_true($node, "count(*) >= 3 $of_these", 'three samples of a pool at rest');
is( ask($node, qq{
		SELECT max(most) > 0, max(most) < 32768 / 10, max(abs(mean)) < 32768 / 20
		FROM (SELECT max(abs(sampled - buffers)) AS most, avg(sampled - buffers) AS mean } . compared("WHERE taken_at > '$at_rest' ORDER BY taken_at LIMIT 3") . q{
			   GROUP BY n) AS each_count}),
	't|t|t', 'a large pool: the counts are estimates, and near to the truth');
my $pid = worker_pid($node);
# It counts the server's files a little at a time. An open folder would keep a tablespace from being unmounted.
my @folders;
ok(wait_for { !(@folders = grep { -d } open_files($pid)) }, 'a worker that sleeps has no folder open') or diag("@folders");
kill 'STOP', $pid;
becomes_true($node, "cpu_fraction IS NULL FROM pgbufprobe_status()", 'a worker that does not come back: they do not count');
kill 'CONT', $pid;
set($node, max_cpu_fraction => '1', history_interval => '1s');
becomes_true($node, $is_counted, 'with more time, all buffers are counted');
$node->stop;

# ---------------------------------------------------------------------------
# The wall clock

my $shift = temp_path('seconds');
$node = sampler_node('clock', '', SHIFT_CLOCK => $shift);
await_samples($node, 5);
save_history($node, history_interval => '10min');
becomes_true($node, q{max(taken_at) < now() - interval '1 s' FROM pgbufprobe_history()}, 'no sample comes for ten minutes');
my $before = ask($node, "SELECT $share");
cmp_ok($before, '>', 0, 'the samples before count');
SKIP:
{
	put_file($shift, 400);
	# As where a library cannot be preloaded.
	skip 'the clock of this server cannot be shifted', 7
	  if ask($node, q{SELECT max(taken_at) > now() - interval '390 s' FROM pgbufprobe_history()}) eq 't';
	is(ask($node, "SELECT $share"), $before, 'six minutes later: the newest samples still count, the next one is not due');
	put_file($shift, 36000);
	is(ask($node, q{SELECT max(taken_at) < now() - interval '9 h' FROM pgbufprobe_history()}), 't', 'the clock is put forward');
	is(ask($node, "SELECT $share"), $before, 'and the same samples count');
	is(ask($node, 'SELECT sample_age_seconds BETWEEN 0 AND 600 FROM pgbufprobe_metrics_sampler'), 't', 'the newest is no older than it was');

	# Those of before a restart are about another pool, also if they are of a later time by the clock.
	put_file($shift, -36000);
	$node->stop;
	start_with($node, SHIFT_CLOCK => $shift);
	becomes_true($node, 'count(*) = 1 FROM pgbufprobe_history() WHERE age_seconds >= 0', 'restarted at an earlier time: there is one sample of this start');
	is(ask($node, 'SELECT count(*), count(sample_age_seconds) FROM pgbufprobe_metrics_sampler'), '1|0', 'which says nothing of a time yet');
	set($node, history_interval => '1s');
	becomes_true($node, 'sample_age_seconds BETWEEN 0 AND 60 AND looks_per_second > 0 FROM pgbufprobe_metrics_sampler', 'the next ones are the newest');
	unlink $shift or die $!;
	await_samples($node, 3);
	set($node, history_interval => '10min');
	save_history($node);
}

# or the worker might not notice that it was off
ok(save_history($node, sampler => 'off'), 'sampler off: what was learned until then is saved');
becomes_true($node, "cpu_fraction IS NULL FROM pgbufprobe_status()", 'sampler off: no samples count');
set($node, sampler => 'on');
becomes_true($node, 'count(*) > 0 FROM pgbufprobe_history() WHERE seconds IS NULL AND taken_at = (SELECT max(taken_at) FROM pgbufprobe_history())',
	'sampler on: the newest sample has none before it');
is(ask($node, "SELECT $share"), '', 'and those before do not count');
$node->stop;

done_testing();
