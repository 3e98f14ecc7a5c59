# The cost of a read is reported by the cache that serves it. With a table put into a known cache, nearly all
# of its reads must be counted there.

use strict;
use warnings;

use PageCache;
use Server;
use Test::More;

my $nblocks = 6000;
my $samples = 1000;

my $node = start_cache_server('main', 'shared_buffers = 100MB');
ask($node, one_row_a_page('pages', $nblocks));
my ($session, $file, $npages);

# An empty pool, and nothing of the table in the page cache.
sub restart
{
	$session->quit if $session;
	$node->restart;
	$session = $node->background_psql('postgres');
	($file) = segment_files($node, $session, 'pages', 'main');
	$npages = length cached_pages($file);
	drop_files($file);
	return;
}

# What the answer is while the page cache is in a state; nothing, if it never was.
sub in_state
{
	my ($what, $reach, $wanted, $ask, $reads) = @_;

	return undisturbed(
		$what,
		sub { return cached_pages($file) },
		$ask, reach => $reach, wanted => $wanted, reads => $reads);
}

sub blocks_in
{
	return $session->query_safe(
		q{SELECT shared_blocks, os_blocks, both_blocks FROM pgbufprobe_residency('pages') WHERE fork = 'main'});
}

# Reads by tier.
sub tiers
{
	my ($reads) = @_;
	my %tiers = map { split /\|/ } split /\n/,
	  $session->query_safe("SELECT tier, reads FROM pgbufprobe_read_cost('pages', $reads)");

	note(join ', ', map { "$_: $tiers{$_}" } sort keys %tiers);
	return \%tiers;
}

sub most_are_in
{
	my ($tiers, $tier, $what) = @_;
	my $sum = 0;

	return unless $tiers;
	$sum += $_ for values %$tiers;
	is($sum, $samples, "$what: each read is counted");
	cmp_ok($tiers->{$tier} // 0, '>=', 0.99 * $samples, "$what: 99 % of them in tier $tier");
	return;
}

sub read_blocks { return with_blocks($session, 'SELECT count(*) FROM pages', $nblocks, $_[0]) }

SKIP:
{
	my $reason = why_not_evictable($node->data_dir);
	skip $reason, 1 if $reason;

	restart();
	my $none = '0' x $npages;
	my $all = '1' x $npages;

	is(in_state('nowhere', \&restart, $none, \&blocks_in), '0|0|0', 'the table is nowhere');
	most_are_in(tiers($samples), 'storage', 'nowhere');
	is((split /\|/, blocks_in())[0], $samples, 'what was read is in shared buffers: each block was read once');

	my $read = sub {
		restart();
		read_file($file);
	};
	is(in_state('page cache', $read, $all, \&blocks_in),
		"0|$nblocks|0", 'the table is in the page cache, and only there');
	most_are_in(in_state('page cache, read', $read, $all, sub { tiers($samples) }, $file),
		'os_cache', 'page cache');

	# One by one, what comes from where: a third each.
	my $pages_per_block = int($npages / $nblocks);
	my $third = join '', map { ($_ % 3 == 1 ? '1' : '0') x $pages_per_block } 0 .. $nblocks - 1;
	my $thirds = sub {
		restart();
		read_blocks('block % 3 = 0');
		drop_files($file);
		set_pages($file, map { ('read', $_ * $pages_per_block, $pages_per_block) }
			  grep { $_ % 3 == 1 } 0 .. $nblocks - 1);
	};
	is(in_state('thirds', $thirds, $third, \&blocks_in),
		"@{[ $nblocks / 3 ]}|@{[ $nblocks / 3 ]}|0", 'a third of the table is in either cache');
	my $tiers = in_state('thirds, read', $thirds, $third, sub { tiers(10 * $nblocks) }, $file);
	if ($tiers)
	{
		is($tiers->{shared_buffers}, $nblocks / 3, 'a third of the reads find their block in shared buffers');
		is($tiers->{os_cache} + $tiers->{storage}, $nblocks * 2 / 3, 'no block is read twice');

		# What is read behind the kernel's back can be read ahead as well.
		cmp_ok($tiers->{os_cache}, '>=', $nblocks / 3, 'a third of them, or more, in the page cache');
	}
}

restart();
read_blocks('true');
is((split /\|/, blocks_in())[0], $nblocks, 'the table is in shared buffers');
drop_files($file);
most_are_in(tiers($samples), 'shared_buffers', 'shared buffers');

# A table so small that it has fewer blocks than samples.
$session->query_safe('CREATE TABLE small AS SELECT 1 AS one');
is($session->query_safe(q{SELECT tier, reads FROM pgbufprobe_read_cost('small')}),
	'shared_buffers|1', 'a table of one block');

# The pages are as they were.
is($session->query_safe('SELECT count(*), sum(id) FROM pages'),
	$nblocks . '|' . $nblocks * ($nblocks - 1) / 2, 'the table is whole');

$session->quit;
$node->stop;
has_no_crash($node);

done_testing();
