# Gaps that were read between wanted blocks stay in the page cache where nothing else needs the room.

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
my $pages_of_gaps = 225 * $pages_of_block;

local $ENV{LITTLE_MEMORY} = PostgreSQL::Test::Utils::tempdir() . '/meminfo';

# Restores every fourth block of the table into shared buffers. Returns how many pages of the gaps between them the page
# cache has then.
sub gaps_kept
{
	my ($what) = @_;

	$node->stop;
	write_maps($node);
	$node->start;
	ask($node, q{DO $$ BEGIN FOR b IN 0 .. 300 BY 4 LOOP PERFORM id FROM pages WHERE ctid = format('(%s,1)', b)::tid; END LOOP; END $$});
	is(drop_files($path), 0, "$what: the page cache has nothing at the stop");
	$node->stop;
	start_with($node, 'little_memory');
	is_restored($node, $what);
	my $pages = cached_pages($path);
	my @blocks = map { substr $pages, $_ * $pages_of_block, $pages_of_block } 0 .. 300;
	is(() = in_buffers($node, $table) =~ /:/g, 76, 'shared buffers have what they had');
	return join('', map { $_ % 4 ? $blocks[$_] : () } 0 .. 300) =~ tr/1//;
}

my $kept = gaps_kept('much memory');
cmp_ok($kept, '>=', 0.8 * $pages_of_gaps, 'gaps stay in the page cache');
append_to_file($ENV{LITTLE_MEMORY}, "MemTotal: 1000000 kB\nMemFree: 0 kB\nActive(file): 0 kB\nInactive(file): 0 kB\n");
$kept = gaps_kept('no memory to spare');
cmp_ok($kept, '<=', 0.2 * $pages_of_gaps, 'they do not');

has_no_crash($node);
done_testing();
