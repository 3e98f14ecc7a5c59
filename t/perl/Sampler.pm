# Servers with the background worker, load that turns the hand, and questions that are repeated until the answer is as
# expected.

package Sampler;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(stat);

our @EXPORT = qw(
  $pool $worker $samples $beginnings $ticks $passed
  sampler_node put_memory knows_little_memory stop_sampler worker_pid await_samples ask_for_save save_history samples_are_right knows_nothing
  make_pages load_after_reset patience load_until load_from_storage_once load_from_storage_until sampler_log
);

our $pool = 2048;
our $worker = q{FROM pg_stat_activity WHERE backend_type = 'pgbufprobe sampler'};
our $samples = q{(SELECT count(*) FROM pgbufprobe_history())};
# A sample that knows none before it: the first one, or the first after the worker was not at work.
our $beginnings = q{(SELECT count(*) FROM pgbufprobe_history() WHERE seconds IS NULL)};
# How far the hand has gone: in buffers since the server started, and in passes, by some samples.
our $ticks = q{(SELECT passes * buffers + hand FROM pgbufprobe_clock())};
our $passed = 'sum(seconds / seconds_per_pass)';

my $conf = qq(
shared_buffers = $pool
shared_preload_libraries = pgbufprobe
pgbufprobe.history_interval = 100ms
# so that what is counted does not depend on what else the machine does
pgbufprobe.max_cpu_fraction = 1
pgbufprobe.advice_memory = 256kB
);

# A started server with the sampler, perhaps by start_with() these variables.
sub sampler_node
{
	my ($name, $more, %variables) = @_;
	my $node = init_server($name, $conf . ($more // ''), allows_streaming => 1);

	%variables ? start_with($node, %variables) : $node->start;
	ask($node, 'CREATE EXTENSION pgbufprobe');
	return $node;
}

# Puts into this file, for LITTLE_MEMORY, a machine with so many free kB, and so many in all, perhaps with free swap space.
sub put_memory
{
	my ($path, $free, $total, $swap) = @_;
	return put_file($path, "MemTotal: $total kB\nMemFree: $free kB\nActive(file): 20000 kB\nInactive(file): 20000 kB\nSwapFree: "
		  . ($swap // 0) . " kB\n");
}

# Whether the sampler knows the page cache of such a machine: not on some file systems, or where a library cannot be preloaded.
sub knows_little_memory
{
	my ($node) = @_;
	my $bytes = '';

	return 0 if ask($node, q{SELECT count(cached_bytes) FROM pgbufprobe_os_cache('pages')}) == 0;
	wait_for { ($bytes = ask($node, 'SELECT os_cache_bytes FROM pgbufprobe_advice() WHERE size_factor = 1')) ne '' };
	return $bytes ne '' && $bytes < 300e6;
}

sub stop_sampler
{
	my ($node) = @_;

	# It saves before it waits. One that only has to wait for a processor takes no samples either.
	save_history($node, sampler => 'off');
	# After five intervals without a sample, the setting is in force.
	becomes_true($node, "coalesce(max(taken_at) < now() - interval '500 ms', true) FROM pgbufprobe_history()",
		'sampler off: no sample is taken any more');
}

# After a start of the server, it may come a moment later than the first session.
sub worker_pid
{
	my ($node) = @_;
	my $pid;

	wait_for { ($pid = ask($node, "SELECT pid $worker")) ne '' };
	return $pid;
}

# Waits for some samples more than there are.
sub await_samples
{
	my ($node, $more) = @_;
	my $last = ask($node, 'SELECT coalesce(max(taken_at), now()) FROM pgbufprobe_history()');

	$node->poll_query_until('postgres',
		"SELECT count(*) >= $more FROM pgbufprobe_history() WHERE taken_at > '$last'")
	  or die 'no samples are taken';
}

# The worker saves all when a setting of its own has changed: this one means next to nothing.
my $changes = 0;
sub ask_for_save
{
	my ($node) = @_;
	return set($node, max_cpu_fraction => 1 - ++$changes / 1e6);
}

# Makes the worker save all, perhaps by these settings, and waits for that. They are in force then. Saved twice, the file
# may have its first number again.
sub save_history
{
	my ($node, %settings) = @_;
	my $its_file = state_file($node);
	my $which = sub { return join ' ', map { $_ // '' } (stat $its_file)[ 1, 9 ] };
	my $before = $which->();

	%settings ? set($node, %settings) : ask_for_save($node);
	return wait_for { -e $its_file && $which->() ne $before };
}

# Samples that contradict themselves or the one before.
sub samples_are_right
{
	my ($node, $what, $buffers) = @_;
	$buffers //= $pool;

	is( ask($node, qq{
		SELECT string_agg(sample::text, E'\\n') FROM (
			SELECT *, taken_at - lag(taken_at) OVER (ORDER BY n) AS later, (SELECT sum(u) FROM unnest(usagecounts) u) AS used
			  FROM (SELECT row_number() OVER () AS n, * FROM pgbufprobe_history()) AS h) AS sample
		 WHERE used > $buffers OR dirty NOT BETWEEN 0 AND used OR looks < 1 OR later <= '0'
		    OR (seconds IS NULL AND num_nonnulls(inspected_per_allocation, seconds_per_pass, cpu_fraction) > 0)
		    OR (seconds IS NOT NULL AND NOT (seconds > 0 AND cpu_fraction > 0 AND coalesce(seconds_per_pass > 0, true)
		        AND coalesce((inspected_per_allocation > 0) = (seconds_per_pass IS NOT NULL), true)))}),
		'', "$what: every sample agrees with itself and the one before");
}

# That no size has advice, for a reason with these words, and that it is unknown how long pages stay.
sub knows_nothing
{
	my ($node, $why, $what) = @_;
	return is(ask($node, "SELECT count(*), count(miss_ratio), bool_and(note LIKE '%$why%'), (SELECT count(*) > 0 FROM pgbufprobe_relations()),
			(SELECT count(stay_seconds) FROM pgbufprobe_relations()) FROM pgbufprobe_advice()"), '11|0|t|t|0', "$what: no advice, and why");
}

# A table of more pages than the pool has buffers, a row a page, and reads of random ones.
sub make_pages
{
	my ($node) = @_;
	ask(
		$node, keyed_pages('pages', 3 * $pool) . qq{
		CREATE PROCEDURE load(turns int) LANGUAGE plpgsql AS \$\$
		DECLARE
			start bigint := $ticks;
			some_id int;
		BEGIN
			SET enable_seqscan = off;
			SET enable_bitmapscan = off;
			WHILE $ticks < start + turns * $pool LOOP
				FOR i IN 1..$pool / 16 LOOP
					some_id := 1 + floor(random() * 3 * $pool);
					PERFORM length(page) FROM pages WHERE id = some_id;
				END LOOP;
				COMMIT;
				PERFORM pg_sleep(0.005);
			END LOOP;
		END \$\$});
}

# Ten turns of the hand, and a history of nothing else. Returns what the server had counted at the first sample.
sub load_after_reset
{
	my ($node) = @_;
	my %first;

	await_samples($node, 2);
	ask($node, 'SELECT pgbufprobe_history_reset()');
	await_samples($node, 1);
	@first{qw(ticks allocations)} = split /\|/, ask($node, "SELECT $ticks, allocations FROM pgbufprobe_clock()");
	ask($node, 'CALL load(10)');
	return \%first;
}

# A function that says whether to try again: some answers need so many loads, others so much time.
sub patience
{
	my $tries = 60;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	return sub { $tries-- > 0 || time < $until };
}

# Loads until a condition in SQL, or a function, is true. Whoever asks again may hear that it is so no longer.
sub load_until
{
	my ($node, $load, $condition) = @_;
	my $goes_on = patience();

	while ($goes_on->())
	{
		ask($node, "CALL load($load)");
		return 1 if ref $condition ? $condition->() : ask($node, "SELECT $condition") eq 't';
	}
	return 0;
}

# Loads, with pages that come from storage now and then, once or until something is so.
sub load_from_storage_once
{
	my ($node) = @_;
	ask($node, q{SELECT pgbufprobe_os_advise('pages', 'dontneed')});
	return ask($node, 'CALL load(4)');
}

sub load_from_storage_until
{
	my ($node, $query) = @_;
	my $goes_on = patience();

	while ($goes_on->())
	{
		return 1 if ask($node, "SELECT $query") eq 't';
		load_from_storage_once($node);
	}
	return 0;
}

# What the server has logged of the worker since an earlier position in its log, which is that of a start.
sub sampler_log
{
	my ($node, $from) = @_;
	my $log = substr(slurp_file($node->logfile), $from);
	return join "\n", grep { /pgbufprobe sampler|PANIC/ } split /\n/, $log;
}

1;
