# A restore whose reads take long: between two of them it leaves its database, gives way to those who want to lock the
# relation, and ends with the server.

use strict;
use warnings;

use CarryOver;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $nblocks = 500;
my $node = carry_node('main', "pgbufprobe.os_cache = off\n") or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $slow = PostgreSQL::Test::Utils::tempdir() . '/slow';
ask($node, 'CREATE DATABASE slow');
my $table = make_table($node, 'slow', 'pages', $nblocks);
my $path = $node->data_dir . '/' . ask($node, q{SELECT pg_relation_filepath('pages')}, 'slow');
use_blocks($node, 'slow', 'pages', 0, $nblocks - 1, 5);

# Restarts the server, and waits until these many blocks of the table are there, most of which are read slowly.
sub restart_slowly
{
	my ($wanted, $what) = @_;
	local $ENV{SLOW_READS} = $slow;

	$node->stop if $node->{_pid};
	append_to_file($slow, $path) unless -e $slow;
	start_with($node, 'slow_reads');
	return ok($node->poll_query_until('postgres', "SELECT count(*) >= $wanted FROM pg_buffercache WHERE $table"), $what);
}

restart_slowly(5, 'a slow restore');
# All reads of the extent would take 25 seconds.
is(system('pg_ctl', '--silent', '--wait', '--timeout=12', '--mode=fast', '--pgdata=' . $node->data_dir, 'stop'), 0, 'a stop does not wait for it');
$node->_update_pid(0);

restart_slowly(110, 'one worker goes on where the one before had no more time');
unlink $slow or die $!;
is_restored($node, 'a restore that becomes faster');
is(scalar(() = in_buffers($node, $table) =~ /:/g), $nblocks, 'all blocks are back');

restart_slowly(5, 'another slow restore');
is( ask($node, q{BEGIN; SET lock_timeout = '10 s'; LOCK TABLE pages IN ACCESS EXCLUSIVE MODE; SELECT 'locked'; COMMIT}, 'slow'),
	'locked', 'who wants to lock the table does not wait for it');
unlink $slow or die $!;
is_restored($node, 'a restore after a lock');

use_blocks($node, 'slow', 'pages', 0, $nblocks - 1, 5);
restart_slowly(5, 'a third slow restore');
is(ask($node, 'DROP DATABASE slow'), '', 'the database can be dropped meanwhile');
is_restored($node, 'a restore without the database');
unlike(slurp_file($node->logfile), qr/ERROR.*carry|PANIC|TRAP:/, 'nothing has failed');

has_no_crash($node);
done_testing();
