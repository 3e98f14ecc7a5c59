# A restart with another size puts the advice to the test: what it predicted is kept, measured and judged. Sessions that
# ask add hits, so each question follows a load that has ended.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

my $npages = 750;
my $node = sampler_node('predictions', "shared_buffers = 256\nautovacuum = off\nlog_statement = none\n");
# The pool holds the table that was filled last; what it holds of another would fill the larger simulated pools.
ask($node, keyed_pages($_, $npages)) for 'others', 'pages';
# what filled the tables is no part of the workload
ask($node, 'SELECT pgbufprobe_history_reset()');

# Lookups of random pages.
sub lookups
{
	my ($table, $last) = @_;
	return write_script($node, "${table}_$last",
		"\\set id random(1, $last)\nSELECT length(page) FROM $table WHERE id = :id;\n");
}
my $usual = lookups('pages', $npages);
my $other_table = lookups('others', $npages);
my $few_pages = lookups('pages', 100);

sub run
{
	my ($script) = @_;
	return $node->command_ok([ 'pgbench', '-n', '-M', 'prepared', '-R', 3000, '-T', 2, '-f', $script, 'postgres' ], 'load');
}

# Loads until something is so, or known. Returns the answer, since the next one may be another.
sub run_until
{
	my ($script, $condition, $what) = @_;

	for (1 .. 75)
	{
		run($script);
		my $answer = ask($node, "SELECT $condition");
		next if $answer eq 'f' || $answer eq '';
		pass($what);
		return $answer;
	}
	diag(ask($node, 'SELECT * FROM pgbufprobe_predictions()'));
	diag(ask($node, 'SELECT * FROM pgbufprobe_advice()'));
	fail($what);
	return '';
}

# Waits until all of the load has been counted. By one session: who asks again and again is a load, too.
sub await_counts
{
	return ask($node, q{DO $$ DECLARE begun timestamptz := now(); BEGIN
		WHILE (SELECT count(*) < 20 FROM pgbufprobe_history() WHERE taken_at > begun) LOOP PERFORM pg_sleep(0.1); END LOOP; END $$});
}

# The answer to what a restart would save, which remains then. If not, loads again.
sub settled_answer
{
	my ($script, $condition) = @_;
	my ($before, $answer) = ('', '');

	for (1 .. 60)
	{
		await_counts();
		$before = $answer;
		$answer = ask($node, "SELECT $condition");
		return $answer if $answer eq $before && $answer ne 'f' && $answer ne '';
		run($script) if $answer eq 'f' || $answer eq '';
	}
	return $answer;
}

sub restart_with
{
	my ($buffers) = @_;
	$node->adjust_conf('postgresql.conf', 'shared_buffers', $buffers);
	$node->restart;
	# the worker reads what was saved
	await_samples($node, 1);
}

sub advice_knows { return "miss_ratio_high < 1 AND reads_seen > 3000 FROM pgbufprobe_advice(), pgbufprobe_status() WHERE size_factor = $_[0]" }

my $newest = 'FROM (SELECT * FROM pgbufprobe_predictions() LIMIT 1) AS p';
my $predicted = 'made_at, from_bytes, to_bytes, miss_ratio, miss_ratio_low, miss_ratio_high, held';

# ---------------------------------------------------------------------------
# As predicted: the larger pool holds all

is(ask($node, 'SELECT count(*) FROM pgbufprobe_predictions()'), 0, 'without a restart, nothing was predicted');
run_until($usual, advice_knows(4), 'the advice knows four times the size');
settled_answer($usual, advice_knows(4));
my $advised = ask($node, 'SELECT miss_ratio FROM pgbufprobe_advice() WHERE size_factor = 4');
restart_with(1024);
is( ask($node, qq{SELECT from_bytes, to_bytes, abs(miss_ratio - $advised) < 0.02, miss_ratio BETWEEN miss_ratio_low AND miss_ratio_high,
		made_at < pg_postmaster_start_time(), measured_miss_ratio IS NULL, held IS NULL,
		note LIKE 'the pool is still warming up after the restart%' $newest}),
	'2097152|8388608|t|t|t|t|t|t',
	'restarted with four times the size: what the advice said of it is kept');
my $missing = run_until($usual, "(regexp_match(note, 'a verdict needs (\\d+) more reads'))[1] $newest",
	'the same workload: how much is missing for a verdict is said');
run_until($usual, "coalesce((regexp_match(note, 'needs (\\d+) more'))[1]::int < $missing, held IS NOT NULL) $newest", 'it becomes less');
is( run_until($usual, "CASE WHEN held IS NOT NULL THEN concat_ws('|', held, measured_miss_ratio < 0.02,
		coalesce(note LIKE 'judged by the miss ratio alone%', true)) END $newest",
		'and leads to a verdict'),
	't|t|t', 'the prediction held') or diag(ask($node, "SELECT * $newest"));

# ---------------------------------------------------------------------------
# What is kept

my $kept = settled_answer($usual, "$predicted $newest");
my $measured = ask($node, "SELECT measured_miss_ratio $newest");
restart_with(1024);
is(ask($node, "SELECT $predicted $newest"), $kept, 'a restart with the same size keeps it');
is(ask($node, 'SELECT count(*) FROM pgbufprobe_predictions()'), 1, 'and makes none');
ask($node, 'SELECT pgbufprobe_history_reset()');
is(ask($node, "SELECT $predicted $newest"), $kept, 'so does a reset of the history');
run($usual);
await_samples($node, 30);
is(ask($node, "SELECT measured_miss_ratio < $measured + 0.001 $newest"), 't', 'what fills the pool again is not measured');

# ---------------------------------------------------------------------------
# Nothing predicted

restart_with(512);
like(ask($node, "SELECT note $newest"), qr/^not predicted: (before the restart, the advice said "|the sampler had)/,
	'another restart before there was any advice: nothing was predicted');
run_until($usual, 'measured_miss_ratio > 0 AND held IS NULL ' . $newest, 'what is measured is shown all the same');

# ---------------------------------------------------------------------------
# Not as predicted: the same table, at the same rate, but fewer of its pages

run_until($usual, advice_knows(0.5), 'the advice knows half the size');
settled_answer($usual, advice_knows(0.5));
restart_with(256);
my $final = ask($node, 'SELECT * FROM pgbufprobe_predictions() OFFSET 1');
is(ask($node, "SELECT count(*), count(*) FILTER (WHERE miss_ratio > 0.1 AND to_bytes = 2097152) FROM pgbufprobe_predictions()"),
	'3|1', 'restarted with half the size: there is a prediction more');
is( run_until($few_pages,
		"CASE WHEN held IS NOT NULL THEN concat_ws('|', held, measured_miss_ratio < miss_ratio_low, note) END $newest",
		'fewer pages of the same table are read'),
	'f|t|the measured miss ratio is outside its interval', 'the prediction did not hold');

# ---------------------------------------------------------------------------
# Another workload

run_until($other_table,
	"held IS NULL AND note LIKE 'the workload has changed: % of the reads are of other relations than expected' $newest",
	'another table is read: undecided, because the workload has changed');
# seconds that differ so much are too few for a verdict, unless the interval is wide
run_until($usual, "(NOT held OR note LIKE 'more seconds of load%') AND measured_miss_ratio > 0.02 $newest",
	'the same table again: it is measured on');
is(ask($node, 'SELECT * FROM pgbufprobe_predictions() OFFSET 1'), $final, 'the earlier ones stay as they were');

restart_with(1100);
is(ask($node, "SELECT miss_ratio IS NULL, held IS NULL, note $newest"),
	't|t|not predicted: estimates are for 0.25 to 4 times the size', 'more than four times the size: nothing was predicted');
is(ask($node, 'SELECT count(*), bool_and(made_at <= before) FROM (SELECT made_at, lag(made_at) OVER () AS before FROM pgbufprobe_predictions()) AS p'),
	'4|t', 'four restarts, newest first');
$node->stop;

done_testing();
