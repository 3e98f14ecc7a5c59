# A stop whose save would take too long: it visits files for ten seconds, and the others keep what was saved of them before.

use strict;
use warnings;

use CarryOver;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = carry_node('main') or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $file = maps_file($node);
my $slow = PostgreSQL::Test::Utils::tempdir() . '/slow';
ask($node, "CREATE DATABASE another$_") for 1 .. 2;
make_table($node, 'another1', 'pages', 100);

# The files that have a map: database, tablespace, file number, fork and segment.
sub files_saved
{
	my $saved = slurp_file($file);
	my @files;

	for (my $at = 48; $at < length($saved) - 12; $at += 24 + unpack 'x20 L', substr $saved, $at)
	{
		push @files, join '/', unpack 'L5', substr $saved, $at;
	}
	return @files;
}

ask($node, 'SELECT count(*) FROM pages', 'another1');
save($node);
set($node, carry_over_interval => '0');
my @before = files_saved();
# Each takes a tenth of a second, next time.
cmp_ok(scalar(@before), '>', 150, 'a save has the maps of many files');
$node->stop('immediate');
{
	local $ENV{SLOW_OPENS} = $slow;
	start_with($node, 'slow_opens');
}
is_restored($node, 'a start');
my $changed = (stat $file)[1];
my $from = -s $node->logfile;
append_to_file($slow, '');
$node->stop;
like(slurp_file($node->logfile, $from), qr/LOG:  could not save both caches of all relations within 10 s/, 'a slow save ends early, and the log says so');
isnt((stat $file)[1], $changed, 'what was visited is saved');
my %after = map { $_ => 1 } files_saved();
cmp_ok(scalar(grep { $after{$_} } @before), '>=', @before - 20, 'and the others are still there');
is(scalar(keys %after), scalar(() = files_saved()), 'none is there twice');

# ---------------------------------------------------------------------------
# The file of before cannot be read in time

unlink $slow;
my $slow_reads = "$slow.reads";
{
	local $ENV{SLOW_READS} = $slow_reads;
	start_with($node, 'slow_reads');
}
is_restored($node, 'such a file');
$changed = (stat $file)[1];
$from = -s $node->logfile;
append_to_file($slow_reads, $file);
is(system('pg_ctl', '--silent', '--wait', '--timeout=30', '--mode=fast', '--pgdata=' . $node->data_dir, 'stop'), 0, 'a stop ends although the file of before is read slowly');
$node->_update_pid(0);
like(slurp_file($node->logfile, $from), qr/LOG:  could not save both caches of all relations within 10 s\n.*DETAIL:  What was saved before remains\./, 'without a save');
is((stat $file)[1], $changed, 'all that was saved before remains');

unlink $slow_reads;
$node->start;
is_restored($node, 'a file that was kept');
has_no_crash($node);
done_testing();
