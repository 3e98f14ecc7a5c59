# What a restore and a save do when a file cannot be read, or a table: that is tried again, nothing is saved in place of a file that
# may be good, and what could not be restored is restored after another start.

use strict;
use warnings;

use CarryOver;
use Faults;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my ($node, $tables) = three_databases() or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $file = maps_file($node);
my $from;
my $saved;

# Reads of a file by the workers fail: all, or one.
sub fail_reads
{
	my ($path, %which) = @_;
	return set_faults('pgbufprobe carry-over', $path, pread => { error => 'EIO', %which });
}

# ---------------------------------------------------------------------------
# A file that cannot be read, which is not damaged

$node->stop;
fail_reads($file, fail_at => 1);
$from = -s $node->logfile;
start_with_faults($node);
all_are_back($node, $tables, $from, 'one read fails');
is(fault_counts()->{pread}{failed}, 1, 'it did');
clear_faults();
unlike(slurp_file($node->logfile, $from), qr/could not (?:open|read) file|ignoring file/, 'and is tried again, without a message');

set($node, carry_over_rate => '1MB');
$node->stop;
$from = -s $node->logfile;
start_with_faults($node);
becomes_true($node, q{restored_fraction > 0 FROM pgbufprobe_status()}, 'a slow restore');
fail_reads($file, fail_rate => 1);
logs($node, $from, $will_try_again, 'all reads fail: the database is tried again');
clear_faults();
set($node, carry_over_rate => '0');
all_are_back($node, $tables, $from, 'they succeed again');

# of a table
my $path = $node->data_dir . '/' . ask($node, q{SELECT pg_relation_filepath('pages')}, 'renamed');
for my $passes (1, 0)
{
	$node->stop;
	$saved = maps_identity($node);
	fail_reads($path, fail_rate => 1);
	$from = -s $node->logfile;
	start_with_faults($node);
	logs($node, $from, $will_try_again, 'no page of a table can be read: its database is tried again');
	last if !$passes;
	clear_faults();
	all_are_back($node, $tables, $from, 'the pages can be read again');
}
logs($node, $from, qr/LOG:  restored both caches without a part of 1 database: /, 'they still cannot be read: the restore ends without them');
$node->stop;
is(maps_identity($node), $saved, 'a stop keeps the file');
clear_faults();
$from = -s $node->logfile;
start_with_faults($node);
all_are_back($node, $tables, $from, 'after another start');

# at a save
fail_reads($file, fail_rate => 1);
$saved = maps_identity($node);
$from = -s $node->logfile;
set($node, carry_over_interval => '1s');
logs($node, $from, qr/LOG:  could not read file "pg_stat\/pgbufprobe\.maps": Input.*\n.*DETAIL:  It remains, and nothing is saved\./, 'all reads fail in a save: the log says so');
is(maps_identity($node), $saved, 'and the file remains');
clear_faults();
ok(wait_for { maps_identity($node) ne $saved }, 'the next save replaces it');
set($node, carry_over_interval => '0');

for my $error ('Permission denied', 'Input/output error')
{
	$node->stop;
	$saved = maps_identity($node);
	$error eq 'Permission denied' ? chmod(0, $file) : fail_reads($file, fail_rate => 1);
	$from = -s $node->logfile;
	start_with_faults($node);
	logs($node, $from, qr/LOG:  could not read file "pg_stat\/pgbufprobe\.maps": $error/, "$error: the log says so");
	becomes_true($node, q{carry_over = 'waiting' FROM pgbufprobe_status()}, 'and nothing is restored');
	set($node, carry_over_interval => '1s');
	# two intervals, in which nothing happens
	sleep 2;
	is(progress($node, 'saved_at'), '', 'nothing is saved, although that is due');
	$node->stop;
	is(maps_identity($node), $saved, 'the file remains');
	is(scalar(() = slurp_file($node->logfile, $from) =~ /(?:could not read|ignoring) file/g), 1, 'with one message');
	chmod 0600, $file or die $!;
	clear_faults();
	append_to_file($node->data_dir . '/postgresql.auto.conf', "pgbufprobe.carry_over_interval = 0\n");
	$from = -s $node->logfile;
	$node->start;
	all_are_back($node, $tables, $from, 'it can be read again');
}

has_no_crash($node);
done_testing();
