# Hours survive restarts, also with another size; a standby has hours of its own.

use strict;
use warnings;

use Sampler;
use Server;
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
