# A page counts as used if the page cache held it at the save before, too. A save soon after another one, as at a stop, goes by
# what counted as used then.

use strict;
use warnings;

use CacheMap;
use CarryOver;
use PageCache;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = carry_node('main') or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $reason = why_not_evictable($node->data_dir);
$reason = 'the state of the page cache is unknown here'
  if ask($node, "SELECT count(cached_bytes) FROM pgbufprobe_os_cache('pg_class')") == 0;
plan skip_all => $reason if $reason;

my $file = maps_file($node);
make_table($node, 'postgres', 'pages', 300);
my $filenode = ask($node, q{SELECT pg_relation_filenode('pages')});
my $path = $node->data_dir . '/' . ask($node, q{SELECT pg_relation_filepath('pages')});
my $pages_of_block = ask($node, 'SHOW block_size') / run_or_die('getconf', 'PAGE_SIZE');

# Stops the server while the page cache holds so many blocks of the table. Returns how many of its blocks the file has in each
# state of the page cache: not there, there, there and used.
sub saved_with
{
	my ($nblocks) = @_;
	drop_files($path);
	set_pages($path, 'read', 0, $nblocks * $pages_of_block);
	$node->stop;

	my $saved = slurp_file($file);
	my $entry = 40;
	$entry += 24 + unpack 'x20 L', substr $saved, $entry while join(' ', unpack 'x8 L2', substr $saved, $entry) ne "$filenode 0";
	my $map = read_map(unpack 'H*', substr $saved, $entry + 24, unpack 'x20 L', substr $saved, $entry);
	my @n = (0, 0, 0);
	$n[ $_->[1] ]++ for @{ $map->{blocks} };
	return "@n";
}

unlink $file;
is(saved_with(100), '200 100 0', 'the first save knows nothing of what is used');
$node->start;
is_restored($node, 'after the first save');
is(saved_with(150), '150 50 100', 'what the page cache held twice counts as used');

$node->append_conf('postgresql.conf', 'pgbufprobe.carry_over_interval = 1d');
$node->start;
is_restored($node, 'after the second save');
is(saved_with(200), '100 100 100', 'soon after a save: no more does');

$node->append_conf('postgresql.conf', 'pgbufprobe.carry_over_interval = 1s');
$node->start;
is_restored($node, 'after the third save');
$node->append_conf('postgresql.conf', 'pgbufprobe.carry_over_interval = 0');
$node->reload;
is(saved_with(200), '100 0 200', 'some time later: all of it does');

$node->start;
has_no_crash($node);
done_testing();
