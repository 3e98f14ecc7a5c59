# What both caches hold, estimated from a sample of the blocks, compared with the exact answer of the same moment: nearly
# all estimates are within their error, and they have no bias.

use strict;
use warnings;

use PageCache;
use Server;
use Test::More;

my $nblocks = 3000;
my @counts = map { "${_}_blocks" } qw(shared os both);

my $node = start_cache_server('main', 'shared_buffers = 32MB');
ask($node, one_row_a_page('pages', $nblocks) . one_row_a_page('few', 20) . 'VACUUM pages, few');
# With an empty pool.
$node->restart;

my $session = $node->background_psql('postgres');
$session->set_query_timer_restart;
my ($file) = segment_files($node, $session, 'pages', 'main');
my $npages = length cached_pages($file);
my $pages_per_block = $npages / $nblocks;

# Of a thousand estimates, whether enough intervals, which are meant for 95 %, have the count in both caches, and whether the
# mean of none of the counts is too far off: no failure of these is ever by chance.
sub judge
{
	my ($fraction) = @_;
	my $pairs = join ', ', map { "('$_', x.$_, e.$_)" } @counts, 'neither_blocks';
	my $columns = '*, blocks - shared_blocks - os_blocks + both_blocks AS neither_blocks';

	return qq{
		WITH x AS MATERIALIZED (
			SELECT $columns FROM pgbufprobe_residency('pages') WHERE fork = 'main'
		), e AS MATERIALIZED (
			SELECT $columns FROM generate_series(1, 1000) i, pgbufprobe_residency('pages', 1, $fraction + 0 * i) r WHERE fork = 'main'
		), judged AS (
			SELECT name, exact, min(estimate) < max(estimate) AS estimated, max(estimate) > 0 AS found, stddev(estimate) AS stddev,
				avg(estimate) - exact AS bias
			  FROM x, e, LATERAL (VALUES $pairs) v(name, exact, estimate) GROUP BY name, exact
		), intervals AS (
			SELECT avg((x.both_blocks BETWEEN e.both_blocks_low AND e.both_blocks_high)::integer) AS share,
				min(e.both_blocks_high - e.both_blocks_low) AS shortest, max(e.both_blocks_high - e.both_blocks_low) AS longest
			  FROM x, e
		)
		SELECT bool_or(estimated), min(share) >= 0.9, bool_and(abs(bias) < 1 + stddev / 4),
			bool_and(found = (exact > 0)), max(longest) < 0.14 * $nblocks, min(shortest) > 0,
			(SELECT count(*) FROM e WHERE coalesce(blocks <> $nblocks OR both_blocks > least(shared_blocks, os_blocks)
				OR neither_blocks < 0 OR both_blocks NOT BETWEEN both_blocks_low AND both_blocks_high, true)),
			string_agg(format('%s: exact %s, bias %s', name, exact, round(bias, 1)), '; '), min(intervals::text)
		  FROM judged, intervals};
}

sub is_estimated
{
	my ($what, $fraction, $reach) = @_;
	my $judged = undisturbed(
		$what,
		sub { return cached_pages($file) },
		sub { return $session->query_safe(judge($fraction)) },
		reach => $reach) // return;
	my ($verdict, $figures) = $judged =~ /^((?:\w\|){6}\d+)\|(.*)$/s;

	is($verdict, 't|t|t|t|t|t|0', "$what, $fraction of the blocks: estimates are right") or diag($figures);
	return;
}

SKIP:
{
	my $reason = why_not_evictable($node->data_dir);
	skip $reason, 1 if $reason;

	# Some blocks are in each of the caches, in both and in none; some in part.
	with_blocks($session, 'SELECT count(*) FROM pages', $nblocks, 'block % 1000 < 400');
	with_blocks($session, 'UPDATE pages SET id = -id', $nblocks, 'block % 300 < 50');
	is_estimated(
		'runs of blocks', 0.1,
		sub {
			set_pages($file, 'drop', 0, $npages, map { ('read', 700 * $_ + 3, 350) } 0 .. $npages / 700);
			set_pages($file, map { ('drop', 5 * $_, 1) } 0 .. 200);
		});
	# Every block of a part of four thirds would be taken from the first of four blocks.
	is_estimated(
		'every fourth block', 0.75,
		sub {
			set_pages($file, 'drop', 0, $npages,
				map { ('read', 4 * $pages_per_block * $_, $pages_per_block) } 0 .. $nblocks / 4);
		});
}

# ---------------------------------------------------------------------------
# Files that are read as a whole, and all relations

# What two queries have in common is what is asked for; the session's first use of a catalog reads it.
my $columns = join ', ', 'relation, fork, blocks', @counts;
$session->query_safe("SELECT $columns FROM pgbufprobe_residency()") for 1 .. 2;

is( $session->query_safe("SELECT count(*) FROM pgbufprobe_residency('few', 1, 0.01) WHERE both_blocks_low < both_blocks_high"),
	0, 'of a small table, all blocks are looked up');
is( undisturbed(
		'small table',
		sub { return join "\n", map { cached_pages(segment_files($node, $session, 'few', $_)) } 'main', 'fsm', 'vm' },
		sub {
			return $session->query_safe("SELECT count(*) FROM (
				SELECT $columns FROM pgbufprobe_residency('few') EXCEPT SELECT $columns FROM pgbufprobe_residency('few', 1, 1e-300)) d");
		}), 0, 'and the counts are exact');
is( $session->query_safe(
		"SELECT count(*) FROM (
			SELECT relation, fork, blocks FROM pgbufprobe_residency() EXCEPT ALL
			SELECT relation, fork, blocks FROM pgbufprobe_residency(sample_fraction => 0.1)) d"),
	0, 'all relations and forks are estimated');
is( $session->query_safe("SELECT count(*) FROM pgbufprobe_residency() WHERE (both_blocks_low = both_blocks AND both_blocks_high = both_blocks) IS NOT TRUE"),
	0, 'the interval of an exact count is this count');

$session->quit;
$node->stop;
has_no_crash($node);

done_testing();
