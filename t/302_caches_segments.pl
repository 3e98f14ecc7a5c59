# A table of two segments: both caches are compared with the oracles across the boundary, also after the table has
# been cut there. Advice covers both segments. No file stays open, however a call ends.

use strict;
use warnings;

use CacheOracle;
use PageCache;
use POSIX ();
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# Just-in-time compilation would map libraries when a query comes so far, which may be late.
my $node = start_cache_server('main', "shared_buffers = 64MB\nmax_wal_size = 4GB\njit = off");

my $session = $node->background_psql('postgres', on_error_stop => 0);
# It is asked a lot: not all of that together has to be done within the timeout.
$session->set_query_timer_restart;
my ($segment_blocks, $block_bytes) = split /\|/, $session->query_safe(
	q{SELECT pg_size_bytes(current_setting('segment_size')) / size, size
		FROM (SELECT current_setting('block_size')::integer AS size) s});
if ($segment_blocks * $block_bytes > 1 << 30)
{
	$session->quit;
	$node->stop;
	plan skip_all => 'segments of more than 1 GB';
}

# A tail of fewer pages would not be cut by VACUUM.
my $nblocks = $segment_blocks + 1200;
ask($node, one_row_a_page('big', $nblocks, 'UNLOGGED') . 'VACUUM (FREEZE) big;');
is($session->query_safe(q{SELECT pg_relation_size('big')}) / $block_bytes,
	$nblocks, 'there is a row on each page');

my @files = segment_files($node, $session, 'big', 'main');
is(scalar @files, 2, 'there are two segments');
my @npages = map { length } cached_pages(@files);
my $reason = why_not_evictable($node->data_dir);

# ---------------------------------------------------------------------------
# Across the boundary

SKIP:
{
	skip $reason, 1 if $reason;

	drop_files(@files);
	with_blocks($session, 'UPDATE big SET id = -id', $nblocks, "block IN (5, $segment_blocks - 1, $segment_blocks, $nblocks - 1)");
	compare_caches(
		$node, $session, 'big', 'main',
		'both sides of the boundary',
		reach => sub {
			set_pages($files[0], 'drop', 0, $npages[0], 'read', $npages[0] - 99, 99, 'read', 7, 300);
			set_pages($files[1], 'drop', 0, $npages[1], 'read', 0, 33);
		});
	compare_with_fincore('both sides of the boundary', @files);

	for my $whole (0, 1)
	{
		compare_caches(
			$node, $session, 'big', 'main',
			($whole == 0 ? 'the first' : 'the last') . ' segment whole, the other not',
			parts => 2 + $whole,
			reach => sub {
				read_file($files[$whole]);
				drop_files($files[ 1 - $whole ]);
			});
	}

	# ---------------------------------------------------------------------------
	# Advice

	is( advised_away(
			sub { set_pages($files[$_], 'dirty', $npages[$_] / 2, 300) for 0, 1 },
			sub {
				is($session->query_safe(q{SELECT pgbufprobe_os_advise('big', 'dontneed')}),
					$nblocks * $block_bytes, 'advice is given for both segments');
			}, @files), 0, 'no page of either remains, though some were dirty');
	is( bring_back(
			sub {
				is($session->query_safe(q{SELECT pgbufprobe_os_advise('big', 'willneed')}),
					$nblocks * $block_bytes, 'advice is given for both segments');
			}, @files), 0, 'all pages of both come back');
	compare_caches($node, $session, 'big', 'main', 'after "willneed"');
}

# ---------------------------------------------------------------------------
# What stays open

my $backend = $session->query_safe('SELECT pg_backend_pid()');
my ($filenode) = $files[0] =~ m{(\d+)$};

my $usable = "SELECT blocks FROM pgbufprobe_residency('big') WHERE fork = 'main'";

sub mappings
{
	my @mappings = split /\n/, slurp_file("/proc/$backend/maps");

	# ASan's allocator maps for itself as it likes; with it, those of files have to do.
	return (grep { m{/libasan} } @mappings) ? grep { m{ /} } @mappings : @mappings;
}

# Each call is made again and again; so that the calls that come through a
# function's body are covered as well, with a relation that differs each time.
my %calls = (
	'os_cache' => 'pgbufprobe_os_cache(r)',
	'os_cache, mincore' => q{pgbufprobe_os_cache(r, method => 'mincore')},
	'residency' => 'pgbufprobe_residency(r)',
	'residency of a sample' => 'pgbufprobe_residency(r, 1, 0.5)',
	'residency of all' => 'pgbufprobe_residency(CASE WHEN r = 0 THEN r END)',
	'residency in buckets' => 'pgbufprobe_residency(r, 10)',
	'read_cost' => 'pgbufprobe_read_cost(r, 20)',
	'os_advise' => q{pgbufprobe_os_advise(r, 'willneed')});

sub loop
{
	my ($call, $rounds) = @_;

	return "SELECT count(*) > 0 FROM (SELECT CASE WHEN i > 0 THEN 'big'::regclass::oid END AS r
		FROM generate_series(1, $rounds) i) r, $calls{$call}";
}

# Does something repeatedly; afterwards the same files are open, and not more is
# mapped, least of all the relation.
sub leaves_nothing
{
	my ($what, $do) = @_;

	$do->() for 1 .. 2;
	my @files_before = open_files($backend);
	my $mapped_before = mappings();
	$do->() for 1 .. 5;
	is_deeply([ open_files($backend) ], \@files_before, "$what: the same files are open as before");
	is(scalar(grep { m{/$filenode} } mappings()), 0, "$what: the relation is not mapped");
	cmp_ok(scalar(mappings()), '<=', $mapped_before, "$what: there are no more mappings");
	return;
}

sub failing
{
	my ($query, $error) = @_;
	my ($out, $failed) = $session->query("\\set VERBOSITY verbose\n$query");

	like($session->{stderr}, $error, "fails as it should: $error");
	$session->{stderr} = '';
	return;
}

for my $call (sort keys %calls)
{
	my $rounds = $call eq 'os_advise' ? 1 : 4;

	leaves_nothing($call,
		sub { is($session->query_safe(loop($call, $rounds)), 't', "$call answers") });
}

# Errors before and while the files are open: the second segment may not be read.
chmod 0000, $files[1] or die $!;
if (open my $handle, '<', $files[1])
{
	close $handle;
	note('this user may read any file');
}
else
{
	for my $call (sort grep { !/read_cost|all/ } keys %calls)
	{
		# For one that may be asked of many relations it is no error.
		my $level = $call =~ /^residency/ ? 'WARNING' : 'ERROR';
		leaves_nothing("$call, unreadable",
			sub { failing(loop($call, 1), qr/$level:  42501: could not open file "[^"]*\.1": Permission denied/) });
	}
	leaves_nothing(
		'an error that is caught',
		sub {
			$session->query_safe(
				q{DO $$ BEGIN FOR i IN 1 .. 10 LOOP BEGIN
					PERFORM pgbufprobe_os_cache('big');
				  EXCEPTION WHEN insufficient_privilege THEN NULL; END; END LOOP; END $$});
		});
}
chmod 0600, $files[1] or die $!;
is($session->query_safe($usable), $nblocks, 'the session can be used');

# ---------------------------------------------------------------------------
# Cancelled in the middle

# Does something while the backend is cancelled several times a second. An idle one ignores that.
sub cancelled_meanwhile
{
	my ($do) = @_;
	my $pid = fork // die $!;

	if ($pid == 0)
	{
		for (1 .. 300)
		{
			select undef, undef, undef, 0.15 + rand 0.1;
			kill 'INT', $backend;
		}
		POSIX::_exit(0);
	}
	$do->();
	kill 'KILL', $pid;
	waitpid $pid, 0;
	return;
}

for my $call (sort keys %calls)
{
	# At many instants.
	leaves_nothing(
		"$call, timed out",
		sub {
			for my $timeout (1, 5, 20)
			{
				# Set for this query alone, since it may be too short for any other. One that
				# runs out before the query is parsed is set once more after that, and then
				# PostgreSQL says that it was the user.
				failing(
					"BEGIN; SET LOCAL statement_timeout = $timeout; " . loop($call, 1000000) . '; ROLLBACK',
					qr/ERROR:  57014: canceling statement due to (statement timeout|user request)/);
			}
		});

	my @files_before = open_files($backend);
	cancelled_meanwhile(
		sub {
			failing(loop($call, 1000000), qr/ERROR:  57014: canceling statement due to user request/);
		});
	is_deeply([ open_files($backend) ], \@files_before, "$call, cancelled: the same files are open as before");
	is($session->query_safe($usable), $nblocks, "$call, cancelled: the session can be used");
}

# ---------------------------------------------------------------------------
# Cut at the boundary, and below

for my $cut ($segment_blocks, $segment_blocks - 1100)
{
	my $what = "cut to $cut of $segment_blocks blocks";

	$session->query_safe("DELETE FROM big WHERE ctid >= '($cut,0)'");
	$session->query_safe('VACUUM big');
	is($session->query_safe(q{SELECT pg_relation_size('big')}) / $block_bytes, $cut, $what);
	compare_caches(
		$node, $session, 'big', 'main', $what,
		reach => $reason
		? undef
		: sub {
			set_pages($files[0], 'drop', 0, $npages[0], 'read', $npages[0] - 3000, 3000);
		});
}

$session->quit;
is(ask($node, 'SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()'), 0, 'no lock is left');
$node->stop;
has_no_crash($node);

done_testing();
