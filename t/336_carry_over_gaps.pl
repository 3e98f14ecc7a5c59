# Gaps that were read between wanted blocks, and blocks that are in shared buffers, stay in the page cache where nothing else
# needs the room.

use strict;
use warnings;

use CarryOver;
use PageCache;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = carry_node('main') or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $reason = why_not_droppable($node);
plan skip_all => $reason if $reason;

my $table = make_table($node, 'postgres', 'pages', 301);
my $path = $node->data_dir . '/' . ask($node, q{SELECT pg_relation_filepath('pages')});
my $pages_of_block = ask($node, 'SHOW block_size') / run_or_die('getconf', 'PAGE_SIZE');
my %pages = (gaps => 225 * $pages_of_block, shared => 76 * $pages_of_block);

local $ENV{LITTLE_MEMORY} = PostgreSQL::Test::Utils::tempdir() . '/meminfo';

# Restores every fourth block of the table into shared buffers. Returns how many of its pages the page cache has then.
sub restore_and_count
{
	my ($what) = @_;

	$node->stop;
	write_maps($node);
	$node->start;
	has_begun($node);
	ask($node, q{DO $$ BEGIN FOR b IN 0 .. 300 BY 4 LOOP PERFORM id FROM pages WHERE ctid = format('(%s,1)', b)::tid; END LOOP; END $$});
	is(drop_files($path), 0, "$what: the page cache has nothing at the stop");
	$node->stop;
	start_with($node, LITTLE_MEMORY => $ENV{LITTLE_MEMORY});
	is_restored($node, $what);
	my $pages = cached_pages($path);
	my @blocks = map { substr $pages, $_ * $pages_of_block, $pages_of_block } 0 .. 300;
	is(() = in_buffers($node, $table) =~ /:/g, 76, 'shared buffers have what they had');
	return (
		gaps => join('', map { $_ % 4 ? $blocks[$_] : () } 0 .. 300) =~ tr/1//,
		shared => join('', map { $_ % 4 ? () : $blocks[$_] } 0 .. 300) =~ tr/1//);
}

# Compares that with what is to stay there.
sub keeps
{
	my ($what, $stays) = @_;
	my %kept;

	# The kernel may drop at any time what nobody has used for some seconds.
	for my $attempt (1 .. 10)
	{
		%kept = restore_and_count($what);
		last if !$stays || !grep { $kept{$_} < 0.8 * $pages{$_} } keys %pages;
	}
	for my $part (sort keys %pages)
	{
		$stays
		  ? cmp_ok($kept{$part}, '>=', 0.8 * $pages{$part}, "$what: $part stay in the page cache")
		  : cmp_ok($kept{$part}, '<=', 0.2 * $pages{$part}, "$what: $part do not stay in the page cache");
	}
	unlink $ENV{LITTLE_MEMORY};
	return;
}

sub pretend { my (@numbers) = @_; return append_to_file($ENV{LITTLE_MEMORY}, sprintf "MemTotal: %d kB\nMemFree: %d kB\nActive(file): %d kB\nInactive(file): %d kB\n", @numbers) }

keeps('much memory', 1);
pretend(1_000_000, 0, 0, 0);
keeps('no memory to spare', 0);
pretend(8_000_000, 0, 7_000_000, 0);
keeps('others use the memory', 0);
pretend(8_000_000, 0, 0, 7_000_000);
keeps('others have used the memory once', 1);

has_no_crash($node);
done_testing();
