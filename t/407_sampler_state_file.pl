# Whatever is in the file that survives a restart, or at its name, the server runs, and the log says why it was ignored. A
# file that was being read when the server crashed, or in use at two crashes in a row, is set aside.

use strict;
use warnings;

use CacheMap;
use Faults;
use File::Copy qw(copy);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use StateFile;
use Test::More;

my $node = sampler_node('main');
my $file = $node->data_dir . '/pg_stat/pgbufprobe.stat';
my $mark = "$file.reading";
my $its_name = 'pg_stat/pgbufprobe.stat';

make_pages($node);
ok(load_until($node, 8, 'count(relation) > 0 AND EXISTS (SELECT FROM pgbufprobe_hours()) FROM pgbufprobe_advice_relations()'),
	'the advice knows relations and an hour');
await_samples($node, 3);
$node->stop;
ok(!-e $mark, 'after a stop, there is no mark');
my $bytes_of_stop = slurp_file($file);

# By their position among the values.
my ($nhours, $nsamples, $ncoarse) = unpack 'q3', substr $bytes_of_stop, value_at(1), 24;
my $hours = $state_hours;
my $fine = $hours + $hour_values * $nhours;
cmp_ok($nhours, '>', 0, 'the file has hours');
cmp_ok($nsamples, '>', 2, 'and samples');

# More seconds than a server of this test runs, so that they tell whether the hour goes on.
my $seconds_before = 1000;
substr $bytes_of_stop, value_at($hours + 2), 8, pack 'd', $seconds_before;
my $good = with_checksum(substr $bytes_of_stop, 0, -4);

sub write_file
{
	my ($name, $content) = @_;
	-d $name ? rmdir $name : unlink $name;
	append_to_file($name, $content);
	chmod 0600, $name or die $!;
	return;
}

# What the log says about the file, in a server that starts, answers and stops.
sub messages
{
	my ($what, $expects_history) = @_;
	my $from = -s $node->logfile;

	start_with_faults($node);
	await_samples($node, 1);
	is( ask($node, q{SELECT (SELECT count(*) FROM pgbufprobe_advice()) >= 11, (SELECT count(*) FROM pgbufprobe_advice_relations()) > 0,
			(SELECT count(*) FROM pgbufprobe_working_set()), (SELECT count(*) FROM pgbufprobe_checkup()), (SELECT count(*) FROM pgbufprobe_predictions())}),
		't|t|4|9|0', "$what: all functions answer");
	is(ask($node, "SELECT count(*) > 0 FROM pgbufprobe_hours() WHERE seconds >= $seconds_before"),
		$expects_history ? 't' : 'f', "$what: the hour " . ($expects_history ? 'goes on' : 'begins again'));
	is(ask($node, "SELECT count(*) > 0 FROM pgbufprobe_history() WHERE taken_at < pg_postmaster_start_time()"), $expects_history ? 't' : 'f',
		"$what: " . ($expects_history ? 'the history is there' : 'nothing of it is used'));
	$node->stop;
	ok(!-e $mark, "$what: no mark is left");
	return join "\n", map { s/.*(?:LOG|WARNING|ERROR|FATAL|PANIC):\s+//r } grep { /pgbufprobe\.stat/ } split /\n/, slurp_file($node->logfile, $from);
}

write_file($file, $good);
is(messages('the file of a stop', 1), '', 'it is used without a message');

# ---------------------------------------------------------------------------
# Wrong values, with the right checksum

my $minus = pack 'q', -1;
my $zero = pack 'q', 0;
my $huge = pack 'q', 1 << 62;
my $minus_one = pack 'd', -1;
my $infinity = pack 'd', 9**9**9;
my $nan = pack 'd', -sin(9**9**9);

my @wrong = (
	[ 'nbuffers', 0, $zero ],
	[ 'nhours', 1, pack 'q', 193 ],
	[ 'nsamples', 2, $minus ],
	[ 'nsamples', 2, pack 'q', 1_000_000 ],
	[ 'nsamples', 3, pack 'q', $ncoarse + 1 ],
	[ 'made_at', 4, $huge ],
	[ 'since', 6, $minus ],
	[ 'has_memory', 7, pack 'q', 2 ],
	[ 'totals.reads', 9, $nan ],
	[ 'totals.reads', 9, $infinity ],
	[ 'rows.miss_ratio', 72, pack 'd', 1.5 ],
	[ 'rows.reason', 79, pack 'q', 10 ],
	[ 'rows.reason', 79, pack 'q', 1 << 32 ],
	[ 'times.os.value', 125, pack 'd', -1 ],
	[ 'times.measured', 129, pack 'q', 2 ],
	[ 'relations.windows.pages', 140, $infinity ],
	[ 'relations.nrows', 164, pack 'q', 52 ],
	[ 'relations.rows.key', 167, $zero ],
	[ 'relations.rows.key.fork', 168, pack 'q', 4 ],
	[ 'relations.rows.key.fork', 168, $minus ],
	[ 'storage.model', 1135, pack 'q', 6 ],
	[ 'storage.data_bytes', 1136, $huge ],
	[ 'storage.fits', 1142, pack 'q', 6 ],
	[ 'storage.fixed.os_cache_pages', 1154, $huge ],
	[ 'decision.kind', 1308, pack 'q', 99 ],
	[ 'nmade', 1365, $minus ],
	[ 'ring.state', 1389, pack 'q', 8 ],
	[ 'watch.drift.mix.nrelations', 4071, pack 'q', 51 ],
	[ 'begins_at', $hours, pack 'q', 1_000_000 ],
	[ 'nbuffers', $hours + 1, $zero ],
	[ 'seconds', $hours + 2, $nan ],
	[ 'sizes.misses', $hours + 10, $minus_one ],
	[ 'sizes.waiting.change', $hours + 18, $infinity ],
	[ 'sizes.waiting.change_error', $hours + 129, $nan ],
	[ 'memory', $hours + 130, $minus_one ],
	[ 'split_sizes', $hours + 132, pack 'q', 11 ],
	[ 'splits.accesses', $hours + 162, $nan ],
	[ 'splits.change_error', $hours + 371, $infinity ],
	[ 'taken_at', $fine, $minus ],
	[ 'histogram.nread', $fine + 3, $zero ],
	[ 'histogram.usage.buffers', $fine + 7, $minus ],
	[ 'read_ms', $fine + 32, $nan ],
	[ 'top_reads.key.fork', $fine + 37, pack 'q', 4 ],
	[ 'top_reads.read_share', $fine + 38, pack 'd', 1.5 ]);
for my $wrong (@wrong)
{
	my ($field, $position, $value) = @$wrong;
	my $bytes = substr $good, 0, -4;
	my $what = "an impossible $field";

	substr $bytes, value_at($position), 8, $value;
	write_file($file, with_checksum($bytes));
	is(messages($what), qq(ignoring file "$its_name", because the value of "$field" is impossible), "$what: the log says so");
}

# ---------------------------------------------------------------------------
# Other things at the names

unlink $file or die $!;
mkfifo($file, 0600) or die $!;
is(messages('a FIFO'), qq(ignoring file "$its_name", because it is not a regular file), 'a FIFO: the log says so');
ok(-f $file, 'a FIFO: a file takes its place');

unlink $file or die $!;
mkdir $file or die $!;
like(messages('a directory'), qr/^ignoring file "$its_name", because it is not a regular file\n/, 'a directory: the log says so');
rmdir $file or die $!;

write_file($file, $good);
truncate $file, 1 << 40 or die $!;
is(messages('a file of a terabyte'), qq(ignoring file "$its_name", because it is damaged), 'a file of a terabyte: the log says so');

write_file($file, $good);
mkfifo("$file.tmp", 0600) or die $!;
is(messages('a FIFO at the name of the new file', 1), '', 'a FIFO at the name of the new file: it is removed');
write_file($file, $good);
write_file("$file.tmp", 'left');
$node->start;
await_samples($node, 1);
ok(!-e "$file.tmp", 'a new file that was left is removed at the start');
$node->stop;

# ---------------------------------------------------------------------------
# Errors of the system, which say nothing about the file

write_file($file, $good);
chmod 0, $file or die $!;
is(messages('a file that cannot be opened'),
	qq(could not read file "$its_name": Permission denied\nrenamed file "$its_name" to "$its_name.bad", because it could not be read),
	'a file that cannot be opened: the log says what became of it');
chmod 0600, "$file.bad" or die $!;
ok(slurp_file("$file.bad") eq $good, 'a file that cannot be opened: it is kept under another name');
write_file($file, $good);
# The first file to be opened is the mark.
for my $call ('open', 'read')
{
	set_faults('pgbufprobe sampler', 'pgbufprobe.stat', $call => { fail_at => $call eq 'open' ? 2 : 1, error => 'EIO' });
	is(messages("$call() that fails", 1), '', "$call() that fails: it is tried again");
	is(fault_counts()->{$call}{failed}, 1, "$call() that fails: it has failed");
}

# ---------------------------------------------------------------------------
# Crashes while the file is in use

my $old_samples = "FROM pgbufprobe_history() WHERE taken_at < pg_postmaster_start_time() - interval '1 s'";
my $aside = qr/LOG:  renamed file "$its_name" to "$its_name\.bad", because the server crashed while the file was in use$/m;

# Ends the worker or the postmaster at once, and waits until the server runs again.
sub crash
{
	my ($mode) = @_;

	if ($mode eq 'worker')
	{
		my $pid = worker_pid($node);
		kill 'KILL', $pid;
		ok(poll_through_crash($node, "SELECT count(*) = 1 $worker AND pid <> $pid"), 'the server starts again');
	}
	else
	{
		my @pids = split /\n/, ask($node, 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
		$node->kill9;
		ok(wait_for { !grep { kill 0, $_ } @pids }, 'the processes of the server end when they notice that');
		$node->start;
	}
	await_samples($node, 1);
	return;
}

for my $mode ('worker', 'postmaster')
{
	write_file($file, $good);
	unlink "$file.bad";
	$node->adjust_conf('postgresql.conf', 'restart_after_crash', $mode eq 'worker' ? 'on' : 'off');
	sleep 2;
	$node->start;
	await_samples($node, 1);
	my $before = ask($node, "SELECT count(*) $old_samples");
	cmp_ok($before, '>', 0, "the $mode: the file is used");
	ok(-f $mark, "the $mode: and marked");
	my $from = -s $node->logfile;
	crash($mode);
	is(ask($node, "SELECT count(*) $old_samples"), $before, "the $mode was killed: the history is there again");
	unlike(slurp_file($node->logfile, $from), $aside, "the $mode was killed: the file remains");
	crash($mode);
	is(ask($node, "SELECT count(*) $old_samples"), '0', "the $mode was killed twice: the history begins again");
	like(slurp_file($node->logfile, $from), $aside, "the $mode was killed twice: the log says what became of the file");
	ok(slurp_file("$file.bad") eq $good, "the $mode was killed twice: the file is kept under another name");
	$node->stop;
}

# A crash while the file is read leaves such a mark.
my $copy = (stat $node->data_dir . '/global/pg_control')[1];
write_file($file, $good);
write_file($mark, pack 'Q2', $copy, 2);
is(messages('a crash in reading'), qq(renamed file "$its_name" to "$its_name.bad", because the server crashed while the file was in use),
	'a crash in reading: the log says what became of the file');
write_file($file, $good);
write_file($mark, pack 'Q2', $copy, 1);
is(messages('a crash in use', 1), '', 'a crash in use: the file is used again');

# The mark of another copy of the cluster, as in a base backup, is none.
write_file($file, $good);
write_file($mark, pack 'Q2', 4711, 2);
is(messages('the mark of another server', 1), '', 'the mark of another server: it does not count');
write_file($file, $good);
mkdir $mark or die $!;
is(messages('a directory instead of a mark', 1), '', 'a directory instead of a mark: it does not count');

done_testing();
