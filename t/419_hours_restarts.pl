# Hours survive restarts, also with another size; a standby has hours of its own.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use StateFile;
use Test::More;

my $node = sampler_node('main', "track_io_timing = on\n");
my $worked = 'sum(work_ms_per_second * seconds)';
make_pages($node);
ask($node, 'CALL load(10)');
becomes_true($node, 'min(seconds) > 0 FROM pgbufprobe_hours()', 'there is an hour');

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

# An earlier hour, in which waiting was known half of the time, and one size that would have been better for half of the accesses.
$node->stop;
my $file = state_file($node);
my $bytes = slurp_file($file);
my %of_hour = (begins_at => value_of($bytes, 'hours.begins_at') - 7200e6, seconds => 100, accesses => 1000, reads => 0, apart => 0,
	read_ms => 300, read_ms_seconds => 50);
for my $figure (qw(accesses storage_reads storage_error ms error change change_error))
{
	$of_hour{"sizes[$_].$figure"} = 0 for 0 .. 10;
}
@of_hour{ map { "sizes[$_].accesses" } 5, 7 } = (1000, 500);
@of_hour{ map { "sizes[7].$_" } qw(change change_error) } = (-200, 50);
replace_file($file, with_values($bytes, map { ("hours.$_" => $of_hour{$_}) } keys %of_hour));
$node->start;
becomes_true($node, 'count(*) >= 2 FROM pgbufprobe_hours()', 'an hour is added');
is(ask($node, 'SELECT read_ms_per_second, best_bytes / 8192, saved_ms_per_second, saved_ms_low, saved_ms_high FROM pgbufprobe_hours() ORDER BY hour LIMIT 1'),
	'6|3072|4|3|5', 'how long sessions waited in it, and what the best size would have saved');

stop_sampler($node);
ask($node, 'CALL load(20)');
my $on = ask($node, 'SELECT now()');
set($node, sampler => 'on');
await_samples($node, 30);
is(ask($node, "SELECT sum(accesses) < 30000 FROM pgbufprobe_history() WHERE taken_at > '$on'"), 't', 'what happens while the sampler is off is not counted later');

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
has_error($node, 'SELECT * FROM pgbufprobe_hours()', qr/55000: nothing watches/, 'not preloaded: an error says so');
$node->stop;
has_no_crash($_) for $node, $standby;

done_testing();
