# Limits: a server without room for the worker says so, and with the largest memory for the advice, the worker does
# not make others wait.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

# ---------------------------------------------------------------------------
# No room for the worker

my $node = sampler_node('full', "max_worker_processes = 0\n");
is(ask($node, "SELECT count(*) $worker"), 0, 'no background workers: there is none');
is( ask($node, 'SELECT count(estd_miss_ratio), min(note), max(note) = min(note) FROM pgbufprobe_advice()'),
	'0|the sampler could not be registered, because max_worker_processes is too low|t',
	'no background workers: no advice, and why');
is(ask($node, 'SELECT count(*) FROM pgbufprobe_history()'), 0, 'no background workers: no history');
is(ask($node, q{SELECT count(*) > 0 FROM pgbufprobe_page_lifetime('10 ms') WHERE watched_seconds < 60}), 't',
	'no background workers: the hand is watched');
$node->append_conf('postgresql.conf', 'max_worker_processes = 2');
$node->restart;
await_samples($node, 1);
is(ask($node, q{SELECT count(*) FROM pgbufprobe_advice() WHERE note LIKE '%max_worker_processes%'}), 0,
	'room for it: nothing of that any more');
$node->stop;

# ---------------------------------------------------------------------------
# The largest memory

$node = sampler_node('memory');
my ($largest) = ask($node, q{SELECT max_val FROM pg_settings WHERE name = 'pgbufprobe.advice_memory'});
cmp_ok($largest, '<=', 16 * 1024, 'the memory for the advice has a limit, beyond which a look would take too long');
has_error($node, 'ALTER SYSTEM SET pgbufprobe.advice_memory = ' . ($largest + 1),
	'22023: ' . ($largest + 1) . ' (kB )?is outside the valid range for parameter "pgbufprobe.advice_memory"', 'more than that');
$node->append_conf('postgresql.conf', "shared_buffers = 4GB\npgbufprobe.advice_memory = $largest\n");
$node->restart;
await_samples($node, 3);
# DROP DATABASE waits until each process has noticed it.
for my $i (1 .. 10)
{
	ask($node, 'CREATE DATABASE another');
	ask($node, 'DROP DATABASE another');
}
is(ask($node, q{SELECT count(*) FROM pg_database WHERE datname = 'another'}), 0, 'databases are dropped while it is at work');
like(worker_pid($node), qr/^\d+$/, 'and it goes on');
$node->stop;

done_testing();
