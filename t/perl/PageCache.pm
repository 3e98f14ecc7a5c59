# Oracles for the page cache, which share no code with the extension. They put files into a state, and compute from it
# and from pg_buffercache what the extension must return for a relation.

package PageCache;

use strict;
use warnings;

use Exporter 'import';
use IPC::Open2;
use PostgreSQL::Test::Utils;
use Programs;
use Server;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  start_cache_server one_row_a_page segment_files why_not_evictable
  cached_pages cachestat_counts set_pages read_file
  drop_files bring_back advised_away undisturbed
  compare_caches compare_with_fincore compare_with_pgfincore
);

my $page_bytes = run_or_die('getconf', 'PAGE_SIZE');

# How often something is tried that anything else on the machine may disturb.
my $rounds = 40;

sub run_or_die
{
	my @command = @_;

	open my $pipe, '-|', @command or die "$command[0]: $!";
	my $output = do { local $/; <$pipe> };
	close $pipe or die "@command[0 .. 1] failed";
	chomp $output;
	return $output;
}

# ---------------------------------------------------------------------------
# Files

# For each file, '1' for each page that is in memory and '0' for each other.
sub cached_pages
{
	my @files = @_;
	my @pages = split /\n/, run_or_die(build_program('mincore_oracle'), @files), -1;

	push @pages, '' while @pages < @files;
	return wantarray ? @pages : $pages[0];
}

# For each file, its pages "cached|dirty|writeback|evicted|recently evicted";
# or nothing, if the kernel has no cachestat.
sub cachestat_counts
{
	my @files = @_;
	my @counts = split /\n/, run_or_die(build_program('cachestat_oracle'), @files);

	return $counts[0] =~ /^\d+\|/ ? @counts : ();
}

# Puts pages of a file into a state: a list of verb, first page and number of
# pages, see page_state.c.
sub set_pages
{
	my ($file, @states) = @_;

	run_or_die(build_program('page_state'), $file, @states);
	return;
}

# Reads a file from front to end, so that the kernel reads ahead.
sub read_file
{
	my ($file) = @_;
	my $buffer;

	open my $handle, '<:raw', $file or die "$file: $!";
	1 while sysread $handle, $buffer, 1 << 20;
	close $handle;
	return;
}

# Makes attempts until no page of the files has this digit, and waits that long after each, in tenths of a second.
# Returns how many pages still have it.
sub pages_left
{
	my ($attempt, $digit, $tenths, @files) = @_;
	my $left;

	for my $round (1 .. $rounds)
	{
		$attempt->();
		for (1 .. $tenths)
		{
			$left = () = join('', cached_pages(@files)) =~ /$digit/g;
			return 0 if $left == 0;
			usleep(100_000);
		}
		note("round $round: $left pages are still $digit");
	}
	return $left;
}

# Drops files from memory, each as a whole; returns how many of their pages remain. The kernel skips a page that it
# is working on.
sub drop_files
{
	my @files = @_;

	return pages_left(sub { set_pages($_, 'drop', 0, length cached_pages($_)) for @files }, '1', 1, @files);
}

# The same by advice. What is to be dropped is prepared each time, so that the advice has to drop all of it at once.
sub advised_away
{
	my ($prepare, $advise, @files) = @_;

	return pages_left(sub { $prepare->(); $advise->() }, '1', 1, @files);
}

# Advice to read starts reads that nobody waits for, and under memory pressure the kernel follows only a part of it.
# So it is repeated. Returns how many pages are missing.
sub bring_back
{
	my ($advise, @files) = @_;

	return pages_left($advise, '0', 20, @files);
}

# Whether the pages of a file that are in memory stay there. Returns what says how
# many have left, even if they have been read again since.
sub watch_pages
{
	my ($file) = @_;
	my $pid = open2(my $out, my $in, build_program('page_watch'), $file);
	my $watched = <$out>;

	return sub {
		close $in;
		my $left = <$out>;
		waitpid $pid, 0;
		die 'page_watch failed' unless defined $left && $? == 0;
		return int $left;
	};
}

# Asks while nothing changes. The kernel may drop a page at any time: on some machines it drops all that was not used
# for some seconds, with most memory free. So the state of the caches, a text, is taken before and after. Where they
# differ, the answer does not count, and everything is repeated. Returns the answer; or, if something has changed in
# every round, nothing, and a test has failed.
#
# Options: reach puts the caches into a state, in each round; wanted is the state that they must have then; reads is a
# file that the question itself reads, whose pages may come, but may not leave.
sub undisturbed
{
	my ($what, $state, $ask, %options) = @_;
	my $wanted = $options{wanted};

	for my $round (1 .. $rounds)
	{
		$options{reach}->() if $options{reach};
		my $left = $options{reads} ? watch_pages($options{reads}) : undef;
		my $before = $state->();
		my $answer = $ask->();
		my $is_still = $left ? $left->() == 0 : $before eq $state->();
		my $is_wanted = !defined $wanted || $before eq $wanted;

		return $answer if $is_still && $is_wanted;
		note("$what, round $round: the caches "
			  . ($is_wanted ? 'have changed meanwhile' : 'are not in the state wanted'));
		usleep(100_000);
	}
	fail("$what: the caches stay as they are while they are asked for, in one of $rounds rounds");
	return;
}

# Why pages of a file, or of the files in a directory, cannot be dropped from
# memory, if so.
sub why_not_evictable
{
	my ($path) = @_;
	my $type = run_or_die('stat', '-f', '-c', '%T', $path);

	return $type =~ /^(tmpfs|ramfs|overlayfs|zfs)$/ ? "$type keeps its pages" : undef;
}

# The files of a fork, as the server's rules have them: every segment but the
# last is full.
sub segment_files
{
	my ($node, $session, $relation, $fork) = @_;
	my ($path, $segment_bytes) = split /\|/, $session->query_safe(
		"SELECT pg_relation_filepath('$relation'::regclass),
			pg_size_bytes(current_setting('segment_size'))");
	my @files;

	$path .= "_$fork" if $fork ne 'main';
	for (my $segment = 0;; $segment++)
	{
		my $file = $node->data_dir . "/$path" . ($segment == 0 ? '' : ".$segment");

		last unless -e $file;
		push @files, $file;
		last if -s $file < $segment_bytes;
	}
	return @files;
}

# ---------------------------------------------------------------------------
# Relations

# A server with the extension, and with those that it can be compared with.
sub start_cache_server
{
	my ($name, $conf, %init_options) = @_;
	my $node = start_server($name, "$conf\n$no_background_writes", %init_options);

	$node->safe_psql('postgres', 'CREATE EXTENSION pgbufprobe');
	create_if_available($node, $_) or note("no $_: nothing is compared with it") for 'pg_buffercache', 'pgfincore';
	return $node;
}

# A table of so many pages, one row in each, and room to update it there.
sub one_row_a_page
{
	my ($table, $pages, $kind, $tablespace) = @_;
	$kind //= '';
	$tablespace //= 'pg_default';

	return qq{
CREATE $kind TABLE $table (id integer, filler text)
	WITH (fillfactor = 10, autovacuum_enabled = off) TABLESPACE $tablespace;
ALTER TABLE $table ALTER filler SET STORAGE PLAIN;
INSERT INTO $table SELECT i, repeat('x', current_setting('block_size')::integer / 16)
	FROM generate_series(0, $pages - 1) i;
};
}

# The state of the caches: each file as the oracles have it, shared buffers as pg_buffercache has them.
sub state_of_caches
{
	my ($session, $where, $files) = @_;
	my @pages = cached_pages(@$files);
	my $buffers = '';

	$buffers = $session->query_safe(
		"SELECT string_agg(relblocknumber || CASE WHEN isdirty THEN 'd' ELSE '' END, ' ' ORDER BY relblocknumber)
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

# For each block '1' if all of its pages are in memory, 'p' if some are.
sub blocks_of_pages
{
	my ($pages, $bytes, $block_bytes) = @_;
	my $nblocks = int($bytes / $block_bytes);
	my $blocks = '';

	if ($block_bytes >= $page_bytes)
	{
		my $n = $block_bytes / $page_bytes;

		$blocks .= $_ !~ /0/ ? '1' : $_ =~ /1/ ? 'p' : '0'
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
	my ($os, $partial, $dirty) = ('', 0, 0);
	my (@auto, @mincore);

	for my $i (0 .. $#$files)
	{
		my $pages = $state->{pages}[$i];
		my $cached = $pages =~ tr/1//;
		my $common = join '|', $i, $where->{path} . ($i == 0 ? '' : ".$i"),
		  $state->{bytes}[$i], length $pages, $cached, $cached * $page_bytes;

		push @mincore, "$common|t|||||mincore|t";
		push @auto, $method eq 'cachestat'
		  ? "$common|t|" . ($state->{counts}[$i] =~ s/^\d+\|//r) . '|cachestat|t'
		  : $mincore[-1];
		$os .= blocks_of_pages($pages, $state->{bytes}[$i], $where->{block_bytes});
	}
	$partial = ($os =~ tr/p/0/);

	my $nblocks = length $os;
	my $shared = '0' x $nblocks;
	for (split / /, $state->{buffers})
	{
		my ($block, $is_dirty) = /^(\d+)(d?)$/;
		substr $shared, $block, 1, '1';
		$dirty++ if $is_dirty;
	}
	# Both are strings of the digits, of which & keeps '1' where both have it.
	my $both = $shared & $os;
	my %n = map { $_->[0] => $_->[1] =~ tr/1// }
	  ([ os => $os ], [ shared => $shared ], [ both => $both ]);

	return {
		page_cache => {
			'os_cache' => \@auto,
			'os_cache, mincore' => \@mincore,
			'residency' => "$nblocks|$n{os}|$partial|$method|t",
			'map' => $os,
		},
		both_caches => {
			'residency' => join('|',
				$n{shared}, $n{both}, $nblocks - $n{shared} - $n{os} + $n{both}, $dirty),
			'map, shared' => $shared,
			'map, both' => $both,
			'map, parts' => [ parts($where, $shared, $os, $both) ],
		},
	};
}

# The same by parts, which must follow each other and be of equal length, give or
# take one. Where exactly they begin is up to the extension.
sub parts
{
	my ($where, @bits) = @_;
	my $nblocks = length $bits[0];
	my $nparts = $where->{parts} < $nblocks ? $where->{parts} : $nblocks;
	my @ends = @{ $where->{ends} };
	my $first = 0;
	my @parts;

	for my $i (1 .. $nparts)
	{
		my $length = ($ends[ $i - 1 ] // -1) + 1 - $first;

		return "part $i of $nparts has $length of $nblocks blocks"
		  if abs($length - $nblocks / $nparts) >= 1;
		push @parts, join '|', $i, $first, $first + $length - 1,
		  map { (substr $_, $first, $length) =~ tr/1// } @bits;
		$first += $length;
	}
	return @parts;
}

# What the extension says.
sub answers
{
	my ($session, $where) = @_;
	my ($relation, $fork) = ($where->{relation}, $where->{forkname});
	my $os_cache = q{SELECT segment, path, bytes, os_pages, cached_pages, cached_bytes,
		CASE WHEN os_pages = 0 THEN cached_fraction IS NULL
			 ELSE abs(cached_fraction * os_pages - cached_pages) <= 0.0005 * cached_pages END,
		dirty_pages, writeback_pages, evicted_pages, recently_evicted_pages, method, trustworthy
		FROM pgbufprobe_os_cache};
	my $map = sub {
		$session->query_safe(
			"SELECT string_agg($_[0]::text, '' ORDER BY bucket)
			   FROM pgbufprobe_residency_map('$relation', 1000000, '$fork')
			  WHERE first_block = bucket - 1 AND last_block = first_block");
	};
	my @parts = split /\n/, $session->query_safe(
		"SELECT bucket, first_block, last_block, shared_blocks, os_blocks, both_blocks
		   FROM pgbufprobe_residency_map('$relation', $where->{parts}, '$fork') ORDER BY bucket");
	my ($page_cache, $both_caches) = $session->query_safe(
		"SELECT blocks, os_blocks, os_partial_blocks, method, trustworthy,
			shared_blocks, both_blocks, neither_blocks, shared_dirty_blocks
		   FROM pgbufprobe_residency('$relation') WHERE fork = '$fork'"
	) =~ /^((?:\w+\|){4}\w+)\|(.*)$/;

	$where->{ends} = [ map { (split /\|/)[2] } @parts ];
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
	my $last;

	@where{qw(path filenode tablespace database has_buffercache block_bytes)} = split /\|/,
	  $session->query_safe(
		"SELECT pg_relation_filepath(c.oid), pg_relation_filenode(c.oid),
			CASE WHEN reltablespace = 0 THEN dattablespace ELSE reltablespace END,
			CASE WHEN relisshared THEN 0 ELSE d.oid END,
			(SELECT count(*) FROM pg_extension WHERE extname = 'pg_buffercache'),
			current_setting('block_size')
		   FROM pg_class c, pg_database d
		  WHERE c.oid = '$relation'::regclass AND datname = current_database()");
	$where{path} .= "_$fork" if $fork ne 'main';
	($where{fork}) = grep { (qw(main fsm vm init))[$_] eq $fork } 0 .. 3;

	# The session's first use of a catalog reads it.
	answers($session, \%where);
	my $seen = undisturbed(
		$what,
		sub {
			$last = state_of_caches($session, \%where, \@files);
			return is_settled($last) ? state_as_text($last) : 'not settled ' . $unsettled++;
		},
		sub { return answers($session, \%where) },
		reach => $options{reach});
	return unless $seen;
	my $expected = expected($last, \%where, \@files);

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

# The same again by the SQL join of pg_buffercache and pgfincore, inside the
# server; which blocks differ.
sub compare_with_pgfincore
{
	my ($node, $session, $relation, $what) = @_;

  SKIP:
	{
		skip 'no pgfincore and pg_buffercache', 1
		  if $session->query_safe(
			q{SELECT count(*) FROM pg_extension WHERE extname IN ('pgfincore', 'pg_buffercache')}) < 2;
		my @files = segment_files($node, $session, $relation, 'main');
		my $query =
			"WITH mine AS MATERIALIZED (
				SELECT * FROM pgbufprobe_residency_map('$relation', 1000000)
			), page AS MATERIALIZED (
				SELECT segment, os_page_size, n - 1 AS n, bit = '1' AS cached
				  FROM pgfincore('$relation', true),
					   unnest(string_to_array(databit::text, NULL)) WITH ORDINALITY u(bit, n)
			), size AS (
				SELECT current_setting('block_size')::integer AS block,
					   pg_size_bytes(current_setting('segment_size')) AS segment
			), os AS (
				SELECT (page.segment * size.segment + n * os_page_size) / block AS block, bool_and(cached) AS cached
				  FROM page, size GROUP BY 1
			), shared AS MATERIALIZED (
				SELECT relblocknumber FROM pg_buffercache
				 WHERE relfilenode = pg_relation_filenode('$relation') AND relforknumber = 0
				   AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
			)
			SELECT coalesce(string_agg(coalesce(first_block, os.block)::text, ' '), 'none')
			  FROM os LEFT JOIN shared ON relblocknumber = os.block
			  FULL JOIN mine ON first_block = os.block
			 WHERE (shared_blocks = 1) IS DISTINCT FROM (relblocknumber IS NOT NULL)
				OR (os_blocks = 1) IS DISTINCT FROM os.cached
				OR (both_blocks = 1) IS DISTINCT FROM (relblocknumber IS NOT NULL AND os.cached)";
		# The session's first use of a catalog reads it.
		$session->query_safe($query);
		my $unlike = undisturbed(
			"$what, pgfincore",
			sub { return join "\n", cached_pages(@files) },
			sub { return $session->query_safe($query) });
		is($unlike, 'none', "$what: blocks unlike the join of pg_buffercache and pgfincore")
		  if defined $unlike;
	}
	return;
}

1;
