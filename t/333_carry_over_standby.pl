# A standby ignores the maps that were copied from its primary, and their count of crashes; it saves and restores its own, in
# recovery and after a promotion.
#
# A conflict with recovery ends no more than the transaction of a worker, which goes on with the same extent.

use strict;
use warnings;

use CarryOver;
use Faults;
use File::Copy qw(copy);
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $primary = carry_node('main') or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $table = make_table($primary, 'postgres', 'pages', 300);
my $standby = init_standby($primary);

use_blocks($primary, 'postgres', 'pages', 0, 99, 2);
save($primary);
copy(maps_file($primary), maps_file($standby)) or die $!;
chmod 0600, maps_file($standby) or die $!;
# three restores of the primary that a crash has ended
append_to_file(maps_file($standby) . '.restoring', substr(slurp_file(maps_file($primary)), 40, 8) . pack 'Q', 3);

my $from = -s $standby->logfile // 0;
$standby->start;
becomes_true($standby, q{carry_over = 'waiting' FROM pgbufprobe_status()}, 'a standby restores nothing of its primary');
like(log_since($standby, $from), qr/LOG:  ignoring file "pg_stat\/pgbufprobe\.maps", because it was copied/, 'and says so');

use_blocks($standby, 'postgres', 'pages', 100, 149, 3);
my $used = in_buffers($standby, $table);
$standby->restart;
is_restored($standby, 'the standby after a restart');
is(in_buffers($standby, $table), $used, 'the standby has saved its own blocks');

# ---------------------------------------------------------------------------
# Conflicts with recovery: several extents are restored, slowly, and replay waits for nobody

my $long = make_table($primary, 'postgres', 'long', 1300);
ask($primary, "CREATE DATABASE dropped");
make_table($primary, 'dropped', 'pages', 100);
$primary->wait_for_catchup($standby);
use_blocks($standby, 'postgres', 'long', 0, 1299, 1);
ask($standby, 'SELECT count(*) FROM pages', 'dropped');
is(scalar(() = in_buffers($standby, $long) =~ /:/g), 1300, 'a long table');
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = 0\npgbufprobe.os_cache = off\n");
set_faults('pgbufprobe carry-over', ask($primary, q{SELECT pg_relation_filepath('long')}), pread => { delay_s => 0.05 });
my $restored = "FROM pg_buffercache WHERE $long";
my $locking = "FROM pg_locks WHERE relation = 'long'::regclass AND granted AND pid IN (SELECT pid $carry_load)";
# A worker has no lock for an instant every 50 ms, and leaves out the rest of an extent that another one locks then; after a
# conflict, it ends.
ok( wait_for
	{
		$standby->stop;
		$from = -s $standby->logfile;
		start_with_faults($standby);
		$standby->poll_query_until('postgres', "SELECT count(*) > 3 $restored") or die 'the table is not restored';
		my $pid = ask($standby, "SELECT pid $locking") or return 0;
		ask($primary, 'BEGIN; LOCK TABLE long IN ACCESS EXCLUSIVE MODE; COMMIT');
		$standby->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT $carry_load AND pid = $pid)");
		ask($standby, "SELECT confl_lock > 0 FROM pg_stat_database_conflicts WHERE datname = 'postgres'") eq 't';
	},
	'the restore of a table has a conflict with recovery');
ask($primary, 'DROP DATABASE dropped');
$primary->wait_for_catchup($standby, 'replay');
clear_faults();
is_restored($standby, 'the standby after conflicts');
is(ask($standby, "SELECT count(*) $restored AND relblocknumber >= 1024"), 276, 'the rest of the table is back');
unlike(log_since($standby, $from), qr/ERROR|restored both caches without/, 'and conflicts are no errors');

$used = in_buffers($standby, $table);
$from = -s $standby->logfile;
$standby->promote;
ok($standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'it is promoted');
is(in_buffers($standby, $table), $used, 'it keeps its blocks');
is(progress($standby, 'carry_over'), 'done', 'and the worker goes on');
$standby->restart;
is_restored($standby, 'the new primary');
is(in_buffers($standby, $table), $used, 'it restores them, too');
unlike(log_since($standby, $from), qr/ERROR|PANIC/, 'without an error');

has_no_crash($_) for $primary, $standby;
done_testing();
