# What a restore does when its workers fail: one that ends early, cannot connect or waits for a lock is not finished, and is run
# again. A save that fails is tried again.

use strict;
use warnings;

use CarryOver;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my ($node, $tables) = three_databases() or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $from;

# Changes a setting without a session, which could wait for the lock.
sub set_in_file
{
	my ($name, $value) = @_;
	append_to_file($node->data_dir . "/postgresql.auto.conf", "pgbufprobe.$name = '$value'\n");
	$node->reload;
	return;
}

# ---------------------------------------------------------------------------
# A save that fails, and is tried again after a minute. The clock runs ten times as fast, and a reload wakes the worker.

my $other = carry_node('other', "pgbufprobe.carry_over = off\n");
$other->stop;
start_with($other, FAST_CLOCK => 1);
my $other_log = -s $other->logfile;
my $in_the_way = maps_file($other) . '.tmp';
mkdir $in_the_way or die $!;
append_to_file("$in_the_way/file", '');
set($other, carry_over => 'on', carry_over_interval => '1d');
logs($other, $other_log, qr/LOG:  could not write file "pg_stat\/pgbufprobe\.maps\.tmp"/, 'a save fails');
is(progress($other, 'saved_at'), '', 'nothing is saved');
unlink "$in_the_way/file" or die $!;
rmdir $in_the_way or die $!;
becomes_true($other, 'saved_at IS NOT NULL FROM pgbufprobe_status(), pg_reload_conf()', 'the save is tried again before its interval');
$other->stop;

# ---------------------------------------------------------------------------
# A worker cannot connect

my $directory = $node->data_dir . '/base/' . ask($node, q{SELECT oid FROM pg_database WHERE datname = 'moved'});
$node->stop;
rename $directory, "$directory.aside" or die $!;
$from = -s $node->logfile;
$node->start;
logs($node, $from, $will_try_again, 'no connection: the log says that it is tried again');
ok($node->poll_query_until('postgres', "SELECT count(*) = 700 FROM pg_buffercache WHERE $tables->{postgres}"),
	'no connection: meanwhile, other databases are restored');
like(progress($node, 'carry_over'), qr/^restoring/, 'no connection: the restore has not ended');
my $saved = maps_identity($node);
$node->stop;
is(maps_identity($node), $saved, 'no connection: a stop keeps the file');
$from = -s $node->logfile;
$node->start;
logs($node, $from, $will_try_again, 'no connection after another start');
rename "$directory.aside", $directory or die $!;
all_are_back($node, $tables, $from, 'connected again');
is(scalar(() = slurp_file($node->logfile, $from) =~ /$will_try_again/g), 1, 'with one message about the failures');

# ---------------------------------------------------------------------------
# A worker ends early

set($node, carry_over_rate => '1MB');
$from = -s $node->logfile;
$node->restart;
becomes_true($node, "count(*) = 1 $carry_load", 'a worker restores');
# They take turns, so the next one may have to come first.
ok(wait_for { ask($node, "SELECT count(pg_terminate_backend(pid)) $carry_load") eq '1' }, 'and is terminated');
# If it had just done its part, that is no failure.
ok( wait_for
	{
		my $logged = slurp_file($node->logfile, $from) =~ $will_try_again;
		ask($node, "SELECT count(pg_terminate_backend(pid)) $carry_load") if !$logged;
		$logged;
	},
	'terminated: the log says so');
set($node, carry_over_rate => '0');
all_are_back($node, $tables, $from, 'terminated');

# ---------------------------------------------------------------------------
# Locks that are held for long

set($node, carry_over_rate => '1MB');
$from = -s $node->logfile;
$node->restart;
my $session = $node->background_psql('postgres');
becomes_true($node, qq{EXISTS (SELECT $carry_load AND datname = 'postgres') AND restored_fraction > 0 FROM pgbufprobe_status()}, 'a slow restore');
$session->query_safe('BEGIN; LOCK pg_class IN ACCESS EXCLUSIVE MODE');
set_in_file(carry_over_rate => '0');
logs($node, $from, $will_try_again, 'a catalog is locked: its worker does not wait for long');
$session->query_safe('COMMIT');
all_are_back($node, $tables, $from, 'a catalog was locked');
$session->quit;

set($node, carry_over_rate => '1MB');
$from = -s $node->logfile;
$node->restart;
my $database;
ok(wait_for { ($database = ask($node, "SELECT max(datname) $carry_load")) ne '' }, 'another slow restore');
my ($name) = grep { $_ ne $database } 'renamed', 'moved';
# it can be renamed once nobody is connected to it
becomes_true($node, "count(*) = 0 FROM pg_stat_activity WHERE datname = '$name'", 'another database has no session');
$session = $node->background_psql('postgres');
$session->query_safe("BEGIN; ALTER DATABASE $name RENAME TO other");
set_in_file(carry_over_rate => '0');
logs($node, $from, $will_try_again, 'a database is locked: its worker does not wait for long');
$session->query_safe('ROLLBACK');
all_are_back($node, $tables, $from, 'a database was locked');
$session->quit;

set($node, carry_over_rate => '1MB');
$from = -s $node->logfile;
$node->restart;
$session = $node->background_psql('postgres');
becomes_true($node, "count(*) > 0 $carry_load AND datname IS NOT NULL", 'a third slow restore');
$session->query_safe('BEGIN; LOCK pg_database IN ACCESS EXCLUSIVE MODE');
set_in_file(carry_over_rate => '0');
logs($node, $from, qr/LOG:  the restore of both caches waits until "pg_database" is not locked/, 'pg_database is locked: the log says so');
is($session->query_safe(q{SELECT count(*) FROM pg_locks WHERE relation = 'pg_database'::regclass AND NOT granted AND pid = (SELECT pid } . $carry_worker . ')'),
	'0', 'and the worker does not wait for that lock');
$session->query_safe('COMMIT');
all_are_back($node, $tables, $from, 'pg_database was locked');
$session->quit;

has_no_crash($_) for $node, $other;
done_testing();
