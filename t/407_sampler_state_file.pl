# Whatever is in the file that survives a restart, or at its name, the server runs, and the log says what of it was ignored. A
# file that was being read when the server crashed, or in use at two crashes in a row, is set aside.

use strict;
use warnings;

use CacheMap;
use Faults;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use StateFile;
use Test::More;

my $node = sampler_node('main');
my $file = state_file($node);
my $mark = "$file.reading";
my $its_name = 'pg_stat/pgbufprobe.stat';

make_pages($node);
ok(load_until($node, 8, 'count(relation) > 0 AND EXISTS (SELECT FROM pgbufprobe_hours()) FROM pgbufprobe_advice_relations()'),
	'the advice knows relations and an hour');
await_samples($node, 3);
$node->stop;
ok(!-e $mark, 'after a stop, there is no mark');
my $bytes_of_stop = slurp_file($file);

cmp_ok(value_of($bytes_of_stop, 'nhours'), '>', 0, 'the file has hours');
cmp_ok(value_of($bytes_of_stop, 'nsamples[0]'), '>', 2, 'and samples');

# More seconds than a server of this test runs, so that they tell whether the hour goes on.
my $seconds_before = 1000;
my ($nan, $infinity, $huge, $tiny) = (-sin(9**9**9), 9**9**9, 1 << 62, 1e-310);

# Two predictions, the newer of which is about the size that runs.
my ($older, $newer) = ('predictions.ring[0]', 'predictions.ring[1]');
my %predictions = ('predictions.nmade' => 2);
for my $one ($older, $newer)
{
	my %values = (made_at => 7e14, from_buffers => 1024, to_buffers => $one eq $newer ? $pool : 512,
		(map { ("misses.$_->[0]" => $_->[1]) } [ value => 0.2 ], [ low => 0.1 ], [ high => 0.3 ]), (map { ("storage.$_" => $nan) } qw(value low high)),
		os_cache_pages => $nan, had_advice => 1, 'measured.accesses' => 100, 'measured.reads' => 20, state => 1, change => 0, seen_share => 0.5,
		missing_reads => $nan);
	@predictions{ map { "$one.$_" } keys %values } = values %values;
}
my $good = with_values($bytes_of_stop, 'hours.seconds' => $seconds_before, %predictions);

# Rows that show what was restored, as texts.
my $rows = join ' UNION ALL ', map { "SELECT r::text FROM pgbufprobe_$_ AS r" }
  'history()', q{history('coarse')}, 'hours()', 'advice()', 'advice_relations()', 'working_set()', 'predictions()',
  'verdict()', 'checkup()', 'memory()', 'metrics_size', 'metrics_verdict', 'metrics_prediction', 'metrics_gain', 'metrics_working_set';

# What the log says about the file, in a server that starts, answers and stops. Without a name of what is lost, all is used.
my $said_of_quarter;
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
	$said_of_quarter = ask($node, 'SELECT note FROM pgbufprobe_advice() WHERE size_factor = 0.25');
	$node->stop;
	ok(!-e $mark, "$what: no mark is left");
	return join "\n", map { s/.*(?:LOG|WARNING|ERROR|FATAL|PANIC):\s+//r } grep { /pgbufprobe\.stat/ } split /\n/, slurp_file($node->logfile, $from);
}

replace_file($file, $good);
is(messages('the file of a stop', ''), '', 'it is used without a message');

# ---------------------------------------------------------------------------
# Wrong values, with the right checksum, cost the part that they are in

# The value, another one, what the log names, and other values.
my %wrong = (
	all => [
		[ nhours => 193, 'nhours' ],
		[ 'nsamples[0]' => -1, 'nsamples' ],
		[ 'nsamples[1]' => -1, 'nsamples' ] ],
	# the report, which has no row while the new one knows as much
	'' => [
		[ 'report.made_at' => $huge, 'report.made_at' ],
		[ 'report.watched_seconds' => -1, 'report.watched_seconds' ],
		[ 'report.has_memory' => 7, 'report.has_memory' ],
		[ 'report.totals.reads' => $nan, 'report.totals' ],
		[ 'report.totals.reads' => $infinity, 'report.totals' ],
		[ 'report.totals.seconds' => 1e-300, 'report.totals' ],
		[ 'report.rows[5].ratio.value' => 1.5, 'report.rows' ],
		[ 'report.rows[5].reason' => 12, 'report.rows' ],
		[ 'report.times.os.value' => -1, 'report.times' ],
		[ 'report.times.measured' => 2, 'report.times' ],
		[ 'report.times.queue.service' => 1.5, 'report.times' ],
		[ 'report.times.queue.sessions' => 1e9, 'report.times' ],
		[ 'report.relations.has_memory' => 255, 'report.relations' ],
		[ 'report.relations.windows[1].pages' => $infinity, 'report.relations' ],
		[ 'report.relations.nrows' => 52, 'report.relations' ],
		[ 'report.relations.rows[0].key.relfilenode' => 0, 'report.relations' ],
		[ 'report.relations.rows[0].key.fork' => 4, 'report.relations' ],
		[ 'report.relations.rows[0].key.fork' => -1, 'report.relations' ],
		[ 'report.relations.rows[0].others' => 2, 'report.relations' ],
		[ 'report.storage.data_bytes' => $huge, 'report.storage' ],
		[ 'report.storage.fixed[0].os_cache_pages' => $huge, 'report.storage' ],
		[ 'report.decision.size' => 7, 'report.decision' ],
		[ 'report.decision.size' => 11, 'report.decision' ],
		[ 'report.decision.best' => -2, 'report.decision' ],
		[ 'report.decision.times_decide' => 7, 'report.decision' ],
		[ 'report.decision.equal_from' => 10, 'report.decision' ] ],
	predictions => [ [ 'predictions.nmade' => -1, 'predictions.nmade' ] ],
	prediction => [
		[ "$older.made_at" => $huge, 'predictions.made_at' ],
		[ "$older.misses.low" => 0.25, 'predictions.forecast' ],
		[ "$older.measured.reads" => 279.7 * 100, 'predictions.measured' ],
		[ "$older.outside" => 7, 'predictions.state' ],
		[ "$newer.measured.storage_reads" => 1e-300, 'predictions.measured' ],
		[ "$newer.change" => $nan, 'predictions.change', "$newer.state" => 3 ],
		[ "$newer.seen_share" => $nan, 'predictions.seen_share', "$newer.state" => 2 ],
		[ 'predictions.watch.warm' => 2, 'predictions.watch' ],
		[ 'predictions.watch.drift.mix.nrelations' => 51, 'predictions.drift.mix' ] ],
	hours => [
		[ 'hours.begins_at' => 1_000_000, 'hours.begins_at' ],
		[ 'hours.nbuffers' => 0, 'hours.nbuffers' ],
		[ 'hours.seconds' => $nan, 'hours.seconds' ],
		[ 'hours.reads' => 1e15, 'hours.reads' ],
		[ 'hours.sizes[0].storage_reads' => 1e15, 'hours.sizes' ],
		[ 'hours.sizes[0].change' => $infinity, 'hours.sizes' ],
		[ 'hours.sizes[10].change_error' => $nan, 'hours.sizes' ],
		[ 'hours.memory' => -1, 'hours.memory' ],
		[ 'hours.split_sizes[0]' => 11, 'hours.splits' ],
		[ 'hours.splits[0].accesses' => $nan, 'hours.splits' ],
		[ 'hours.splits[29].change_error' => $infinity, 'hours.splits' ] ]);
locate(map { $_->[0] } map { @$_ } values %wrong);

for my $lost (sort keys %wrong)
{
	for (@{ $wrong{$lost} })
	{
		my ($name, $value, $field, @others) = @$_;
		my $part = $lost eq 'all' ? '' : 'part of ';

		replace_file($file, with_values($good, $name => $value, @others));
		is(messages("an impossible $name", $lost), qq(ignoring ${part}file "$its_name", because the value of "$field" is impossible),
			"an impossible $name: the log says so");
	}
}

# Each sample is a part, also several with impossible values.
my @samples = (
	[ 'taken_at' => $huge, 'taken_at' ],
	[ 'ticks' => -1, 'ticks' ],
	[ 'histogram.nread' => 0, 'histogram' ],
	[ 'histogram.usage[0].buffers' => -1, 'histogram' ],
	[ 'histogram.usage[0].dirty' => $pool + 1, 'histogram' ],
	[ 'reads' => 1e15, 'reads' ],
	[ 'read_ms' => $nan, 'read_ms' ],
	[ 'top_reads[0].key.fork' => 4, 'top_reads', 'samples.top_reads[0].key.relfilenode' => 1 ],
	[ 'top_reads[0].read_share' => 1.5, 'top_reads', 'samples.top_reads[0].key.relfilenode' => 1, 'samples.top_reads[0].key.tablespace' => 1664 ]);
for (@samples)
{
	my ($name, $value, $field, @others) = @$_;

	replace_file($file, with_values($good, "samples.$name" => $value, @others, 'samples[1].histogram.nread' => 0));
	is(messages("an impossible $name", ''), qq(ignoring part of file "$its_name", because the value of "samples.$field" is impossible),
		"an impossible $name: the log says so, once");
}

# A value that is too small for a scale of four digits.
replace_file($file, with_values($good, 'samples.read_ms' => $tiny, 'samples.read_ms_seconds' => 1, "$older.misses.value" => $tiny, "$older.misses.low" => 0));
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
my %names = (PbpAdviceReason => [ 'report.rows[0].reason', "$older.reason" ], PbpAdviceChange => ['report.totals.change'],
	PbpStorageReason => ['report.storage.fixed[0].reason'], PbpStorageModel => ['report.storage.model'],
	PbpFit => [ 'report.storage.fits[0]', 'report.storage.data_fit' ], PbpDecisionKind => ['report.decision.kind'],
	PbpDecisionBasis => ['report.decision.basis'], PbpConfidence => ['report.decision.confidence'], PbpVerdict => ['report.decision.verdict'],
	PbpPredictionState => ["$newer.state"]);
is_deeply([ sort keys %enum ], [ sort keys %names ], 'the enums that are saved have a last value');

# All enums have the value of this number, or the last one, and other values agree with them.
sub with_enums
{
	my ($value) = @_;
	my %values = map { my $enum = $_; map { $_ => $value < $enum{$enum} ? $value : $enum{$enum} - 1 } @{ $names{$enum} } } keys %names;
	my $is_take = $values{'report.decision.kind'} == $enum{PbpDecisionKind} - 1;

	# today's size of all is 5
	return (%values, 'report.totals.lately' => 0.1, 'report.rows[0].ratio.value' => $value ? $nan : 0.5,
		(map { my $size = $_; map { ("report.decision.choices[$size].$_" => 1) } qw(value error change change_error) } 0 .. 10),
		'report.decision.size' => $is_take ? 0 : 5, 'report.decision.best' => 0, 'report.decision.equal_from' => -1, 'report.decision.equal_to' => -1,
		(map { ("$older.misses.$_" => $nan) } qw(value low high)), "$older.had_advice" => $value ? 1 : 0, "$older.state" => 0,
		"$newer.outside" => $value ? 0 : 1, (map { ("$newer.misses.$_" => $value ? 0.2 : $nan) } qw(value low high)));
}

# What is said of each PbpAdviceReason. The load has changed by its pace there.
my @reasons = (
	'', 'not completed a pass', 'still learning', 'too few recent reads', 'too fast for the sampler', 'reads are not counted',
	'more pages are loaded than', 'the sampler saw only', 'in constant use', 'tables of large scans', 'slightly more memory',
	'a tenth of its usual pace');
is(scalar @reasons, $enum{PbpAdviceReason}, 'there are words for each reason');
my ($most) = sort { $b <=> $a } values %enum;
for my $value (0 .. $most - 1)
{
	my $bytes = with_values($good, with_enums($value));

	replace_file($file, $bytes);
	is(messages("enums of $value", ''), '', "enums of $value: no message");
	# A report without a decision is not shown: its kind is PBP_DECIDE_IDLE or PBP_KEEP_UNUSED.
	like($said_of_quarter, qr/$reasons[$value]/, "enums of $value: the reason is said") if $reasons[$value] && $value != 2 && $value != 5;
	my $saved = slurp_file($file);
	is(value_of($saved, $_), value_of($bytes, $_), "enums of $value: that of $_ is saved again") for "$older.reason", "$newer.state";
}
for my $enum (sort keys %names)
{
	replace_file($file, with_values($good, map { $_ => $enum{$enum} } @{ $names{$enum} }));
	like(messages("no $enum", $enum eq 'PbpPredictionState' || $enum eq 'PbpAdviceReason' ? 'prediction' : ''),
		qr/^ignoring part of file "$its_name", because the value of "\w+\.\w+" is impossible/, "no $enum: the log says so");
}

# A size of the pool that no server has.
replace_file($file, with_values($good, 'stamp.nbuffers' => 0));
like(messages('no size of the pool', 'all'), qr/^ignoring file .* damaged$/, 'no size of the pool: the log says so');

# ---------------------------------------------------------------------------
# Other things at the names

unlink $file or die $!;
mkfifo($file, 0600) or die $!;
like(messages('a FIFO', 'all'), qr/^ignoring file .* not a regular file$/, 'a FIFO: the log says so');
ok(-f $file, 'a FIFO: a file takes its place');

unlink $file or die $!;
mkdir $file or die $!;
like(messages('a directory', 'all'), qr/^ignoring file .* not a regular file\n/, 'a directory: the log says so');
rmdir $file or die $!;

replace_file($file, $good);
truncate $file, 1 << 40 or die $!;
like(messages('a file of a terabyte', 'all'), qr/^ignoring file .* damaged$/, 'a file of a terabyte: the log says so');

replace_file($file, $good);
mkfifo("$file.tmp", 0600) or die $!;
is(messages('a FIFO at the name of the new file', ''), '', 'a FIFO at the name of the new file: it is removed');
replace_file($file, $good);
replace_file("$file.tmp", 'left');
$node->start;
await_samples($node, 1);
ok(!-e "$file.tmp", 'a new file that was left is removed at the start');
$node->stop;

# ---------------------------------------------------------------------------
# Errors of the system, which say nothing about the file

replace_file($file, $good);
chmod 0, $file or die $!;
is(messages('a file that cannot be opened', 'all'),
	qq(could not read file "$its_name": Permission denied\nrenamed file "$its_name" to "$its_name.bad", because it could not be read),
	'a file that cannot be opened: the log says what became of it');
chmod 0600, "$file.bad" or die $!;
ok(slurp_file("$file.bad") eq $good, 'a file that cannot be opened: it is kept under another name');
replace_file($file, $good);
# The first file to be opened is the mark.
for my $call ('open', 'pread')
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
	replace_file($file, $good);
	unlink "$file.bad";
	$node->adjust_conf('postgresql.conf', 'restart_after_crash', $mode eq 'worker' ? 'on' : 'off');
	# so that the samples in the file are older than this start by a second
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
replace_file($file, $good);
replace_file($mark, pack 'Q2', $copy, 2);
like(messages('a crash in reading', 'all'), qr/^renamed file .*, because the server crashed/,
	'a crash in reading: the log says what became of the file');
replace_file($file, $good);
replace_file($mark, pack 'Q2', $copy, 1);
is(messages('a crash in use', ''), '', 'a crash in use: the file is used again');

# The mark of another copy of the cluster, as in a base backup, is none.
replace_file($file, $good);
replace_file($mark, pack 'Q2', 4711, 2);
is(messages('the mark of another server', ''), '', 'the mark of another server: it does not count');
replace_file($file, $good);
mkdir $mark or die $!;
is(messages('a directory instead of a mark', ''), '', 'a directory instead of a mark: it does not count');

# ---------------------------------------------------------------------------
# A ring that was full

my ($room, $nmany) = (4320, 5000);
my ($first, $second) = map { (place_of("samples[$_].taken_at"))[0] } 0, 1;
my $sample = substr $good, $first, $second - $first;
my @taken_at = map { 7e14 + 1e6 * ($_ < $nmany - $room ? $_ + $room : $_) } 0 .. $room - 1;
my $many = $good;
substr $many, $first, $room * length $sample, join('', map { pack('q', $_) . substr $sample, 8 } @taken_at);
replace_file($file, with_values($many, 'nsamples[0]' => $nmany));
$node->start;
await_samples($node, 1);
is(ask($node, q{SELECT count(*), count(DISTINCT taken_at), array_agg(taken_at) = array_agg(taken_at ORDER BY taken_at), max(age_seconds) FILTER (WHERE taken_at < '2025-01-01')
		FROM pgbufprobe_history()}), '4320|4320|t|', 'the newest of many samples are there, in order, and not of this start');
$node->stop;
cmp_ok(value_of(slurp_file($file), 'nsamples[0]'), '>', $room, 'and are saved again');

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
	replace_file($file, $good);
	$from = -s $node->logfile;
	$node->start;
	await_samples($node, 1);
	like(slurp_file($node->logfile, $from), qr/LOG:  ignoring file "$its_name", because it was copied/,
		'a copy whose control file has the same number: the log says so');
	is(ask($node, 'SELECT count(*) FROM pgbufprobe_predictions()'), 0, 'a copy whose control file has the same number: nothing is used');
	$node->stop;
	isnt(copy_of_cluster(slurp_file($file)), $copy, 'a copy whose control file has the same number: its own file differs');
}

done_testing();
