# With pgbufprobe.os_cache off, no function and no worker asks the kernel about its page cache: on these servers,
# such a system call ends the process. What is unknown then is NULL, with the reason. When the setting is on again,
# everything is known again.

use strict;
use warnings;

use Interface;
use PageCache;
use PostgreSQL::Test::Utils;
use Programs;
use Server;
use Test::More;

my $pages = 1200;

my $node = init_server('main', "shared_buffers = 4MB\nlog_statement = none\n$no_background_writes");
# Its processes would read in place of a session.
$node->append_conf('postgresql.conf', 'io_method = sync') if $node->pg_version->major >= 18;
$node->start;
ask($node, 'CREATE EXTENSION pgbufprobe;' . one_row_a_page('pages', $pages) . one_row_a_page('small', 10)
	  . 'VACUUM FREEZE pages, small; CHECKPOINT; CREATE ROLE monitor IN ROLE pg_monitor');
my ($file) = segment_files($node, my $session = $node->background_psql('postgres'), 'pages', 'main');
$session->quit;
my $bytes = -s $file;
keep_values($node);
my %query = simple_calls($node);
my %is_reader = is_documented_reader();
$node->stop;

sub asked { return answer_and_messages($node, $_[0], on_error_stop => 0) }

# What must be answered while the page cache is not asked: the query, the answer, and whether something is said beside it.
# All else that a monitor may call answers as ever.
my $answers_nothing = 'pgbufprobe.os_cache" is off';
my %readers = (
	pgbufprobe_os_cache => [
		[ q{SELECT bytes, num_nulls(cached_bytes, method) FROM pgbufprobe_os_cache('pages')}, "$bytes|2", 1 ],
		[ q{SELECT bytes, cached_bytes, method FROM pgbufprobe_os_cache('pages', method => 'mincore')}, "$bytes||", 1 ],
		[ q{SELECT bytes, cached_bytes, method FROM pgbufprobe_os_cache('pages', method => 'cachestat')}, "$bytes||", 1 ] ],
	pgbufprobe_residency => [
		[ q{SELECT blocks, shared_blocks BETWEEN 0 AND blocks, num_nulls(os_blocks, both_blocks, both_blocks_low, both_blocks_high)
			FROM pgbufprobe_residency('pages') WHERE fork = 'main'}, "$pages|t|4", 1 ],
		[ q{SELECT blocks, shared_blocks BETWEEN 0 AND blocks, num_nulls(os_blocks, both_blocks, both_blocks_low, both_blocks_high)
			FROM pgbufprobe_residency('pages', 1, 0.1) WHERE fork = 'main'}, "$pages|t|4", 1 ],
		[ q{SELECT count(*) > 100, count(blocks) = count(*), count(shared_blocks) = count(*), count(os_blocks), count(both_blocks)
			FROM pgbufprobe_residency()}, 't|t|t|0|0', 1 ],
		[ q{SELECT count(*), count(shared_blocks), count(os_blocks), count(both_blocks) FROM pgbufprobe_residency('pages', 10) WHERE fork = 'main'},
			'10|10|0|0', 1 ] ],
	pgbufprobe_cache_map => [
		[ q{SELECT length(map) > 52 FROM pgbufprobe_cache_map('pages', 'main')}, 't', 1 ],
		[ q{SELECT count(*) > 10 FROM pgbufprobe_cache_map()}, 't', 1 ] ],
	pgbufprobe_double_buffering => [
		[ q{SELECT shared_bytes > 0, num_nulls(os_bytes, both_bytes, duplicate_fraction) FROM pgbufprobe_double_buffering}, 't|3', 1 ] ],
	pgbufprobe_checkup => [
		[ q{SELECT count(*), count(answer) FROM pgbufprobe_checkup()}, '9|9', 0 ],
		[ q{SELECT verdict, detail FROM pgbufprobe_checkup() WHERE topic = 'cached twice'},
			qq{unknown|The setting "$answers_nothing.}, 0 ] ],
	pgbufprobe_memory_consumers => [ [ q{SELECT count(*), count(today_bytes), count(most_bytes) >= 8, min(note) FILTER (WHERE consumer = 'total') FROM pgbufprobe_memory_consumers()},
		'13|1|t|pgbufprobe.os_cache is off', 0 ] ],
	pgbufprobe_memory => [ [ q{SELECT count(*), count(storage_ratio), count(note) FROM pgbufprobe_memory('today')}, '1|0|1', 0 ] ],
	pgbufprobe_advice => [ [ q{SELECT count(storage_ratio), count(fits), count(os_cache_bytes) FROM pgbufprobe_advice()}, '0|0|0', 0 ] ],
	pgbufprobe_status => [ [ 'SELECT carry_over FROM pgbufprobe_status()', 'off', 0 ] ],
	pgbufprobe_hours => [ [ 'SELECT count(*) = count(hour) AND count(best_bytes) = 0 FROM pgbufprobe_hours()', 't', 0 ] ],
	pgbufprobe_predictions => [ [ 'SELECT count(*) FROM pgbufprobe_predictions()', '0', 0 ] ]);
$readers{$_} //= [ [ $query{$_}, 't', 0 ] ] for grep { $is_reader{$_} } keys %query;
# Without the worker these are errors.
my %needs_worker = map { $_ => 1 } 'pgbufprobe_advice', 'pgbufprobe_history', 'pgbufprobe_hours', 'pgbufprobe_predictions';

sub is_off
{
	my ($what, $preloaded) = @_;

	for my $name (sort keys %readers)
	{
		next if $needs_worker{$name} && !$preloaded;
		for my $case (@{ $readers{$name} })
		{
			my ($query, $answer, $has_reason) = @$case;
			my ($out, $said) = asked($query);

			is($out, $answer, "$what: $name: " . ($has_reason ? 'NULL for the page cache' : 'an answer'));
			if ($has_reason)
			{
				like($said, qr/\ANOTICE:  00000: page cache state of .* is unavailable\nDETAIL:  The setting "\Q$answers_nothing\E\.\z/,
					"$what: $name: and the reason, once");
			}
			else
			{
				is($said, '', "$what: $name: nothing is said");
			}
		}
	}
	for my $advice ('willneed', 'dontneed')
	{
		my ($out, $said) = asked("SELECT pgbufprobe_os_advise('pages', '$advice')");
		like($said, qr/\AERROR:  55000: .*pgbufprobe\.os_cache" is off\z/, "$what: advice $advice is an error");
	}
	my (undef, $restored) = asked(q{SELECT pgbufprobe_cache_restore('pages', (SELECT map FROM pgbufprobe_cache_map('pages', 'main')), target => 'os_cache')});
	like($restored, qr/ERROR:  55000: .*pgbufprobe\.os_cache" is off\z/, "$what: a restore of the page cache is an error");
	my ($out, $said) = asked(q{SELECT tier, reads FROM pgbufprobe_read_cost('pages', 1200) WHERE tier IS DISTINCT FROM 'shared_buffers'});
	like($out, qr/\A\|\d+\z/, "$what: reads from below shared buffers are of no tier");
	like($said, qr/\Q$answers_nothing\E/, "$what: and the reason is said");

	# Nobody but the administrator of the server switches it on.
	($out, $said) = asked("SET pgbufprobe.os_cache = on;\nSELECT count(os_blocks) FROM pgbufprobe_residency('pages')");
	is($out, '0', "$what: a session cannot switch it on");
	($out, $said) = asked("LOAD 'pgbufprobe';\nSET pgbufprobe.os_cache = on");
	like($said, qr/ERROR:  55P02: parameter "pgbufprobe\.os_cache" cannot be changed now/, "$what: nor when the library is loaded");
	return;
}

sub is_on
{
	my ($what) = @_;
	my ($out, $said) = asked(q{
SELECT blocks, os_blocks IS NOT NULL, both_blocks IS NOT NULL FROM pgbufprobe_residency('pages') WHERE fork = 'main';
SELECT cached_bytes IS NOT NULL FROM pgbufprobe_os_cache('pages');
SELECT count(os_blocks) FROM pgbufprobe_residency('pages', 10) WHERE fork = 'main';
SELECT num_nulls(os_bytes, both_bytes) FROM pgbufprobe_double_buffering;
SELECT verdict <> 'unknown', detail LIKE '% in the page cache%' FROM pgbufprobe_checkup() WHERE topic = 'cached twice';
SELECT pgbufprobe_os_advise('small', 'willneed') > 0});

	is($out, "$pages|t|t\nt\n10\n0\nt|t\nt", "$what: everything is known");
	is($said, '', "$what: without reserve");
	return;
}

# By the server's settings, where each session finds it, also one that has not loaded the library yet.
sub set_os_cache
{
	my ($value) = @_;

	# Before 17 a setting must be known to the session that changes it.
	ask($node, "LOAD 'pgbufprobe';\nALTER SYSTEM SET pgbufprobe.os_cache = $value");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT coalesce(current_setting('pgbufprobe.os_cache', true), '') = '$value'")
	  or die 'the setting is not in force';
	return;
}

# ---------------------------------------------------------------------------
# Off and on while the server runs

for my $preloaded (0, 1)
{
	my $what = $preloaded ? 'preloaded' : 'not preloaded';

	$node->append_conf('postgresql.conf', 'shared_preload_libraries = pgbufprobe') if $preloaded;
	$node->start;
	is_on("$what, at first");

	# It also takes effect in a session that has used the library.
	my $old = $node->background_psql('postgres');
	my $known = q{SELECT os_blocks IS NOT NULL FROM pgbufprobe_residency('pages') WHERE fork = 'main'};
	is($old->query_safe($known), 't', "$what: known in an older session");
	set_os_cache('off');
	is($old->query("SET client_min_messages = warning; SELECT 1; $known") =~ s/.*\n//sr, 'f', "$what: unknown there after the change");
	is_off("$what, off", $preloaded);
	set_os_cache('on');
	is($old->query($known), 't', "$what: known there again");
	$old->quit;
	is_on("$what, on again");
	ask($node, "LOAD 'pgbufprobe';\nALTER SYSTEM RESET pgbufprobe.os_cache");
	$node->stop;
}

# ---------------------------------------------------------------------------
# Where to ask ends the process

my $launcher = build_program('forbid');

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\npgbufprobe.os_cache = off");

# Reads pages all over the table, so that pages come and go.
my $script = write_script($node, 'read', "\\set n random(0, $pages - 1)\nSELECT FROM pages WHERE ctid = '(:n,1)';\n");

SKIP:
{
	my $oracle = build_program('mincore_oracle');
	system("'$launcher' page_cache true 2>/dev/null") == 0 or skip 'system calls cannot be filtered', 1;
	# By the signal SIGSYS, which the shell turns into a status.
	is(system("'$launcher' page_cache '$oracle' '$file' >/dev/null 2>&1; exit \$?") >> 8, 128 + 31, 'the filter ends a process that asks by mincore');

	for my $preloaded (0, 1)
	{
		my $what = $preloaded ? 'filtered, preloaded' : 'filtered';
		my $log_before = -s $node->logfile;

		$node->append_conf(
			'postgresql.conf', q(
shared_preload_libraries = pgbufprobe
pgbufprobe.history_interval = 100ms
pgbufprobe.max_cpu_fraction = 1
pgbufprobe.advice_memory = 256kB
)) if $preloaded;
		start_through($node, $launcher, 'page_cache');
		my $find_worker = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pgbufprobe sampler'};
		if ($preloaded)
		{
			$node->poll_query_until('postgres', "SELECT EXISTS ($find_worker)") or die 'there is no worker';
		}
		my $worker = ask($node, $find_worker);
		is_off($what, $preloaded);
		if ($preloaded)
		{
			my ($before) = bytes_read($worker);

			finish_pgbench(start_pgbench($node, 'load', 8, '-R', '200', '-c', '2', '-f', $script));
			is(ask($node, $find_worker), $worker, "$what: the worker survives it");
			# It publishes once a second.
			ok($node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pgbufprobe_advice() WHERE miss_ratio IS NOT NULL'),
				"$what: and gives advice");
			is(ask($node, q{SELECT count(storage_ratio), count(*) FILTER (WHERE miss_ratio IS NOT NULL
					AND note NOT LIKE '%storage reads are unknown, because pgbufprobe.os_cache is off') FROM pgbufprobe_advice()}),
				'0|0', "$what: without the page cache, and why");
		  SKIP:
			{
				skip 'the kernel does not count reads', 1 unless $before;
				is((bytes_read($worker))[0] - $before, 0, "$what: and has read no file");
			}
		}

		# Once all catalogs are in shared buffers, nor does a session read.
		my $session = $node->background_psql('postgres', on_error_stop => 0);
		my $pid = $session->query_safe('SELECT pg_backend_pid()');
		my @queries = map { $_->[0] } map { @{ $readers{$_} } } grep { $preloaded || !$needs_worker{$_} } sort keys %readers;
		$session->query_safe('SET client_min_messages = warning');
	  SKIP:
		{
			skip 'the kernel does not count reads', 1 unless bytes_read($pid);
			$session->query($_) for (@queries) x 2;
			my $reads = sub { my ($before) = bytes_read($pid); $session->query($_[0]); return (bytes_read($pid))[0] > $before };
			# The signal that wakes a session counts as well, but does not come each time.
			is_deeply([ grep { my $query = $_; !grep { !$reads->($query) } 1 .. 3 } @queries ], [], "$what: no function reads a file");
		}
		$session->quit;

		$node->stop;
		is_deeply([ substr(slurp_file($node->logfile), $log_before) =~ /(.*(?:PANIC|TRAP:|terminated by signal|reinitializing).*)/g ],
			[], "$what: and has not crashed");
	}
}

# All that a monitor may call was called.
$node->start;
is_deeply([ grep { !$readers{$_} && ask($node, "SELECT has_function_privilege('monitor', '$_'::regproc, 'EXECUTE')") eq 't' } members($node) ],
	[], 'all functions that monitors may call are among these');
$node->stop;

done_testing();
