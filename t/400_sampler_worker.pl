# The background worker: its samples agree with the server and with each other, its settings do what they promise,
# and it survives cancels, crashes, restarts and a promotion. Counts are asserted, never times.

use strict;
use warnings;

use PageCache;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

my $samples = q{(SELECT count(*) FROM pgbufprobe_history())};
# A sample that knows none before it: the first one, or the first after the worker was not at work.
my $beginnings = q{(SELECT count(*) FROM pgbufprobe_history() WHERE seconds IS NULL)};

sub stop_sampler
{
	my ($node) = @_;

	set($node, sampler => 'off');
	# After five intervals without a sample, the setting is in force.
	becomes_true($node, "coalesce(max(taken_at) < now() - interval '500 ms', true) FROM pgbufprobe_history()",
		'sampler off: no sample is taken any more');
}

# Samples that contradict themselves or the one before, by more than rounding explains.
sub samples_are_right
{
	my ($node, $what, $buffers) = @_;
	$buffers //= $pool;

	is( ask($node, qq{
		SELECT string_agg(sample::text, E'\\n') FROM (
			SELECT *, ticks - lag(ticks) OVER (ORDER BY n) AS new_ticks,
			       allocations - lag(allocations) OVER (ORDER BY n) AS new_allocations,
			       taken_at - lag(taken_at) OVER (ORDER BY n) AS later
			  FROM (SELECT row_number() OVER () AS n, * FROM pgbufprobe_history()) AS h) AS sample
		 WHERE unused + (SELECT sum(u) FROM unnest(usagecounts) u) <> $buffers
		    OR dirty > $buffers OR pinned > $buffers OR looks < 1 OR sampler_cpu_ms IS NULL OR later <= '0'
		    OR (seconds IS NULL AND num_nonnulls(ticks_per_second, inspected_per_allocation, seconds_per_pass,
		                                         sampler_cpu_fraction) > 0)
		    OR (n > 1 AND seconds IS NOT NULL AND NOT (
		           new_ticks >= 0 AND new_allocations >= 0 AND seconds > 0
		       AND abs(ticks_per_second * seconds - new_ticks) <= 0.002 * new_ticks
		       AND CASE WHEN new_ticks = 0 THEN seconds_per_pass IS NULL
		                ELSE abs(seconds_per_pass * new_ticks - $buffers * seconds) <= 0.002 * $buffers * seconds END
		       AND CASE WHEN new_allocations = 0 THEN inspected_per_allocation IS NULL
		                ELSE abs(inspected_per_allocation * new_allocations - new_ticks) <= 0.002 * new_ticks END
		       AND abs(sampler_cpu_fraction * seconds * 1000 - sampler_cpu_ms) <= 0.002 * sampler_cpu_ms))}),
		'', "$what: every sample agrees with itself and the one before");
}

# Twenty turns of the hand, and a history of nothing else.
sub load_after_reset
{
	my ($node) = @_;

	await_samples($node, 2);
	ask($node, 'SELECT pgbufprobe_history_reset()');
	await_samples($node, 1);
	ask($node, 'CALL load(20)');
}

# ---------------------------------------------------------------------------
# A pool that is not full

my $node = sampler_node('main', "restart_after_crash = on\n");
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
is( ask($node, q{
		SELECT string_agg(concat_ws(' ', verdict, value IS NULL, answer ~ '^(Keep|No)[: ]'), ', ')
		  FROM (SELECT * FROM pgbufprobe_checkup() LIMIT 3) AS first_three}),
	'fine f t, fine f t, fine t t', 'and the checkup says so');
becomes_true($node, q{(SELECT ticks FROM pgbufprobe_clock()) = max(ticks)
	AND (SELECT allocations FROM pgbufprobe_clock()) = max(allocations) FROM pgbufprobe_history()},
	'the last sample has the hand where it stands');

# ---------------------------------------------------------------------------
# A hand that turns

make_pages($node);
# so that nothing of that is left to be written while the hand turns
ask($node, 'CHECKPOINT');
load_after_reset($node);
await_samples($node, 2);
samples_are_right($node, 'a hand that turns');
becomes_true($node, q{(SELECT ticks FROM pgbufprobe_clock()) = max(ticks)
	AND (SELECT allocations FROM pgbufprobe_clock()) = max(allocations) FROM pgbufprobe_history()},
	'the last sample has the hand where it stands');
is(ask($node, 'SELECT min(unused) FROM pgbufprobe_history()'), 0, 'the pool was full');
my ($passes, $looks) = split /\|/, ask($node,
	"SELECT (max(ticks) - min(ticks)) / $pool, sum(looks) FROM pgbufprobe_history()");
cmp_ok($passes, '>=', 18, 'the hand went round');
cmp_ok($looks, '>=', 4 * $passes, 'four looks in each pass at least');

is( ask($node, q{
		SELECT count(*) FROM pgbufprobe_advice()
		 WHERE num_nonnulls(estd_miss_ratio, miss_ratio_low, miss_ratio_high, window_seconds, reads_seen, sampled_loads) NOT IN (0, 6)
		    OR (estd_miss_ratio IS NULL AND note IS NULL) OR NOT estd_miss_ratio BETWEEN 0 AND 1
		    OR sampled_loads = 0}),
	0, 'advice: a size has its figures, or a note why not');
becomes_true($node, q{estd_miss_ratio > 0 AND miss_ratio_low = miss_ratio_high AND mark LIKE 'today%'
	FROM pgbufprobe_advice() WHERE size_factor = 1}, 'advice: today is today');

# ---------------------------------------------------------------------------
# Settings, and what follows from a ring that stands still

# So that the ring stands still.
set($node, history_interval => '1h');
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
is(ask($node, "SELECT wait_event_type, pid $worker"), "Extension|$pid", 'sampler off: the worker waits');
is( ask($node, 'SELECT count(estd_miss_ratio), min(note), max(note) = min(note) FROM pgbufprobe_advice()'),
	'0|pgbufprobe.sampler is off|t', 'sampler off: no advice, and why');
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
becomes_true($node, q{count(*) >= 3 FROM pgbufprobe_history() WHERE seconds >= 0.25}, 'a longer interval takes effect');
is( ask($node, q{
		SELECT min(seconds) >= 0.25 FROM (SELECT seconds FROM pgbufprobe_history() ORDER BY taken_at DESC LIMIT 2) AS newest}),
	't', 'no sample comes earlier than that');
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

has_error($node, "ALTER SYSTEM SET pgbufprobe.history_interval = '10ms'",
	'22023: 10 ms is outside the valid range for parameter "pgbufprobe.history_interval"', 'too short an interval');
has_error($node, 'ALTER SYSTEM SET pgbufprobe.max_cpu_fraction = 0',
	'22023: 0 is outside the valid range for parameter "pgbufprobe.max_cpu_fraction"', 'no share of a processor');
has_error($node, 'ALTER SYSTEM SET pgbufprobe.max_cpu_fraction = 1.1',
	'22023: 1.1 is outside the valid range for parameter "pgbufprobe.max_cpu_fraction"', 'more than one processor');
has_error($node, 'ALTER SYSTEM SET pgbufprobe.history_size = 9',
	'22023: 9 is outside the valid range for parameter "pgbufprobe.history_size"', 'too small a ring');
has_error($node, 'SET pgbufprobe.sampler = off',
	'55P02: parameter "pgbufprobe.sampler" cannot be changed now', 'a session cannot change it for itself');
has_error($node, 'SET pgbufprobe.nonsense = 1',
	'42602: invalid configuration parameter name "pgbufprobe.nonsense"', 'a setting that there is not');

# ---------------------------------------------------------------------------
# Its share of a processor

set($node, max_cpu_fraction => '0.0001');
load_after_reset($node);
await_samples($node, 1);
samples_are_right($node, 'a small share of a processor');
my ($fewer_passes, $fewer_looks, $used) = split /\|/, ask($node, qq{
	SELECT (max(ticks) - min(ticks)) / $pool, sum(looks) FILTER (WHERE seconds IS NOT NULL),
	       sum(sampler_cpu_ms) FILTER (WHERE seconds IS NOT NULL) / sum(seconds) / 1000
	  FROM pgbufprobe_history()});
cmp_ok($fewer_looks / $fewer_passes, '<', $looks / $passes, 'a small share of a processor: fewer looks');
cmp_ok($used, '<', 0.0002, 'and it is not exceeded');
set($node, max_cpu_fraction => '1');
await_samples($node, 2);

# ---------------------------------------------------------------------------
# Cancelled, terminated, killed

is(ask($node, "SELECT pg_cancel_backend(pid) $worker"), 't', 'the worker is cancelled');
my $begun = ask($node, "SELECT $beginnings");
await_samples($node, 3);
is(worker_pid($node), $pid, 'cancelled: the worker continues');
is(ask($node, "SELECT $beginnings"), $begun, 'cancelled: no sample is lost');

ask($node, "CREATE DATABASE another");
$node->safe_psql('another', 'CREATE TABLE filled AS SELECT generate_series(1, 10000) AS i');
await_samples($node, 3);
ask($node, "DROP DATABASE another");
is(worker_pid($node), $pid, 'a database is dropped while it is at work');

my $oldest = ask($node, 'SELECT min(taken_at) FROM pgbufprobe_history()');
is(ask($node, "SELECT pg_terminate_backend(pid) $worker"), 't', 'the worker is terminated');
becomes_true($node, "count(*) = 1 $worker AND pid <> $pid", 'terminated: it comes back');
await_samples($node, 3);
is(ask($node, 'SELECT min(taken_at) FROM pgbufprobe_history()'), $oldest, 'terminated: the ring is still there');
is(ask($node, "SELECT $beginnings"), $begun + 1, 'terminated: nothing is said of the time between');
samples_are_right($node, 'terminated');

$node->restart;
await_samples($node, 2);
my $snapshot = ask($node, 'SELECT pgbufprobe_snapshot()');
my $before_crash = ask($node, 'SELECT now()');
$pid = worker_pid($node);
kill 'KILL', $pid;
ok(poll_through_crash($node, "SELECT count(*) = 1 $worker AND pid <> $pid"), 'killed: the server recovers, and it comes back');
await_samples($node, 3);
is(ask($node, 'SELECT min(taken_at) FROM pgbufprobe_history()'), $oldest, 'killed: the history that was saved is there again');
is(ask($node, "SELECT count(*) FROM pgbufprobe_history() WHERE seconds IS NULL AND taken_at > '$before_crash'"), 1, 'killed: it goes on with a sample that has none before it');
ask($node, 'CALL load(5)');
await_samples($node, 2);
samples_are_right($node, 'killed');
# The hand has gone farther by then than that of the other run had.
is( ask($node, qq{
		SELECT bool_and((after->>'ticks')::bigint > ('$snapshot'::jsonb->>'ticks')::bigint), count(*), count(ticks), count(passes),
		       count(allocations), count(buffers_change)
		  FROM pgbufprobe_snapshot() AS after, pgbufprobe_snapshot_diff('$snapshot', after)}),
	't|7|0|0|0|7', 'killed: a snapshot from before is of another run');
is(ask($node, 'SELECT count(ticks) FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot())'), 7,
	'killed: two of this run are compared');

# ---------------------------------------------------------------------------
# What the checkup says of a pool that was full, and of which most is free now

sub answer
{
	my ($question) = @_;
	return ask($node, "SELECT verdict, answer FROM pgbufprobe_checkup() WHERE question LIKE '$question%'");
}

ask($node, 'CREATE TABLE dropped (LIKE pages INCLUDING STORAGE)');
ask($node, "INSERT INTO dropped SELECT i, repeat('x', 5000) FROM generate_series(1, 2 * $pool) i");
like(answer('Is the pool full'), qr/^fine\|(Yes: all|Nearly: \S+ \S+ of) /, 'checkup: the pool is full');
ask($node, 'DROP TABLE dropped');
like(answer('Is the pool full'), qr/^fine\|No: \d+ MB of \d+ MB are free now\.$/, 'checkup: now it is not');
like(answer('How long does an unused'),
	$node->pg_version->major < 19 ?
	  qr/^fine\|No page will be evicted before \d+ MB of free buffers are used\.$/ :
	  qr/^(unknown\|Unknown: no page was evicted in|fine\|(No page was evicted in|[0-9.]+ s on average\.))/,
	'checkup: free buffers serve first, where there is a list of them');

# ---------------------------------------------------------------------------
# Many relations

ask($node, q{
	CREATE PROCEDURE make_tables(n int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1..n LOOP
			EXECUTE format('CREATE TABLE many_%s (i int)', i);
			EXECUTE format('INSERT INTO many_%s VALUES (%s)', i, i);
			IF i % 200 = 0 THEN COMMIT; END IF;
		END LOOP;
	END $$});
ask($node, 'CALL make_tables(10000)');
await_samples($node, 2);
samples_are_right($node, '10,000 relations');
stop_sampler($node);
# Told as part of the question, since looking up names loads pages, and asked twice.
my $sums = qq{
	SELECT h.used = r.buffers, h.used = s.buffers, r.many > 100
	  FROM (SELECT sum(buffers) AS used FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NOT NULL) AS h,
	       (SELECT sum(buffers) AS buffers, count(*) AS many FROM pgbufprobe_relations()) AS r,
	       (SELECT sum(buffers) AS buffers FROM pgbufprobe_page_lifetime('10 ms')) AS s};
is((split /\n/, ask($node, "$sums; $sums"))[1], 't|t|t', '10,000 relations: the sums agree');
is( ask($node, q{
		SELECT count(*), bool_and(blocks = 1) FROM pgbufprobe_residency()
		 WHERE fork = 'main' AND relation::text LIKE 'many\_%'}),
	'10000|t', '10,000 relations: all are looked up in the page cache');
is(ask($node, 'SELECT count(*) FROM pgbufprobe_checkup()'), 7, '10,000 relations: the checkup answers');
$node->stop;
my $log = slurp_file($node->logfile);
is(scalar(() = $log =~ /was terminated by signal/g), 1, 'one process has crashed, on purpose');
unlike($log, qr/PANIC|TRAP:/, 'and no other');

# ---------------------------------------------------------------------------
# A full ring

$node = sampler_node('ring', "pgbufprobe.history_size = 10\n");
await_samples($node, 5);
my $early = ask($node, 'SELECT min(taken_at) FROM pgbufprobe_history()');
$node->poll_query_until('postgres', "SELECT min(taken_at) > '$early' FROM pgbufprobe_history()");
is(ask($node, "SELECT $samples"), 10, 'a full ring has as many samples as it was made for');
my $newest = ask($node, 'SELECT max(taken_at) FROM pgbufprobe_history()');
$node->poll_query_until('postgres', "SELECT min(taken_at) >= '$newest' FROM pgbufprobe_history()");
is( ask($node, "SELECT count(*), count(seconds), array_agg(taken_at) = array_agg(taken_at ORDER BY taken_at) FROM pgbufprobe_history()"),
	'10|10|t', 'once round and on: the newest ones, oldest first, and none is a beginning');
samples_are_right($node, 'a full ring');
has_error($node, 'SET pgbufprobe.history_size = 20',
	'55P02: parameter "pgbufprobe.history_size" cannot be changed without restarting the server', 'the ring stays as large as it is');
stop_sampler($node);
ask($node, 'SELECT pgbufprobe_history_reset()');
is(ask($node, "SELECT $samples"), 0, 'reset: a full ring is empty');
set($node, sampler => 'on');
becomes_true($node, "$samples = 10 AND $beginnings = 0", 'and fills again');
samples_are_right($node, 'a ring that was reset');
$node->stop;

# ---------------------------------------------------------------------------
# Off from the start

$node = sampler_node('off', "pgbufprobe.sampler = off\n");
becomes_true($node, "wait_event_type = 'Extension' $worker", 'off from the start: the worker waits');
stop_sampler($node);
is(ask($node, "SELECT $samples"), 0, 'off from the start: no sample was ever taken');
is( ask($node, 'SELECT count(*), count(estd_miss_ratio), min(note), max(note) = min(note) FROM pgbufprobe_advice()'),
	'11|0|pgbufprobe.sampler is off|t', 'off from the start: no advice, and why');
is(ask($node, q{SELECT count(*) > 0, count(seconds_per_pass) FROM pgbufprobe_page_lifetime('10 ms')}), 't|0',
	'off from the start: page lifetime is measured by watching');
set($node, sampler => 'on');
await_samples($node, 3);
samples_are_right($node, 'off from the start, then on');
$node->stop;

# ---------------------------------------------------------------------------
# A standby, and what becomes of it

my $primary = sampler_node('primary');
make_pages($primary);
my $standby = init_standby($primary);
$standby->start;
$primary->wait_for_catchup($standby);
await_samples($standby, 3);
samples_are_right($standby, 'standby');
is(ask($standby, "SELECT pg_is_in_recovery(), $beginnings"), 't|1', 'standby: it has a history');
ask($standby, 'SELECT pgbufprobe_history_reset()');
await_samples($standby, 2);
$pid = worker_pid($standby);
$begun = ask($standby, "SELECT $beginnings");
$oldest = ask($standby, 'SELECT min(taken_at) FROM pgbufprobe_history()');
$standby->promote;
await_samples($standby, 3);
is(ask($standby, 'SELECT pg_is_in_recovery()'), 'f', 'promoted: it is a primary');
is(worker_pid($standby), $pid, 'promoted: the worker continues');
is(ask($standby, "SELECT min(taken_at) = '$oldest', $beginnings = $begun FROM pgbufprobe_history()"), 't|t',
	'promoted: history goes on, without a gap');
ask($standby, 'CALL load(3)');
await_samples($standby, 2);
samples_are_right($standby, 'promoted');
$standby->stop;
$primary->stop;

# ---------------------------------------------------------------------------
# A large pool: only descriptors are touched

SKIP:
{
	my ($memory_kb) = -r '/proc/meminfo' ? slurp_file('/proc/meminfo') =~ /^MemTotal:\s*(\d+)/m : 0;
	skip 'this machine has less than 16 GB of memory', 4 if $memory_kb < 16 * 1024 * 1024 * 0.95;
	my $large = 1572864;

	$node = sampler_node('large', "shared_buffers = $large\npgbufprobe.advice_memory = -1\n");
	await_samples($node, 3);
	samples_are_right($node, '12 GB', $large);
	is( ask($node, q{SELECT sum(buffers) FROM pgbufprobe_usagecount_histogram()}), $large, '12 GB: the histogram has all');
	is( ask($node, q{SELECT shared_buffers_bytes FROM pgbufprobe_advice() WHERE size_factor = 4}), 4 * $large * 8192,
		'12 GB: four times that');
	is(ask($node, q{SELECT count(*) FROM pgbufprobe_checkup()}), 7, '12 GB: the checkup answers');
	$node->stop;
}

done_testing();
