# Compares what the extension says of both caches with what mincore, cachestat and pg_buffercache say, to the block.

package CacheOracle;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;
use PageCache;
use Test::More;

our @EXPORT = qw(compare_caches compare_with_fincore);

my $page_bytes = run_or_die('getconf', 'PAGE_SIZE');
my $canonical = JSON::PP->new->canonical;

# The state of the caches: each file as the oracles have it, shared buffers as pg_buffercache has them.
sub state_of_caches
{
	my ($session, $where, $files) = @_;
	my @pages = cached_pages(@$files);
	my $buffers = '';

	$buffers = $session->query_safe(
		"SELECT string_agg(relblocknumber::text, ' ' ORDER BY relblocknumber)
		   FROM pg_buffercache
		  WHERE relfilenode = $where->{filenode} AND reltablespace = $where->{tablespace}
			AND reldatabase = $where->{database} AND relforknumber = $where->{fork}")
	  if $where->{has_buffercache};

	return {
		pages => \@pages,
		bytes => [ map { -s $_ } @$files ],
		counts => [ cachestat_counts(@$files) ],
		buffers => $buffers,
	};
}

# A page is known to cachestat while it is being read, and to mincore later.
sub is_settled
{
	my ($state) = @_;

	for my $i (0 .. $#{ $state->{counts} })
	{
		my ($cached) = split /\|/, $state->{counts}[$i];
		return 0 if $cached != ($state->{pages}[$i] =~ tr/1//);
	}
	return 1;
}

sub state_as_text
{
	my ($state) = @_;

	return join "\n", @{ $state->{pages} }, @{ $state->{bytes} },
	  @{ $state->{counts} }, $state->{buffers};
}

# For each block '1' if all of its pages are in memory.
sub blocks_of_pages
{
	my ($pages, $bytes, $block_bytes) = @_;
	my $nblocks = int($bytes / $block_bytes);
	my $blocks = '';

	if ($block_bytes >= $page_bytes)
	{
		my $n = $block_bytes / $page_bytes;

		$blocks .= $_ =~ /0/ ? '0' : '1'
		  for unpack "(A$n)$nblocks", $pages;
	}
	else
	{
		$blocks .= substr $pages, int($_ * $block_bytes / $page_bytes), 1
		  for 0 .. $nblocks - 1;
	}
	return $blocks;
}

# What the extension must say, in the form of answers() below.
sub expected
{
	my ($state, $where, $files) = @_;
	my $method = @{ $state->{counts} } && !$where->{only_mincore} ? 'cachestat' : 'mincore';
	my $os = '';
	my (@auto, @mincore);

	for my $i (0 .. $#$files)
	{
		my $pages = $state->{pages}[$i];
		my $cached = $pages =~ tr/1//;
		my $common = join '|', $i, $state->{bytes}[$i], $cached * $page_bytes;

		push @mincore, "$common|mincore";
		push @auto, "$common|$method";
		$os .= blocks_of_pages($pages, $state->{bytes}[$i], $where->{block_bytes});
	}

	my $nblocks = length $os;
	my $shared = '0' x $nblocks;
	substr $shared, $_, 1, '1' for split / /, $state->{buffers};
	# Both are strings of the digits, of which & keeps '1' where both have it.
	my $both = $shared & $os;
	my %n = map { $_->[0] => $_->[1] =~ tr/1// }
	  ([ os => $os ], [ shared => $shared ], [ both => $both ]);

	return {
		page_cache => {
			'os_cache' => \@auto,
			'os_cache, mincore' => \@mincore,
			'residency' => "$nblocks|$n{os}",
			'map' => $os,
		},
		both_caches => {
			'residency' => "$n{shared}" . "|$n{both}" x 3,
			'map, shared' => $shared,
			'map, both' => $both,
			'map, parts' => [ parts($where, $shared, $os, $both) ],
		},
	};
}

# The counts of parts, which must follow each other and be of equal length, give or take one. Where exactly they begin is up to
# the extension.
sub parts
{
	my ($where, @bits) = @_;
	my $nblocks = length $bits[0];
	my $nparts = $where->{parts} < $nblocks ? $where->{parts} : $nblocks || 1;
	my $first = 0;
	my @parts;

	for my $i (1 .. $nparts)
	{
		my $length = $where->{lengths}[ $i - 1 ] // 0;

		return "part $i of $nparts has $length of $nblocks blocks"
		  if abs($length - $nblocks / $nparts) >= 1;
		push @parts, join '|', $first, $length, map { (substr $_, $first, $length) =~ tr/1// } @bits;
		$first += $length;
	}
	return @parts;
}

# What the extension says.
sub answers
{
	my ($session, $where) = @_;
	my ($relation, $fork) = ($where->{relation}, $where->{forkname});
	my $os_cache = 'SELECT * FROM pgbufprobe_os_cache';
	my $map = sub {
		$session->query_safe(
			"SELECT string_agg($_[0]::text, '' ORDER BY n)
			   FROM (SELECT row_number() OVER () AS n, *
					   FROM pgbufprobe_residency('$relation', 1000000) WHERE fork = '$fork') r
			  WHERE first_block = n - 1 AND blocks = 1");
	};
	my @parts = split /\n/, $session->query_safe(
		"SELECT first_block, blocks, shared_blocks, os_blocks, both_blocks
		   FROM pgbufprobe_residency('$relation', $where->{parts}) WHERE fork = '$fork'");
	my ($page_cache, $both_caches) = $session->query_safe(
		"SELECT blocks, os_blocks, shared_blocks, both_blocks, both_blocks_low, both_blocks_high
		   FROM pgbufprobe_residency('$relation') WHERE fork = '$fork'"
	) =~ /^(\d*\|\d*)\|(.*)$/;

	$where->{lengths} = [ map { (split /\|/)[1] } @parts ];
	return {
		page_cache => {
			'os_cache' =>
			  [ split /\n/, $session->query_safe("$os_cache('$relation', '$fork')") ],
			'os_cache, mincore' => [
				split /\n/,
				$session->query_safe("$os_cache('$relation', '$fork', 'mincore')")
			],
			'residency' => $page_cache,
			'map' => $map->('os_blocks'),
		},
		both_caches => {
			'residency' => $both_caches,
			'map, shared' => $map->('shared_blocks'),
			'map, both' => $map->('both_blocks'),
			'map, parts' => \@parts,
		},
	};
}

# The answers, with long maps cut down to the blocks that differ.
sub is_same
{
	my ($got, $expected, $what) = @_;
	my (%got, %expected);

	for my $key (keys %$expected)
	{
		my ($is, $should) = ($got->{$key}, $expected->{$key});

		if ($key =~ /map/ && !ref $should && length $is == length $should && $is ne $should)
		{
			my @blocks = grep { substr($is, $_, 1) ne substr($should, $_, 1) } 0 .. length($is) - 1;
			$#blocks = 4 if @blocks > 5;
			$is = join ', ', map { "block $_: " . substr $is, $_, 1 } @blocks;
			$should = join ', ', map { "block $_: " . substr $should, $_, 1 } @blocks;
		}
		($got{$key}, $expected{$key}) = ($is, $should);
	}
	return is_deeply(\%got, \%expected, $what);
}

# Compares what the extension says of a fork with the oracles, to the block, while
# nothing changes: a test for the page cache, one for shared buffers and both.
#
# Options: reach, what puts the caches into the state to be compared; without it they
# are as they are. parts, the number of parts that maps are made of; only_mincore,
# where the server has no cachestat.
sub compare_caches
{
	my ($node, $session, $relation, $fork, $what, %options) = @_;
	my %where = (
		relation => $relation,
		forkname => $fork,
		parts => $options{parts} // 7,
		only_mincore => $options{only_mincore});
	my @files = segment_files($node, $session, $relation, $fork);
	my $unsettled = 0;
	my ($last, $seen, $expected);

	@where{qw(filenode tablespace database has_buffercache block_bytes)} = split /\|/,
	  $session->query_safe(
		"SELECT pg_relation_filenode(c.oid),
			CASE WHEN reltablespace = 0 THEN dattablespace ELSE reltablespace END,
			CASE WHEN relisshared THEN 0 ELSE d.oid END,
			(SELECT count(*) FROM pg_extension WHERE extname = 'pg_buffercache'),
			current_setting('block_size')
		   FROM pg_class c, pg_database d
		  WHERE c.oid = '$relation'::regclass AND datname = current_database()");
	($where{fork}) = grep { (qw(main fsm vm init))[$_] eq $fork } 0 .. 3;

	# The session's first use of a catalog reads it.
	answers($session, \%where);
	# Memory management takes a large folio out of the page cache for a moment now and then, and back in.
	for my $attempt (1 .. 3)
	{
		$seen = undisturbed(
			$what,
			sub {
				$last = state_of_caches($session, \%where, \@files);
				return is_settled($last) ? state_as_text($last) : 'not settled ' . $unsettled++;
			},
			sub { return answers($session, \%where) },
			reach => $options{reach}) // return;
		$expected = expected($last, \%where, \@files);
		last if $canonical->encode($seen->{page_cache}) eq $canonical->encode($expected->{page_cache});
		note("$what: differs in attempt $attempt");
	}

	is_same($seen->{page_cache}, $expected->{page_cache}, "$what: page cache equals mincore");
  SKIP:
	{
		skip 'no pg_buffercache', 1 unless $where{has_buffercache};
		is_same($seen->{both_caches}, $expected->{both_caches},
			"$what: both caches equal mincore and pg_buffercache");
	}
	return;
}

# That the oracle itself is right.
sub compare_with_fincore
{
	my ($what, @files) = @_;

  SKIP:
	{
		skip 'no fincore', 1
		  if system('sh', '-c', 'command -v fincore > /dev/null') != 0;
		my @pages;
		my $fincore = undisturbed(
			"$what, fincore",
			sub { return join "\n", @pages = cached_pages(@files) },
			sub {
				return run_or_die('fincore', '--raw', '--noheadings', '--output', 'PAGES', @files);
			});
		is($fincore, join("\n", map { tr/1// } @pages),
			"$what: fincore agrees with the oracle")
		  if defined $fincore;
	}
	return;
}

1;
