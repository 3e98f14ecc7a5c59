# A restore that stays incomplete keeps its file until shared buffers hold as many pages, or for a day.

use strict;
use warnings;

use CarryOver;
use PageCache;
use Server;
use Test::More;

my ($node) = three_databases() or plan skip_all => 'no pg_buffercache, with which the results are compared';

$node->append_conf('postgresql.conf', "max_worker_processes = 3\nshared_buffers = 8192\n");
my $from = -s $node->logfile;
$node->restart;
logs($node, $from, qr/restored both caches without .*: 0 MB read/, 'without a slot, the restore ends');
my $saved = maps_identity($node);
$node->stop;
is(maps_identity($node), $saved, 'a stop keeps the file');

# until the load has brought as many pages
my $used = q{SELECT count(*) FROM pg_buffercache WHERE relfilenode IS NOT NULL};
$from = -s $node->logfile;
$node->start;
logs($node, $from, qr/restored both caches without/, 'again');
ask($node, one_row_a_page('filler', 1000) . 'SELECT count(*) FROM filler');
cmp_ok(ask($node, $used), '>', 1000, 'the load brings some pages');
$node->stop;
is(maps_identity($node), $saved, 'which are not enough');
$from = -s $node->logfile;
$node->start;
logs($node, $from, qr/restored both caches without/, 'once more');
ask($node, one_row_a_page('more', 4500));
cmp_ok(ask($node, $used), '<', 8000, 'shared buffers are not full');
$node->stop;
isnt(maps_identity($node), $saved, 'but hold as many pages: the file is replaced');

# or for a day
$saved = maps_identity($node);
my $shift = temp_path('seconds');
$from = -s $node->logfile;
start_with($node, SHIFT_MONOTONIC => $shift);
logs($node, $from, qr/restored both caches without/, 'a last time');
put_file($shift, 86000);
set($node, carry_over => 'off');
set($node, carry_over => 'on', carry_over_interval => '1s');
# two intervals, in which nothing happens
sleep 2;
is(maps_identity($node), $saved, 'on the same day, the file remains');
put_file($shift, 87000);
ok(wait_for { maps_identity($node) ne $saved }, 'a day later, it is replaced');

has_no_crash($node);
done_testing();
