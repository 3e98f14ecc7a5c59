# The server of ci/faults: three databases, whose blocks all fit into shared buffers; the calls about files that it makes; and
# what is left in its maps and its buffers.

package FaultyServer;

use strict;
use warnings;

use CacheMap;
use CarryOver;
use Exporter 'import';
use Faults;
use List::Util qw(max sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(
  $node $carry $stop_s $patience_s %errors
  begin_server query change wait_until phase_is timed wait_for_end start stop too_slow be_started longest_stop
  use_kept save_now begin_again missing_in_maps missing_in_buffers
  calls_of fail_once failures has_failed none_of heading
);

our $node;
our $carry = 'pgbufprobe carry-over';

# Seconds that something may take at most: a stop, and all that has no limit of its own.
our $stop_s = 12;
our $patience_s = 90;

# Nothing that is waited for takes longer, so what does ends the test.
my $hang_s = 300;

our %errors = (open => [ 'EIO', 'EMFILE', 'EACCES' ], read => ['EIO'], pread => ['EIO'], write => ['ENOSPC'], fsync => ['EIO'],
	rename => ['EIO'], readdir => ['EIO']);

my $waits_for = 'nothing';
my $session;
my $longest_stop = 0;

my $kept_blocks = 500;
my %kept;

# ---------------------------------------------------------------------------
# Started, asked, stopped

sub connect_session
{
	$session = $node->background_psql('postgres', on_error_stop => 0);
	# Its limit is one of each query, not of the session.
	$session->set_query_timer_restart();
	return;
}

# What begins now.
sub waits_for
{
	($waits_for) = @_;
	alarm $hang_s;
	return;
}

sub query
{
	my ($query) = @_;
	waits_for($query);
	return $session->query_safe($query);
}

# Changes a setting of the extension.
sub change
{
	my ($setting, $value) = @_;
	return query("ALTER SYSTEM SET pgbufprobe.$setting = '$value'; SELECT pg_reload_conf()");
}

# Repeats a condition until it is true, for so many seconds; false after that.
sub wait_until
{
	my ($seconds, $what, $condition) = @_;
	my $until = time + $seconds;

	waits_for($what);
	while (time < $until)
	{
		return 1 if $condition->();
		usleep(10_000);
	}
	return 0;
}

sub phase_is
{
	my ($pattern) = @_;
	return wait_until($patience_s, "the phase $pattern", sub { query('SELECT carry_over FROM pgbufprobe_status()') =~ /^(?:$pattern)$/ });
}

# Waits until a run of IPC::Run has ended, however it ends.
sub wait_for_end
{
	my ($what, $run) = @_;
	waits_for($what);
	eval { $run->finish };
	return;
}

# Asks in a new session; tests that this takes less than so many seconds.
sub timed
{
	my ($limit, $database, $query, $what) = @_;
	my $begun = time;

	waits_for($query);
	ask($node, $query, $database);
	my $seconds = time - $begun;
	diag(sprintf '%s: %.1f s', $what, $seconds);
	return cmp_ok($seconds, '<', $limit, $what);
}

sub start
{
	waits_for('a start');
	start_with_faults($node);
	connect_session();
	return;
}

# Stops the server fast; returns in how many seconds.
sub stop
{
	my $begun = time;

	return 0 unless $node->{_pid};
	waits_for('a stop');
	$node->stop('fast', fail_ok => 1) or $node->stop('immediate');
	my $seconds = time - $begun;
	eval { $session->quit };
	$longest_stop = max($longest_stop, $seconds);
	return $seconds;
}

# What took how long, if that is too long for a stop.
sub too_slow
{
	my ($what, $seconds) = @_;
	return $seconds > $stop_s ? sprintf '%s: %.1f s', $what, $seconds : ();
}

sub longest_stop { return $longest_stop }

# Started, and its restore has ended.
sub be_started
{
	start() unless $node->{_pid};
	phase_is('done|waiting') or die 'a restore does not end';
	return;
}

# Starts it, with a table of each database that nobody changes.
sub begin_server
{
	$SIG{ALRM} = sub { diag("too long: waits for $waits_for"); exit 1 };
	waits_for('the first start');
	$node = init_server('main', qq(
shared_preload_libraries = pgbufprobe
shared_buffers = 64MB
max_connections = 30
fsync = on
pgbufprobe.carry_over = on
pgbufprobe.carry_over_interval = 0
pgbufprobe.history_interval = 100ms
pgbufprobe.max_cpu_fraction = 1
log_statement = none
$no_background_writes));
	start_with_faults($node);
	ask($node, 'CREATE EXTENSION pgbufprobe');
	create_if_available($node, 'pg_buffercache') or plan skip_all => 'no pg_buffercache, with which the results are compared';
	ask($node, "CREATE DATABASE $_") for 'other', 'dropped';
	$node->command_ok([ 'pgbench', '-i', '-q', '-s', 1, 'postgres' ], 'pgbench has its tables');
	%kept = map { $_ => make_table($node, $_, 'kept', $kept_blocks) } 'postgres', 'other';
	connect_session();
	return;
}

sub use_kept { use_blocks($node, $_, 'kept', 0, $kept_blocks - 1, 3) for keys %kept; return }

# ---------------------------------------------------------------------------
# What is left of the blocks

# How many blocks of shared buffers the maps have, by the condition for those of the file in pg_buffercache.
sub saved_blocks
{
	my %blocks;

	for (-e maps_file($node) ? saved_maps($node) : ())
	{
		my ($database, $tablespace, $file, $fork, $segment, $map) = @$_;
		$blocks{"reldatabase = $database AND relfilenode = $file AND relforknumber = $fork"} +=
		  grep { defined $_->[0] } @{ read_map(unpack 'H*', $map)->{blocks} };
	}
	return \%blocks;
}

# What is less than it was of the tables that nobody changes; '' if nothing is.
sub missing_in_maps
{
	my $saved = saved_blocks();
	return join ', ', map { "$_ has " . ($saved->{ $kept{$_} } // 0) } grep { ($saved->{ $kept{$_} } // 0) < $kept_blocks } sort keys %kept;
}

sub missing_in_buffers
{
	return join ', ', map { "$_->[0] has $_->[1]" } grep { $_->[1] < $kept_blocks }
	  map { [ $_, query("SELECT count(*) FROM pg_buffercache WHERE $kept{$_}") ] } sort keys %kept;
}

# Makes the server save, and waits until it has tried.
sub save_now
{
	change(carry_over => 'off');
	phase_is('off') or die "carry-over is not turned off";
	change(carry_over => 'on');
	phase_is('done|waiting') or die "a save does not end";
	return;
}

# After something that was lost, which counts once.
sub begin_again
{
	stop();
	unlink maps_file($node);
	start();
	use_kept();
	stop();
	start();
	phase_is('done') or die 'a restore without faults does not end';
	return;
}

# ---------------------------------------------------------------------------
# Calls that fail

# The numbers of the calls that are to fail, of $n.
sub steps_of
{
	my ($n, $every) = @_;
	$every = 1 if $n <= 20;
	return grep { $_ % $every == 1 || $every == 1 || $_ == $n } 1 .. $n;
}

# The calls of what is done that are to fail, each [its kind, paths, number, how many there are]; one of $every.
sub calls_of
{
	my ($title, $every, $prepare, $do, @paths) = @_;
	my @chosen;

	for my $path (@paths)
	{
		$prepare->();
		set_faults($title, $path);
		$do->();
		my $counts = fault_counts();
		clear_faults();
		# Most forks are of others: see the section about them.
		for my $call (grep { $_ ne 'fork' } @calls)
		{
			my $n = $counts->{$call}{count};
			push @chosen, map { [ $call, $path, $_, $n ] } steps_of($n, $every);
		}
	}
	return @chosen;
}

# Makes one of them fail, once; returns which.
sub fail_once
{
	my ($title, $chosen) = @_;
	my ($call, $path, $number, $n) = @$chosen;
	my $error = $errors{$call}[ $number % @{ $errors{$call} } ];

	set_faults($title, $path, $call => { fail_at => $number, error => $error });
	return "$error at $call $number of $n in $path";
}

# Counted since faults were set.
sub failures { return sum0(map { $_->{failed} } values %{ fault_counts() }) }
sub has_failed { return failures() > 0 }

# At most ten of them, so that they stay in sight.
sub none_of
{
	my ($what, @bad) = @_;
	return is(join("\n", @bad > 10 ? (@bad[ 0 .. 9 ], "and @{[ @bad - 10 ]} more") : @bad), '', $what);
}

sub heading { diag(sprintf '%3d s: %s', time - $^T, $_[0]); return }

1;
