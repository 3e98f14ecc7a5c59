# On a standby the worker takes no part in recovery conflicts: the replay of DROP TABLESPACE cancels all
# transactions, but does not end the worker and costs it nothing of what it has learned.

use strict;
use warnings;

use File::Basename;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

my $rounds = 40;
my $primary = sampler_node('primary', "max_standby_streaming_delay = 0\nallow_in_place_tablespaces = on\n");
make_pages($primary);

# One of its reads is under way most of the time, later.
my $standby = init_standby($primary);
$standby->append_conf('postgresql.conf', "pgbufprobe.max_cpu_fraction = 1\n");
my $slow = temp_path('slow');
start_with($standby, SLOW_PROBES => $slow);
$primary->wait_for_catchup($standby);
load_until($standby, 12, 'coalesce(reads_seen > 0, false) FROM pgbufprobe_status()');
my $pid = worker_pid($standby);
my $from = -s $standby->logfile;
my $learned;
wait_for { ($learned = ask($standby, 'SELECT reads_seen FROM pgbufprobe_status()')) ne '' };
cmp_ok($learned, '>', 0, 'the worker has learned something');
becomes_true($standby, q{count(*) = 1 FROM pgbufprobe_advice_relations() WHERE relation = 'pages'::regclass AND read_fraction > 0},
	'and knows of which table');
append_to_file($slow, '');
for my $i (1 .. $rounds)
{
	ask($primary, "CREATE TABLESPACE short_lived LOCATION ''");
	$primary->wait_for_catchup($standby);
	# Like the temporary file of a query, because of which replay cancels transactions.
	my ($directory) = glob($standby->data_dir . '/pg_tblspc/*/PG_*');
	mkdir "$directory/pgsql_tmp" or die "$directory/pgsql_tmp: $!";
	append_to_file("$directory/pgsql_tmp/pgsql_tmp1.1", 'x');
	ask($primary, 'DROP TABLESPACE short_lived');
	$primary->wait_for_catchup($standby);
	unlink "$directory/pgsql_tmp/pgsql_tmp1.1";
	rmdir for "$directory/pgsql_tmp", $directory, dirname($directory);
}
is( join("\n", grep { /\[$pid\]|pgbufprobe sampler/ } split /\n/, slurp_file($standby->logfile, $from)),
	'', "$rounds tablespaces are dropped: the worker has no conflict with that, and does not end");
is(worker_pid($standby), $pid, 'it is the same worker');
# Older reads count less, by a third in four minutes.
becomes_true($standby, "reads_seen > 0.5 * $learned FROM pgbufprobe_status()", 'and has forgotten nothing');
$standby->stop;
$primary->stop;

done_testing();
