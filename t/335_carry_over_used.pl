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
use Time::HiRes qw(usleep);

# The worker defers its reloads, as on a busy machine: the save at a stop must go by the last settings all the same.
my $node = carry_node('main', 'pgbufprobe.max_cpu_fraction = 0.0005') or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $reason = why_not_droppable($node);
plan skip_all => $reason if $reason;

my $file = maps_file($node);
make_table($node, 'postgres', 'pages', 300);
my $filenode = ask($node, q{SELECT pg_relation_filenode('pages')});
my $path = $node->data_dir . '/' . ask($node, q{SELECT pg_relation_filepath('pages')});
my $pages_of_block = ask($node, 'SHOW block_size') / run_or_die('getconf', 'PAGE_SIZE');

# Starts the server with the file as it is, and stops it, with that interval, while the page cache holds so many blocks of the
# table. Returns how many of its blocks the file has in each state of the page cache: not there, there, there and used.
sub saved_with
{
	my ($nblocks, $interval) = @_;
	my $earlier = -e $file ? slurp_file($file) : undef;
	my $npages = $nblocks * $pages_of_block;

	return undisturbed("a stop with $nblocks blocks", sub { scalar cached_pages($path) }, sub { $node->stop; states_saved() },
		wanted => '1' x $npages . '0' x (300 * $pages_of_block - $npages),
		reach => sub {
			write_maps($node, $earlier);
			# Otherwise a second attempt could save before it is ready.
			append_to_file($node->data_dir . '/postgresql.auto.conf', "pgbufprobe.carry_over_interval = 0\n");
			$node->start;
			has_begun($node);
			die 'the restore does not complete' if defined $earlier && !restored($node);
			set($node, carry_over_interval => 0);
			drop_files($path);
			set_pages($path, 'read', 0, $npages);
			set($node, carry_over_interval => $interval);
			# Then the server has told its workers to reload.
			$node->poll_query_until('postgres', "SELECT current_setting('pgbufprobe.carry_over_interval') = '$interval'")
			  or die 'the server does not reload its settings';
		});
}

sub states_saved
{
	my ($saved) = grep { "$_->[2] $_->[3]" eq "$filenode 0" } saved_maps($node);
	# The kernel may have dropped all of it before the stop.
	return '300 0 0' unless $saved;
	my $map = read_map(unpack 'H*', $saved->[5]);
	my @n = (0, 0, 0);
	$n[ $_->[1] ]++ for @{ $map->{blocks} };
	return "@n";
}

$node->stop;
unlink $file;
is(saved_with(100, '0'), '200 100 0', 'the first save knows nothing of what is used');
is(saved_with(150, '0'), '150 50 100', 'what the page cache held twice counts as used');
is(saved_with(200, '1d'), '100 100 100', 'soon after a save: no more does');
# so that the last save is older than the interval
usleep(1_100_000);
is(saved_with(200, '1s'), '100 0 200', 'some time later: all of it does');

$node->start;
has_no_crash($node);
done_testing();
