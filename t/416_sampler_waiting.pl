# How long sessions wait for reads, at today's size and at others, by the server's own times, wait events and probes. The
# server believes to be on a machine with little memory, so that its small pool has a small page cache below it.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

my $meminfo = temp_path('meminfo');
put_memory($meminfo, 60000, 300000);
my $node = sampler_node('main', "track_io_timing = on\n", LITTLE_MEMORY => $meminfo);
make_pages($node);

my $today = q{FROM pgbufprobe_advice() WHERE size_factor = 1};
plan skip_all => 'the page cache of this server is unknown, or that of a large machine' unless knows_little_memory($node);

# The answer to a query, which is empty while something is unknown. Then more is loaded.
sub known_answer
{
	my ($query) = @_;
	my $answer;

	for (1 .. 20)
	{
		return $answer if ($answer = ask($node, $query)) ne '';
		load_from_storage_until($node, "($query) IS NOT NULL");
	}
	return $answer;
}

# ---------------------------------------------------------------------------
# With the server's own times

# The first interval may begin with 0, since hardly a read was timed yet.
ok(load_from_storage_until($node, "read_ms_low > 0 $today"), 'it becomes known how long sessions wait');
is(known_answer("SELECT read_ms_per_second BETWEEN read_ms_low AND read_ms_high $today"), 't', 'within an interval');
# The mean of the reads that the advice remembers is that of the last minute. Both change while pages are dropped, or the disk is busy.
ok(load_from_storage_until($node, q{
	a.read_ms_per_second / (a.miss_ratio * h.accesses / h.seconds * s.blk_read_time / s.blks_read) BETWEEN 0.1 AND 10
	  FROM (SELECT * FROM pgbufprobe_advice() WHERE size_factor = 1) AS a,
	       (SELECT sum(accesses) AS accesses, sum(seconds) AS seconds FROM pgbufprobe_history()) AS h,
	       (SELECT sum(blk_read_time) AS blk_read_time, sum(blks_read) AS blks_read FROM pg_stat_database) AS s}), 'as long as the server says');
ok(load_from_storage_until($node, q{count(read_ms_low) >= 3 FROM pgbufprobe_advice()}), 'and at other sizes');
is(known_answer(q{SELECT bool_and(read_ms_low >= 0 AND read_ms_per_second BETWEEN read_ms_low AND read_ms_high) FROM pgbufprobe_advice()
	WHERE read_ms_low IS NOT NULL}), 't', 'each within its interval');
is(ask($node, q{SELECT count(*) FROM pgbufprobe_advice() WHERE read_ms_low IS NULL <> (read_ms_high IS NULL)
	OR read_ms_low IS NOT NULL AND read_ms_per_second IS NULL OR read_ms_per_second IS NOT NULL AND storage_ratio IS NULL}), '0', 'no interval without an estimate');

ok(load_from_storage_until($node, 'count(best_bytes) > 0 FROM pgbufprobe_hours()'), 'an hour says which size would have been best');
is(known_answer(q{SELECT bool_and(saved_ms_per_second >= 0 AND (best_bytes = shared_buffers_bytes) = (saved_ms_per_second = 0)
		AND saved_ms_low BETWEEN 0 AND saved_ms_per_second AND saved_ms_high >= saved_ms_per_second)
	FROM pgbufprobe_hours() WHERE best_bytes IS NOT NULL}), 't', 'another size only if it saves more than the error');

# ---------------------------------------------------------------------------
# Without them

my $width = "(read_ms_high - read_ms_low) / read_ms_per_second $today";
my $with_times = known_answer("SELECT $width");
my $waiting = known_answer("SELECT read_ms_per_second $today");
ask($node, 'ALTER SYSTEM SET track_io_timing = off');
$node->reload;
ok(load_from_storage_until($node, "(SELECT $width) > $with_times"), 'without the server\'s own times, it is less certain');
is(known_answer("SELECT read_ms_per_second > $waiting / 20 $today"), 't', 'but not another time');
my $waited = 'SELECT sum(read_ms_per_second * seconds) FROM pgbufprobe_hours()';
my $before = ask($node, $waited);
my $measured = ask($node, 'SELECT sum(blk_read_time) FROM pg_stat_database');
ok(load_until($node, 4, "($waited) > $before"), 'but counted');
is(ask($node, "SELECT sum(blk_read_time) - $measured FROM pg_stat_database"), '0', 'although the server has timed nothing');
# By probes alone, either end would be half of it away.
ok(load_from_storage_until($node, "(SELECT $width) < 0.9"), 'wait events say how long sessions wait');

# A table of half the pool is read past it, so that one of five reads is that of a large scan.
ask($node, keyed_pages('scanned', $pool / 2));
my $rounds = 0;
my $scan = sub {
	ask($node, q{SELECT pgbufprobe_os_advise(t::regclass, 'dontneed') FROM unnest(ARRAY['pages', 'scanned']) AS t});
	ask($node, 'SELECT count(page) FROM scanned') for 1 .. 2;
	return ++$rounds > 8 && ask($node, "SELECT (SELECT $width) < 0.9") eq 't';
};
ok(load_until($node, 4, $scan), 'also beside large scans');

# What probes read from storage leaves the page cache again.
ask($node, q{CHECKPOINT; SELECT pgbufprobe_os_advise('pages', 'dontneed')});
my $cached = q{(SELECT sum(cached_bytes) FROM pgbufprobe_os_cache('pages'))};
my $left = ask($node, "SELECT $cached");
ask($node, 'SELECT pg_sleep(8)');
becomes_true($node, "$cached <= $left", 'probes leave no block in the page cache');

# ---------------------------------------------------------------------------
# Without a page cache

set($node, os_cache => 'off');
becomes_true($node, 'count(miss_ratio) > 0 AND count(read_ms_per_second) = 0 AND count(read_ms_low) = 0 FROM pgbufprobe_advice()',
	'without the page cache, the waiting is unknown');
# Accesses of a second are in one of its ten samples, and the next one may have those of before.
await_samples($node, 2);
my $since = ask($node, 'SELECT now()');
ask($node, 'CALL load(2)');
becomes_true($node, "bool_and(read_ms_per_second IS NULL) AND sum(accesses) > 0 FROM pgbufprobe_history() WHERE taken_at > '$since' AND miss_ratio > 0.1",
	'also in the history');
ask($node, 'ALTER SYSTEM SET track_io_timing = on');
$node->reload;
$since = ask($node, 'SELECT now()');
ask($node, 'CALL load(4)');
becomes_true($node, "bool_or(read_ms_per_second > 0) FROM pgbufprobe_history() WHERE taken_at > '$since'",
	'unless the server times its reads');

# Who has to write before a read waits for both, which the server times from 16 on.
SKIP:
{
	skip 'the server does not time writes of sessions apart', 3 if $node->pg_version->major < 16;
	my $written = q{SELECT write_time FROM pg_stat_io WHERE object = 'relation' AND context = 'normal' AND backend_type = 'client backend'};
	my $timed = "SELECT sum(read_time) + ($written) FROM pg_stat_io WHERE object = 'relation' AND context = 'normal'";
	my ($written_before, $timed_before, $write);
	# Where the kernel has dropped many pages, reads take so long that writes do not matter beside them.
	for (1 .. 10)
	{
		ask($node, 'SELECT pgbufprobe_history_reset()');
		# the worker counts from then on
		await_samples($node, 1);
		($written_before, $timed_before) = map { ask($node, $_) } $written, $timed;
		ask($node, q{DO $$ BEGIN FOR i IN 1 .. 8 LOOP UPDATE pages SET page = page WHERE id % 8 = i % 8; COMMIT; PERFORM pg_sleep(0.3); END LOOP; END $$});
		$write = wait_for { ask($node, $written) > $written_before };
		last if $write && ask($node, "SELECT (($written) - $written_before) / (($timed) - $timed_before) > 0.2") eq 't';
	}
	ok($write, 'sessions write');
	becomes_true($node, "(SELECT sum(read_ms_per_second * seconds) FROM pgbufprobe_hours()) / (($timed) - $timed_before) BETWEEN 0.9 AND 1.1",
		'and that counts as waiting for reads');
	cmp_ok(ask($node, "SELECT (($written) - $written_before) / (($timed) - $timed_before)"), '>', 0.15, 'it was enough to be missed');
}

$node->stop;
has_no_crash($node);
done_testing();
