# Which blocks are in which cache. Both caches are put into many states, and each answer is compared, block by block,
# with mincore and cachestat as other programs call them, and with pg_buffercache.

use strict;
use warnings;

use CacheOracle;
use PageCache;
use Server;
use Test::More;

# Several times as many as the extension examines in one step.
my $nblocks = 9000;
my $seed = 3;

srand $seed;
note("seed $seed");

my $node = start_cache_server('main', "shared_buffers = 100MB\nmax_wal_size = 4GB");
ask($node, one_row_a_page('pages', $nblocks));
# With an empty pool.
$node->restart;

my $session = $node->background_psql('postgres');
# Not all that it is asked together has to be done within the timeout.
$session->set_query_timer_restart;
my ($file) = segment_files($node, $session, 'pages', 'main');
my $block_bytes = $session->query_safe(q{SELECT current_setting('block_size')::integer});
my $npages = length cached_pages($file);
my $pages_per_block = $npages / $nblocks;
is(-s $file, $nblocks * $block_bytes, 'there is a row on each page');

# ---------------------------------------------------------------------------
# The states

# Random runs of pages, every second of which is wanted. Their lengths are of
# every order of magnitude.
sub random_runs
{
	my ($verb, $unit, $longest) = @_;
	my @runs;

	for (my $first = 0; $first < $npages;)
	{
		my $length = $unit * int(exp(rand(log $longest)));

		push @runs, $verb, $first, $length if rand() < 0.5;
		$first += $length;
	}
	return @runs;
}

# Every other run of so many pages.
sub alternating
{
	my ($verb, $length, $from) = @_;

	return map { ($verb, 2 * $length * $_ + $from, $length) }
	  0 .. int($npages / (2 * $length));
}

# What puts pages into a state, the same each time.
sub pages
{
	my @states = @_;
	return sub { set_pages($file, @states) };
}

# One after the other, on a file that has no page in memory.
my @holes = random_runs('drop', 1, 1000);
my @os_states = (
	[ 'nothing', sub { } ],
	[ 'all, read ahead', sub { read_file($file) } ],
	[ 'all, page by page', pages('read', 0, $npages) ],
	[ 'first half', pages('read', 0, $npages / 2) ],
	[ 'last half', pages('read', $npages / 2, $npages / 2) ],
	[ 'every other 64 kB', pages(alternating('read', 16, 0)) ],
	[ 'every other page', pages(alternating('read', 1, 1)) ],
	[ 'single blocks at random',
		pages(map { ('read', $_ * $pages_per_block, $pages_per_block) }
			  map { int rand $nblocks } 1 .. 300) ],
	[ 'single pages at random', pages(map { ('read', int rand $npages, 1) } 1 .. 300) ],
	[ 'runs of blocks', pages(random_runs('read', $pages_per_block, $nblocks / 2)) ],
	[ 'runs of pages', pages(random_runs('read', 1, 1000)) ],
	[ 'all but holes in what was read ahead', sub {
			read_file($file);
			set_pages($file, @holes) } ],
	[ 'all but one block',
		pages('read', 0, $npages, 'drop', $pages_per_block * int rand $nblocks, $pages_per_block) ],
	[ 'the first page and the last', pages('read', 0, 1, 'read', $npages - 1, 1) ],
	[ 'some being dirty', pages(random_runs('read', 1, 3000), random_runs('dirty', 1, 500)) ],);

# Blocks come into shared buffers in the course of the test and stay. Dirty ones are still clean in the page cache.
sub read_shared { return with_blocks($session, 'SELECT count(*) FROM pages', $nblocks, $_[0]) }
sub dirty_shared { return with_blocks($session, 'UPDATE pages SET id = -id', $nblocks, $_[0]) }

my %shared_before = (
	'every other 64 kB' => sub { read_shared('block < 100') },
	'every other page' => sub { read_shared('block % 64 = 63') },
	'single blocks at random' => sub { read_shared('block % 7 = 0') },
	'runs of blocks' => sub { dirty_shared('block % 21 = 0 OR block > 8900') },
	'runs of pages' => sub { read_shared('block BETWEEN 4000 AND 6000') },
	'all but holes in what was read ahead' => sub { dirty_shared('block % 100 = 1') });

# ---------------------------------------------------------------------------
# Compared

sub is_compared
{
	my ($what, $reach) = @_;

	compare_caches($node, $session, 'pages', 'main', $what,
		parts => 1 + int rand 500, reach => $reach);
	compare_with_fincore($what, $file);
	return;
}

# How many blocks are where, with the page cache in a state that is the same for all
# pages.
sub counts
{
	my ($what, $reach, $digit) = @_;

	return undisturbed(
		$what,
		sub { return cached_pages($file) },
		sub {
			return $session->query_safe(
				q{SELECT shared_blocks, os_blocks, both_blocks, blocks - shared_blocks - os_blocks + both_blocks
					FROM pgbufprobe_residency('pages') WHERE fork = 'main'});
		}, reach => $reach, wanted => $digit x $npages);
}

SKIP:
{
	my $reason = why_not_evictable($node->data_dir);
	skip $reason, 1 if $reason;

	for (@os_states)
	{
		my ($state, $reach) = @$_;

		$shared_before{$state}->() if $shared_before{$state};
		is(drop_files($file), 0, "before $state: nothing is in the page cache");
		is_compared(
			$state,
			sub {
				drop_files($file);
				$reach->();
			});
	}

	# The pool full of the table, and then the page cache as well.
	drop_files($file);
	read_shared('true');
	$session->query_safe('CHECKPOINT');
	my $nowhere = sub { drop_files($file) };
	my $everywhere = sub { read_file($file) };

	is_compared('all shared, nothing in the page cache', $nowhere);
	is(counts('shared buffers only', $nowhere, '0'),
		"$nblocks|0|0|0", 'they are in shared buffers only');
	is_compared('all in both', $everywhere);
	is(counts('both caches', $everywhere, '1'),
		"$nblocks|$nblocks|$nblocks|0", 'they are in both caches');

	# ---------------------------------------------------------------------------
	# Advice

	my $counts;
	my $remaining = advised_away(
		sub {
			# The kernel may write them at any time.
			wait_for
			{
				set_pages($file, 'dirty', 0, $npages);
				($counts) = cachestat_counts($file);
				!defined $counts || (split /\|/, $counts)[1] > 0;
			};
		},
		sub {
			is($session->query_safe(q{SELECT pgbufprobe_os_advise('pages', 'dontneed')}),
				-s $file, 'advice is given for the whole file');
		}, $file);
	note('pages cached|dirty|writeback|evicted|recently evicted: ' . ($counts // 'unknown'));
  SKIP:
	{
		skip 'no cachestat', 1 unless defined $counts;
		cmp_ok((split /\|/, $counts)[1], '>', 0, 'there are dirty pages');
	}
	is($remaining, 0, 'no page remains, though they were dirty');
	is_compared('after "dontneed"');

	is( bring_back(
			sub {
				is($session->query_safe(q{SELECT pgbufprobe_os_advise('pages', 'willneed')}),
					-s $file, 'advice is given for the whole file');
			}, $file), 0, 'all pages come back');
	is_compared('after "willneed"');
}

$session->quit;
$node->stop;
has_no_crash($node);

done_testing();
