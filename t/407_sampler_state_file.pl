# Whatever is in the file that survives a restart, or at its name, the server runs, and the log says what of it was ignored. A
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
my $sample_values = 59;
cmp_ok($nhours, '>', 0, 'the file has hours');
cmp_ok($nsamples, '>', 2, 'and samples');

# More seconds than a server of this test runs, so that they tell whether the hour goes on.
my $seconds_before = 1000;
my ($nan, $minus, $zero) = (pack('d', -sin(9**9**9)), pack('q', -1), pack 'q', 0);

# Two predictions, the newer of which is about the size that runs. By the number of the first value.
my ($older, $newer) = (1368, 1395);
my %predictions = (1367 => pack 'q', 2);
for my $first ($older, $newer)
{
	my %values = (0 => pack('q', 7e14), 1 => pack('q', 1024), 2 => pack('q', $first == $newer ? $pool : 512),
		3 => pack('d', 0.2), 4 => pack('d', 0.1), 5 => pack('d', 0.3), (map { $_ => $nan } 6 .. 9), 11 => pack('q', 1),
		14 => pack('d', 100), 15 => pack('d', 20), 23 => pack('q', 1), 24 => pack('d', 0), 25 => pack('d', 0.5), 26 => $nan);
	@predictions{ map { $first + $_ } keys %values } = values %values;
}
my $good = with_checksum(with_values($bytes_of_stop, $hours + 2 => pack('d', $seconds_before), %predictions));

sub write_file
{
	my ($name, $content) = @_;
	-d $name ? rmdir $name : unlink $name;
	append_to_file($name, $content);
	chmod 0600, $name or die $!;
	return;
}

# Rows that show what was restored, as texts.
my $rows = join ' UNION ALL ', map { "SELECT r::text FROM pgbufprobe_$_ AS r" }
  'history()', q{history('coarse')}, 'hours()', 'advice()', 'advice_relations()', 'working_set()', 'predictions()',
  'verdict()', 'checkup()', 'memory()', 'metrics_size', 'metrics_verdict', 'metrics_prediction', 'metrics_gain', 'metrics_working_set';

# What the log says about the file, in a server that starts, answers and stops. Without a name of what is lost, all is used.
sub messages
{
	my ($what, $lost) = @_;
	my $from = -s $node->logfile;
	my %is_lost = map { $_ => 1 } $lost eq 'all' ? qw(hours history predictions) : split / /, $lost;
	my $npredictions = $is_lost{predictions} ? 0 : $is_lost{prediction} ? 1 : 2;

	start_with_faults($node);
	await_samples($node, 1);
	is( ask($node, q{SELECT (SELECT count(*) FROM pgbufprobe_advice()) >= 11, (SELECT count(*) FROM pgbufprobe_advice_relations()) > 0,
			(SELECT count(*) FROM pgbufprobe_working_set()), (SELECT count(*) FROM pgbufprobe_checkup()), (SELECT count(*) FROM pgbufprobe_predictions())}),
		"t|t|4|9|$npredictions", "$what: all functions answer");
	is(ask($node, "SELECT r FROM ($rows) AS rows (r) WHERE r ~* '\\y(nan|inf|infinity)\\y|\\(null\\)' LIMIT 3"), '', "$what: with figures");
	is(ask($node, 'SELECT coalesce(max(miss_ratio), 0) <= 1 FROM pgbufprobe_history()'), 't',
		"$what: shares are at most 1");
	is(ask($node, "SELECT count(*) > 0 FROM pgbufprobe_hours() WHERE seconds >= $seconds_before"),
		$is_lost{hours} ? 'f' : 't', "$what: the hour " . ($is_lost{hours} ? 'begins again' : 'goes on'));
	is(ask($node, "SELECT count(*) > 0 FROM pgbufprobe_history() WHERE taken_at < pg_postmaster_start_time()"), $is_lost{history} ? 'f' : 't',
		"$what: " . ($is_lost{history} ? 'nothing of the history is used' : 'the history is there'));
	$node->stop;
	ok(!-e $mark, "$what: no mark is left");
	return join "\n", map { s/.*(?:LOG|WARNING|ERROR|FATAL|PANIC):\s+//r } grep { /pgbufprobe\.stat/ } split /\n/, slurp_file($node->logfile, $from);
}

write_file($file, $good);
is(messages('the file of a stop', ''), '', 'it is used without a message');

# ---------------------------------------------------------------------------
# Wrong values, with the right checksum, cost the part that they are in

my $huge = pack 'q', 1 << 62;
my $minus_one = pack 'd', -1;
my $infinity = pack 'd', 9**9**9;

# The number of a value, the value, and the field that the log names; and other values.
my %wrong = (
	all => [
		[ 0, $zero, 'nbuffers' ],
		[ 1, pack('q', 193), 'nhours' ],
		[ 2, $minus, 'nsamples' ],
		[ 2, pack('q', 1_000_000), 'nsamples' ],
		[ 3, pack('q', $ncoarse + 1), 'nsamples' ] ],
	# the report, which has no row while the new one knows as much
	'' => [
		[ 4, $huge, 'report.made_at' ],
		[ 6, $minus_one, 'report.watched_seconds' ],
		[ 7, pack('q', 2), 'report.has_memory' ],
		[ 9, $nan, 'report.totals.reads' ],
		[ 9, $infinity, 'report.totals.reads' ],
		[ 13, pack('d', 1e-300), 'report.totals.accesses' ],
		[ 73, pack('d', 1.5), 'report.rows.miss_ratio' ],
		[ 80, pack('q', 1 << 32), 'report.rows.reason' ],
		[ 126, $minus_one, 'report.times.os.value' ],
		[ 130, pack('q', 2), 'report.times.measured' ],
		[ 141, $infinity, 'report.relations.windows.pages' ],
		[ 165, pack('q', 52), 'report.relations.nrows' ],
		[ 168, $zero, 'report.relations.rows.key' ],
		[ 169, pack('q', 4), 'report.relations.rows.key.fork' ],
		[ 169, $minus, 'report.relations.rows.key.fork' ],
		[ 1137, $huge, 'report.storage.data_bytes' ],
		[ 1155, $huge, 'report.storage.fixed.os_cache_pages' ],
		[ 1313, pack('q', 7), 'report.decision.size' ],
		[ 1315, pack('q', 10), 'report.decision.equal_from' ] ],
	predictions => [ [ 1367, $minus, 'predictions.nmade' ] ],
	prediction => [
		[ $older, $huge, 'predictions.made_at' ],
		[ $older + 4, pack('d', 0.25), 'predictions.forecast' ],
		[ $older + 15, pack('d', 279.7 * 100), 'predictions.measured.reads' ],
		[ $newer + 21, pack('d', 1e-300), 'predictions.measured.storage_reads' ],
		[ $newer + 24, $nan, 'predictions.change', $newer + 23 => pack('q', 3) ],
		[ $newer + 25, $nan, 'predictions.seen_share', $newer + 23 => pack('q', 2) ],
		[ 4073, pack('q', 51), 'predictions.drift.mix.nrelations' ] ],
	hours => [
		[ $hours, pack('q', 1_000_000), 'hours.begins_at' ],
		[ $hours + 1, $zero, 'hours.nbuffers' ],
		[ $hours + 2, $nan, 'hours.seconds' ],
		[ $hours + 4, pack('d', 1e15), 'hours.reads' ],
		[ $hours + 10, $minus_one, 'hours.sizes.misses' ],
		[ $hours + 14, pack('d', 1e15), 'hours.waiting.storage_reads' ],
		[ $hours + 18, $infinity, 'hours.sizes.waiting.change' ],
		[ $hours + 129, $nan, 'hours.sizes.waiting.change_error' ],
		[ $hours + 130, $minus_one, 'hours.memory' ],
		[ $hours + 132, pack('q', 11), 'hours.split_sizes' ],
		[ $hours + 162, $nan, 'hours.splits.accesses' ],
		[ $hours + 371, $infinity, 'hours.splits.change_error' ] ]);

for my $lost (sort keys %wrong)
{
	for (@{ $wrong{$lost} })
	{
		my ($number, $value, $field, @others) = @$_;
		my $part = $lost eq 'all' ? '' : 'part of ';

		write_file($file, with_checksum(with_values($good, $number => $value, @others)));
		is(messages("an impossible $field", $lost), qq(ignoring ${part}file "$its_name", because the value of "$field" is impossible),
			"an impossible $field: the log says so");
	}
}

# Each sample is a part, also several with impossible values.
my @samples = (
	[ 0, $huge, 'taken_at' ],
	[ 3, $zero, 'histogram.nread' ],
	[ 7, $minus, 'histogram.usage.buffers' ],
	[ 8, pack('q', $pool + 1), 'histogram' ],
	[ 31, pack('q', 1e15), 'reads' ],
	[ 32, $nan, 'read_ms' ],
	[ 37, pack('q', 4), 'top_reads.key.fork' ],
	[ 38, pack('d', 1.5), 'top_reads.read_share' ]);
for (@samples)
{
	my ($number, $value, $field) = @$_;

	write_file($file, with_checksum(with_values($good, $fine + $number => $value, $fine + $sample_values + 3 => $zero)));
	is(messages("an impossible $field", ''), qq(ignoring part of file "$its_name", because the value of "samples.$field" is impossible),
		"an impossible $field: the log says so, once");
}

# A value that is too small for a scale of four digits.
my $tiny = pack 'd', 1e-310;
write_file($file, with_checksum(with_values($good, $fine + 32 => $tiny, $fine + 33 => pack('d', 1), $older + 3 => $tiny, $older + 4 => $zero)));
is(messages('tiny values', ''), '', 'tiny values: they are used');

# ---------------------------------------------------------------------------
# Each value of each enum is saved and restored

my %enum;
for my $header (glob 'src/*/*.h')
{
	my $code = slurp_file($header) =~ s{/\*.*?\*/}{}gsr;
	while ($code =~ /typedef enum (\w+)\s*\{([^{}]*)PBP_LAST_\w+ = \w+\s*\}/g)
	{
		my ($name, $values) = ($1, $2);
		$enum{$name} = () = $values =~ /,/g;
	}
}
my %numbers = (PbpAdviceReason => [ 35, $older + 12 ], PbpAdviceChange => [21], PbpStorageReason => [1161], PbpStorageModel => [1136],
	PbpFit => [ 1143, 1154 ], PbpDecisionKind => [1309], PbpDecisionBasis => [1310], PbpConfidence => [1311], PbpVerdict => [1312],
	PbpPredictionState => [ $newer + 23 ]);
is_deeply([ sort keys %enum ], [ sort keys %numbers ], 'the enums that are saved have a last value');

# All fields of enums have the value of this number, or the last one, and others agree with them.
sub with_enums
{
	my ($value) = @_;
	my %values = map { my $enum = $_; map { $_ => pack 'q', $value < $enum{$enum} ? $value : $enum{$enum} - 1 } @{ $numbers{$enum} } } keys %numbers;
	my $is_take = unpack('q', $values{1309}) == $enum{PbpDecisionKind} - 1;

	# today's size of all is 5
	return (%values, 20 => pack('d', 0.1), 28 => $value ? $nan : pack('d', 0.5), (map { $_ => pack('d', 1) } 1322 .. 1366),
		1313 => pack('q', $is_take ? 0 : 5), 1314 => $zero, 1315 => $minus, 1316 => $minus,
		$older + 3 => $nan, $older + 4 => $nan, $older + 5 => $nan, $older + 11 => pack('q', $value ? 1 : 0), $older + 23 => $zero,
		$newer + 10 => pack('q', $value ? 0 : 1), (map { $newer + $_ => $value ? pack('d', 0.2) : $nan } 3 .. 5));
}

my ($most) = sort { $b <=> $a } values %enum;
for my $value (0 .. $most - 1)
{
	my $bytes = with_checksum(with_values($good, with_enums($value)));

	write_file($file, $bytes);
	is(messages("enums of $value", ''), '', "enums of $value: no message");
	my $saved = slurp_file($file);
	is(substr($saved, value_at($_), 8), substr($bytes, value_at($_), 8), "enums of $value: that of $_ is saved again") for $older + 12, $newer + 23;
}
for my $enum (sort keys %numbers)
{
	write_file($file, with_checksum(with_values($good, map { $_ => pack 'q', $enum{$enum} } @{ $numbers{$enum} })));
	like(messages("no $enum", $enum eq 'PbpPredictionState' || $enum eq 'PbpAdviceReason' ? 'prediction' : ''),
		qr/^ignoring part of file "$its_name", because the value of "\w+\.[\w.]+" is impossible/, "no $enum: the log says so");
}

# ---------------------------------------------------------------------------
# Other things at the names

unlink $file or die $!;
mkfifo($file, 0600) or die $!;
is(messages('a FIFO', 'all'), qq(ignoring file "$its_name", because it is not a regular file), 'a FIFO: the log says so');
ok(-f $file, 'a FIFO: a file takes its place');

unlink $file or die $!;
mkdir $file or die $!;
like(messages('a directory', 'all'), qr/^ignoring file "$its_name", because it is not a regular file\n/, 'a directory: the log says so');
rmdir $file or die $!;

write_file($file, $good);
truncate $file, 1 << 40 or die $!;
is(messages('a file of a terabyte', 'all'), qq(ignoring file "$its_name", because it is damaged), 'a file of a terabyte: the log says so');

write_file($file, $good);
mkfifo("$file.tmp", 0600) or die $!;
is(messages('a FIFO at the name of the new file', ''), '', 'a FIFO at the name of the new file: it is removed');
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
is(messages('a file that cannot be opened', 'all'),
	qq(could not read file "$its_name": Permission denied\nrenamed file "$its_name" to "$its_name.bad", because it could not be read),
	'a file that cannot be opened: the log says what became of it');
chmod 0600, "$file.bad" or die $!;
ok(slurp_file("$file.bad") eq $good, 'a file that cannot be opened: it is kept under another name');
write_file($file, $good);
# The first file to be opened is the mark.
for my $call ('open', 'read')
{
	set_faults('pgbufprobe sampler', 'pgbufprobe.stat', $call => { fail_at => $call eq 'open' ? 2 : 1, error => 'EIO' });
	is(messages("$call() that fails", ''), '', "$call() that fails: it is tried again");
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
my $copy = copy_of_cluster($good);
write_file($file, $good);
write_file($mark, pack 'Q2', $copy, 2);
is(messages('a crash in reading', 'all'), qq(renamed file "$its_name" to "$its_name.bad", because the server crashed while the file was in use),
	'a crash in reading: the log says what became of the file');
write_file($file, $good);
write_file($mark, pack 'Q2', $copy, 1);
is(messages('a crash in use', ''), '', 'a crash in use: the file is used again');

# The mark of another copy of the cluster, as in a base backup, is none.
write_file($file, $good);
write_file($mark, pack 'Q2', 4711, 2);
is(messages('the mark of another server', ''), '', 'the mark of another server: it does not count');
write_file($file, $good);
mkdir $mark or die $!;
is(messages('a directory instead of a mark', ''), '', 'a directory instead of a mark: it does not count');

# ---------------------------------------------------------------------------
# More samples than are copied at a time

my $nmany = 5000;
my $sample = substr $good, value_at($fine), 8 * $sample_values;
my $fine_end = value_at($fine + $sample_values * $nsamples);
my $many = substr($good, 0, value_at($fine)) . join('', map { pack('q', 7e14 + 1e6 * $_) . substr $sample, 8 } 1 .. $nmany) . substr $good, $fine_end, -4;
substr $many, value_at(2), 8, pack 'q', $nmany;
substr $many, 40, 8, pack 'q', 4 + length $many;
write_file($file, with_checksum($many));
$node->start;
await_samples($node, 1);
is(ask($node, q{SELECT count(*), count(DISTINCT taken_at), array_agg(taken_at) = array_agg(taken_at ORDER BY taken_at), max(age_seconds) FILTER (WHERE taken_at < '2025-01-01')
		FROM pgbufprobe_history()}), '4320|4320|t|', 'the newest of many samples are there, in order, and not of this start');
$node->stop;
my $nsaved = unpack 'q', substr slurp_file($file), value_at(2), 8;
is($nsaved, 4320, 'and are saved again');

# ---------------------------------------------------------------------------
# A stop does not wait for long; what was saved before remains

my $saved = slurp_file($file);
start_with_faults($node);
await_samples($node, 1);
set_faults('pgbufprobe sampler', 'pgbufprobe.stat', write => { delay_s => 0.5 });
my $from = -s $node->logfile;
$node->stop;
like(slurp_file($node->logfile, $from), qr/LOG:  could not save to file "$its_name" before the server stops\n.*DETAIL:  It remains as it was saved before\./,
	'a slow save at a stop: the log says that it was given up');
ok(slurp_file($file) eq $saved, 'a slow save at a stop: the file remains');
clear_faults();

# ---------------------------------------------------------------------------
# A copy of the data directory on another file system, where the control file has the number that it had

my $control = $node->data_dir . '/global/pg_control';
my $contents = slurp_file($control);
my $number = (stat $control)[1];
SKIP:
{
	skip 'the file system does not say when a file was created', 3 if `stat -c %W $control` !~ /^[1-9]/;
	unlink $control or die $!;
	append_to_file($control, $contents);
	chmod 0600, $control or die $!;
	skip 'the number of a file is not used again', 3 if (stat $control)[1] != $number;
	write_file($file, $good);
	$from = -s $node->logfile;
	$node->start;
	await_samples($node, 1);
	like(slurp_file($node->logfile, $from), qr/LOG:  ignoring file "$its_name", because it was copied from another server, or restored$/m,
		'a copy whose control file has the same number: the log says so');
	is(ask($node, 'SELECT count(*) FROM pgbufprobe_predictions()'), 0, 'a copy whose control file has the same number: nothing is used');
	$node->stop;
	isnt(copy_of_cluster(slurp_file($file)), $copy, 'a copy whose control file has the same number: its own file differs');
}

done_testing();
