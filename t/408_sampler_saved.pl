# History, predictions and the last advice survive restarts and crashes of the server. A file that is damaged, or belongs
# elsewhere, is ignored with one message.

use strict;
use warnings;

use CacheMap;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use StateFile;
use Test::More;

my $node = sampler_node('main');
my $file = state_file($node);

# What was learned: per size its ratio, with the error, where it is known. Beyond 4 times there may be the size that holds
# all data, which is known when the files have been counted.
sub advice
{
	my ($node) = @_;
	return { map { my ($factor, @rest) = split /\|/; ($factor, \@rest) } split /\n/,
		ask($node, 'SELECT size_factor, miss_ratio, miss_ratio_high - miss_ratio_low, reads_seen
			FROM pgbufprobe_advice(), pgbufprobe_status() WHERE size_factor <= 4 AND miss_ratio IS NOT NULL') };
}

# Is the advice that of before a restart?
sub is_from_before
{
	my ($node) = @_;
	return ask($node, q{SELECT coalesce(bool_and(note LIKE 'from before the restart, % old%'), false) FROM pgbufprobe_advice()}) eq 't';
}

# The same of all sizes once no load is learned any more: counts come late, and what a look finds counts with the next. Who asks
# more often than in two of five seconds is another load, and on a slow machine, one question takes two.
sub settled_advice
{
	my ($node) = @_;
	my $loads = -1;
	for (1 .. 30)
	{
		my $advice = advice($node);
		my $knows = keys %$advice == 11;
		return $advice if $knows && $advice->{1}[2] == $loads;
		$loads = $knows ? $advice->{1}[2] : -1;
		ask($node, 'CALL load(4)') if !$knows;
		sleep 5;
	}
	die 'the advice does not settle: ' . ask($node, q{SELECT string_agg(size_factor || ' ' || coalesce(note, ''), E'\n') FROM pgbufprobe_advice()});
}

# The advice that is in the file, and the samples: no size became known, or unknown, while it was saved.
sub saved_advice
{
	my ($node) = @_;
	for (1 .. 30)
	{
		my $advice = settled_advice($node);
		my $samples = samples($node);
		save_history($node) or die 'the worker does not save';
		my $now = advice($node);
		return ($advice, $samples) if join(' ', sort keys %$now) eq join(' ', sort keys %$advice);
	}
	die 'what is known does not settle';
}

# Do all sizes have the same ratios, within their errors, and as narrow intervals? Do all answers say of when they are?
sub same_advice
{
	my ($before, $after, $what) = @_;
	my @lost = grep { !$after->{$_} } sort keys %$before;
	my @other = grep { $after->{$_} && abs($after->{$_}[0] - $before->{$_}[0]) > $before->{$_}[1] / 2 + 0.005 } sort keys %$before;

	is("@lost", '', "$what: each size that was known is known at once")
	  or diag(ask($node, 'SELECT DISTINCT note FROM pgbufprobe_advice() WHERE miss_ratio IS NULL'));
	is("@other", '', "$what: with the same ratio");
	cmp_ok($after->{1}[1], '<=', $before->{1}[1] + 0.001, "$what: and no wider an interval");
	ok(is_from_before($node), "$what: and says that it is from before the restart");
	is( ask($node, q{SELECT bool_and(note LIKE 'from before the restart, % old%') FROM
			(SELECT note FROM pgbufprobe_working_set() UNION ALL SELECT note FROM pgbufprobe_advice_relations()) AS answers}),
		't', "$what: so do the working set and the relations");
	is( ask($node, q{SELECT answer LIKE 'Too early after the restart; %' AND detail LIKE 'The answer from before the restart, % old: %' AND verdict <> 'change'
			FROM pgbufprobe_checkup() WHERE topic = 'size'}), 't', "$what: and the checkup, whose verdict is milder");
	return;
}

# Loads until this server knows all sizes, and enough for a decision: that needs half a minute. Returns the advice.
sub learn
{
	my ($node) = @_;
	my $advice;
	wait_for
	{
		$advice = advice($node);
		my $knows = keys %$advice == 11 && !is_from_before($node);
		ask($node, 'CALL load(4)') if !$knows;
		$knows;
	} or die 'the advice does not learn';
	return $advice;
}

# Reads lose half of their weight after two pools' worth of newer reads.
sub forget_the_start
{
	my ($node) = @_;
	ask($node, 'CALL load(12)');
	return;
}

# The newest sample, and how many there are and since when, of those taken before now. A ring that is full loses the oldest, so
# these are the last thousand.
sub samples
{
	my ($node, $until) = @_;
	return ask($node, 'SELECT count(*), max(taken_at), min(taken_at) FROM (SELECT taken_at FROM pgbufprobe_history()'
		  . ($until ? " WHERE taken_at <= '$until'" : '') . ' ORDER BY taken_at DESC LIMIT 1000) AS last');
}

sub has_sample
{
	my ($node, $taken_at) = @_;
	return ask($node, "SELECT count(*) FROM pgbufprobe_history() WHERE taken_at = '$taken_at'");
}

# No sample is there twice.
sub has_no_sample_twice
{
	my ($node, $what) = @_;
	is(ask($node, 'SELECT count(*) - count(DISTINCT taken_at) FROM pgbufprobe_history()'), '0', "$what: no sample counts twice");
	return;
}

# ---------------------------------------------------------------------------
# Restarted

make_pages($node);
learn($node);
forget_the_start($node) for 1 .. 2;
await_samples($node, 5);
my $advice = settled_advice($node);
my $samples = samples($node);
my $newest = (split /\|/, $samples)[1];
my $from = -s $node->logfile;
$node->stop('fast');
is(sampler_log($node, $from), '', 'a stop: nothing is logged');
is((stat $file)[2] & 0777, 0600, 'there is a file, which its owner alone can read');
ok(!-e "$file.tmp", 'and no temporary one');
$node->start;
# the worker reads what was saved
await_samples($node, 1);
same_advice($advice, advice($node), 'restarted');
await_samples($node, 2);
is(samples($node, $newest), $samples, 'restarted: the history has what it had');
is(ask($node, "SELECT count(*) FROM pgbufprobe_history() WHERE taken_at > '$newest' AND seconds IS NULL"), '1',
	'restarted: its first sample of this server has none before it');
has_no_sample_twice($node, 'restarted');
learn($node);
forget_the_start($node);
ok(!is_from_before($node), 'later, the advice is of this server');
# the more was read from the empty pool of the start, the longer that counts
my $ratio;
ok( within(
		300,
		sub {
			$ratio = learn($node)->{1}[0];
			return 1 if abs($ratio - $advice->{1}[0]) < 0.05;
			forget_the_start($node);
			return 0;
		}),
	'with about the same ratio as before') or diag("$ratio after $advice->{1}[0]");
is(ask($node, q{SELECT count(*) FROM pgbufprobe_checkup() WHERE answer LIKE '%after the restart%'}), '0', 'and so is the checkup');

# ---------------------------------------------------------------------------
# Crashed: what was saved last is there

($advice, $samples) = saved_advice($node);
$newest = (split /\|/, $samples)[1];
$node->stop('immediate');
$node->start;
await_samples($node, 1);
same_advice($advice, advice($node), 'stopped immediately');
is(samples($node, $newest), $samples, 'stopped immediately: the history has what was saved');
await_samples($node, 2);
has_no_sample_twice($node, 'stopped immediately');

($advice, $samples) = saved_advice($node);
$newest = (split /\|/, $samples)[1];
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
save_history($node);
my $victim = start_psql($node, 'victim', '-c', 'SELECT pg_backend_pid()', '-c', 'SELECT pg_sleep(600)');
ok(wait_for { $victim->{run}->pump_nb; $victim->{out} =~ /^(\d+)$/m }, 'a session waits');
my ($killed) = $victim->{out} =~ /^(\d+)$/m;
kill 'KILL', $killed;
$victim->{run}->kill_kill;
ok( poll_through_crash($node, qq{SELECT coalesce(min(taken_at) <= '$newest', false) FROM pgbufprobe_history()
		 WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $killed)}),
	'a session was killed: the history is back');
same_advice($advice, advice($node), 'a session was killed');
await_samples($node, 2);
has_no_sample_twice($node, 'a session was killed');

my $pid = worker_pid($node);
$samples = samples($node);
$newest = (split /\|/, $samples)[1];
ask($node, "SELECT pg_terminate_backend($pid)");
becomes_true($node, "count(*) = 1 $worker AND pid <> $pid", 'the worker alone ended: another one is started');
await_samples($node, 2);
is(samples($node, $newest), $samples, 'the worker alone ended: the history was in shared memory');
has_no_sample_twice($node, 'the worker alone ended');
learn($node);

# ---------------------------------------------------------------------------
# What cannot be written

save_history($node);
my $contents = slurp_file($file);
symlink '/dev/full', "$file.tmp" or die $!;
$from = -s $node->logfile;
ask_for_save($node);
logs($node, $from, qr/LOG:  could not write file "pg_stat\/pgbufprobe\.stat\.tmp": No space left on device/,
	'the disk is full: the log says so');
ok($contents eq slurp_file($file), 'the disk is full: the file remains');
ok(wait_for { !-l "$file.tmp" }, 'the disk is full: the temporary one does not');
ok(save_history($node), 'later, the file is written again');

mkdir "$file.tmp" or die $!;
$from = -s $node->logfile;
ask_for_save($node);
logs($node, $from, qr/LOG:  could not write file "pg_stat\/pgbufprobe\.stat\.tmp": Is a directory/,
	'a directory is in the way: the log says so');
rmdir "$file.tmp" or die $!;
is(worker_pid($node) > 0, 1, 'the worker goes on');

# A server also starts and stops if nothing can be written to pg_stat, and nothing can guard its files there.
my $folder = $node->data_dir . '/pg_stat';
$newest = (split /\|/, samples($node))[1];
save_history($node);
$contents = slurp_file($file);
$from = -s $node->logfile;
chmod 0500, $folder or die $!;
for my $start (1, 2)
{
	$node->restart;
	await_samples($node, 1);
	ok(has_sample($node, $newest), "read-only pg_stat, start $start: what was saved before is there");
}
like(slurp_file($node->logfile, $from), qr/LOG:  could not write file "pg_stat\/pgbufprobe\.stat\.tmp": Permission denied/, 'read-only pg_stat: the log says so');
unlike(slurp_file($node->logfile, $from), qr/PANIC|ERROR|background worker "pgbufprobe/, 'read-only pg_stat: nothing else fails');
ok($contents eq slurp_file($file), 'read-only pg_stat: the file remains');
chmod 0700, $folder or die $!;
ok(save_history($node), 'later, it is written again');

# ---------------------------------------------------------------------------
# Reset

for my $mode ('fast', 'immediate')
{
	save_history($node);
	set($node, sampler => 'off') if $mode eq 'immediate';
	becomes_true($node, "wait_event_type = 'Extension' $worker", "reset, $mode stop: the worker waits");
	my $before = ask($node, 'SELECT clock_timestamp()');
	ask($node, 'SELECT pgbufprobe_history_reset()');
	$node->stop($mode);
	$node->start;
	is(ask($node, "SELECT count(*) FROM pgbufprobe_history() WHERE taken_at < '$before'"), '0', "reset, $mode stop: nothing comes back");
	set($node, sampler => 'on');
	await_samples($node, 2);
	is(scalar keys %{ advice($node) }, 0, "reset, $mode stop: nor what was learned");
}

# ---------------------------------------------------------------------------
# Files that are damaged, or not ours

learn($node);
await_samples($node, 12);
saved_advice($node);
$node->stop;
my $good = slurp_file($file);

my $other = init_server('other', "shared_buffers = $pool\nshared_preload_libraries = pgbufprobe\n", force_initdb => 1);
$other->start;
$other->stop;

# For all that can be wrong with it, see t/332_carry_over_files.pl: another file that is checked in the same way.
my @cases = (
	[ 'with a changed byte', changed($good, length($good) - 1000, chr(ord(substr $good, -1000, 1) ^ 1)), 'it is damaged' ],
	[ 'of another cluster', slurp_file(state_file($other)), 'it is that of another database cluster' ]);
for my $case (@cases)
{
	my ($what, $content, $reason) = @$case;
	my $before = time;

	replace_file($file, $content);
	$from = -s $node->logfile;
	$node->start;
	await_samples($node, 1);
	my @lines = grep { /pgbufprobe\.stat/ } split /\n/, slurp_file($node->logfile, $from);
	is(scalar @lines, 1, "a file $what: there is one message");
	like($lines[0], qr/LOG:  ignoring file "pg_stat\/pgbufprobe\.stat", because \Q$reason\E$/, "a file $what: with the reason");
	is(ask($node, "SELECT count(*) FROM pgbufprobe_history() WHERE taken_at < to_timestamp($before)"), '0',
		"a file $what: the history begins again");
	$node->stop;
	isnt(slurp_file($file), $content, "a file $what: it is replaced at the stop");
}

unlink $file;
$from = -s $node->logfile;
$node->start;
await_samples($node, 1);
unlike(slurp_file($node->logfile, $from), qr/pgbufprobe\.stat/, 'without a file, nothing is logged');
$node->stop;

# ---------------------------------------------------------------------------
# Other settings, and no library

my $goes_on = 'max(taken_at) > pg_postmaster_start_time()';
replace_file($file, $good);
$node->append_conf('postgresql.conf', "shared_buffers = 4096\n");
$node->start;
becomes_true($node, "count(*) > 11 AND $goes_on FROM pgbufprobe_history()", 'another size: the history remains');
is( ask($node, q{SELECT max(used) FILTER (WHERE seconds_per_pass > 0), max(used) FILTER (WHERE taken_at > pg_postmaster_start_time()) < 2048
		FROM pgbufprobe_history(), LATERAL (SELECT sum(n) AS used FROM unnest(usagecounts) AS u(n)) AS pool}),
	'2048|t', 'another size: each sample is of its own');
is( ask($node, q{SELECT count(*) > 10, bool_and(note LIKE 'from before the restart, % old, with shared_buffers of 16 MB%') FROM pgbufprobe_advice()}),
	't|t', 'another size: the advice says at which one it was made');
is( ask($node, q{SELECT string_agg(size_factor || ' ' || shared_buffers_bytes / 8192 || ' ' || (coalesce(mark, '') LIKE 'today%'), ', ' ORDER BY size_factor)
		FROM pgbufprobe_advice() WHERE size_factor IN (0.5, 1, 2)}),
	'0.5 2048 false, 1 4096 true, 2 8192 false', 'another size: each row has its own bytes, and the mark is at the size that runs')
  or diag(ask($node, 'SELECT size_factor, shared_buffers_bytes, mark FROM pgbufprobe_advice()'));
is( ask($node, q{SELECT verdict, detail LIKE 'The answer from before the restart, % with shared_buffers of 16 MB: %'
		FROM pgbufprobe_checkup() WHERE topic = 'size'}), 'unknown|t', 'another size: the checkup does not advise by that');
my $predicted = 'SELECT count(*), min(made_at) FROM pgbufprobe_predictions()';
becomes_true($node, 'count(*) = 1 FROM pgbufprobe_predictions()', 'another size: what the advice said of it is a prediction');
my $predictions = ask($node, $predicted);
ok(wait_for { slurp_file($file) ne $good }, 'another size: the file is replaced at once');
$node->stop('immediate');
for my $what ('stopped immediately after that', 'restarted')
{
	$node->start;
	becomes_true($node, 'count(*) > 0 FROM pgbufprobe_predictions()', "$what: the prediction remains");
	is(ask($node, $predicted), $predictions, "$what: it is made once");
	$node->stop;
}

replace_file($file, $good);
$node->append_conf('postgresql.conf', "shared_buffers = $pool\nshared_preload_libraries = ''\n");
$node->start;
is(ask($node, 'SELECT pgbufprobe_usagecount_histogram() IS NOT NULL LIMIT 1'), 't', 'not preloaded: the extension works');
$node->stop;
ok(slurp_file($file) eq $good, 'not preloaded: the file lies there');
$node->append_conf('postgresql.conf', "shared_preload_libraries = pgbufprobe\npgbufprobe.history_interval = 100ms\n");

# ---------------------------------------------------------------------------
# Unknown later: what was before the restart does not come back

$node->start;
learn($node);
SKIP:
{
	skip 'from 16 on reads are counted whatever track_counts is', 1 if $node->pg_version->major >= 16;
	ask($node, 'ALTER SYSTEM SET track_counts = off');
	set($node, advice_memory => '255kB');
	ok(load_until($node, 2, "bool_and(note LIKE 'reads are not counted%') FROM pgbufprobe_advice() WHERE size_factor <= 4"),
		'it learns again, but cannot: it says why, and not what was before the restart');
	ask($node, 'ALTER SYSTEM RESET track_counts');
}

# ---------------------------------------------------------------------------
# A standby: it begins without, and keeps its own

save_history($node);
my $standby = init_standby($node);
ok(-s state_file($standby), 'a base backup has the file of the primary');
my $start = time;
$standby->start;
await_samples($standby, 3);
is(ask($standby, "SELECT count(*) FROM pgbufprobe_history() WHERE taken_at < to_timestamp($start)"), '0',
	'a standby: it has none of the history of its primary');
like(slurp_file($standby->logfile), qr/LOG:  ignoring file .*, because it was copied/,
	'a standby: the log says so');
$samples = samples($standby);
$newest = (split /\|/, $samples)[1];
ok(save_history($standby), 'a standby saves all');
$standby->restart;
await_samples($standby, 1);
is(samples($standby, $newest), $samples, 'a standby, restarted: the history has what it had');

# Promoted while it learns
learn($standby);
$pid = worker_pid($standby);
$from = -s $standby->logfile;
my $load = start_psql($standby, 'load', '-c', 'CALL load(1000)');
await_samples($standby, 2);
my $before_promotion = ask($standby, 'SELECT now()');
$standby->promote;
await_samples($standby, 2);
cmp_ok(scalar keys %{ advice($standby) }, '>', 0, 'promoted: what it has learned is not forgotten');
ok(!is_from_before($standby), 'promoted: and is not from before');
is(worker_pid($standby), $pid, 'promoted: the worker goes on');
is(ask($standby, "SELECT count(*) FROM pgbufprobe_history() WHERE taken_at > '$before_promotion' AND seconds IS NULL"), '0',
	'promoted: each sample has one before it');
unlike(slurp_file($standby->logfile, $from), qr/PANIC|ERROR|pgbufprobe\.stat/, 'promoted: the worker logs nothing');
is(ask($standby, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'load'}), 't', 'promoted: the session goes on');
$load->{run}->finish;

$newest = (split /\|/, samples($standby))[1];
$from = -s $standby->logfile;
$standby->restart;
await_samples($standby, 1);
ok(has_sample($standby, $newest), 'promoted and restarted: the history goes on');
unlike(slurp_file($standby->logfile, $from), qr/ignoring/, 'promoted and restarted: the file is its own');
$standby->stop;
$node->stop;
has_no_crash($_) for $other, $standby;

done_testing();
