# pg_upgrade carries the extension over, and neither history nor advice: they are about another pool.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use StateFile;
use Test::More;

my $old = sampler_node('old');
plan skip_all => 'pg_upgrade of 18 looks for libraries in $libdir only' unless can_upgrade($old);

make_pages($old);
ask($old, 'CALL load(4)');
await_samples($old, 5);
$old->stop;
my $upgraded_at = time;

my $new = init_server('new', "shared_buffers = $pool\nshared_preload_libraries = pgbufprobe\npgbufprobe.history_interval = 100ms\n"
	  . "pgbufprobe.max_cpu_fraction = 1\n", force_initdb => 1);
upgrades_ok($old, $new);
ok(-s state_file($old), 'the old server keeps its file');
ok(!-e state_file($new), 'the new one learned nothing from the servers that pg_upgrade ran');

my $from = -s $new->logfile // 0;
$new->start;
await_samples($new, 2);
is(ask($new, "SELECT extversion FROM pg_extension WHERE extname = 'pgbufprobe'"), '1.0', 'the extension is there');
is(ask($new, "SELECT count(*) FROM pgbufprobe_history() WHERE taken_at < to_timestamp($upgraded_at)"), '0', 'the history begins again');
is(ask($new, q{SELECT count(*) FROM pgbufprobe_advice() WHERE note LIKE '%before the restart%' OR miss_ratio IS NOT NULL}), '0', 'so does the advice');
is(ask($new, 'SELECT count(*) FROM pgbufprobe_predictions()'), '0', 'and nothing was predicted');
unlike(slurp_file($new->logfile, $from), qr/pgbufprobe\.stat/, 'nothing is logged about a file');
# A busy machine may let the hand go too far between two looks.
ok(load_until($new, 4, 'count(miss_ratio) > 0 FROM pgbufprobe_advice()'), 'the worker learns');
$new->stop;

has_no_crash($_) for $old, $new;

done_testing();
