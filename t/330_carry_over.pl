# What both caches held before a restart they hold after it: in all databases, block by block, with the same usage counts. A
# smaller pool gets the most useful pages and the page cache the rest; a larger one also gets pages of the page cache.

use strict;
use warnings;

use CarryOver;
use PageCache;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = carry_node('main') or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $file = maps_file($node);
my $block_bytes = ask($node, 'SHOW block_size');
my $page_bytes = run_or_die('getconf', 'PAGE_SIZE');
my $dir = PostgreSQL::Test::Utils::tempdir();

ask($node, "CREATE DATABASE $_") for 'one', 'two';
ask($node, "CREATE TABLESPACE elsewhere LOCATION '$dir'");
my %table = map { $_ => make_table($node, $_, 'pages', 700) } 'one', 'two';
ask($node, 'ALTER TABLE pages SET TABLESPACE elsewhere; CHECKPOINT', 'two');
$table{two} =~ s/relfilenode = \d+/'relfilenode = ' . ask($node, q{SELECT pg_relation_filenode('pages')}, 'two')/e;
my %path = map { $_ => $node->data_dir . '/' . ask($node, q{SELECT pg_relation_filepath('pages')}, $_) } 'one', 'two';

sub restart_with
{
	my ($buffers) = @_;
	$node->append_conf('postgresql.conf', "shared_buffers = $buffers");
	$node->stop;
	is($_, 0, 'the page cache is empty') for why_not_evictable($node->data_dir) ? () : drop_files(values %path);
	$node->start;
	return is_restored($node, "shared_buffers = $buffers");
}

# The blocks of a file that are in the page cache as a whole.
sub in_page_cache
{
	my ($path) = @_;
	my $per_block = $block_bytes / $page_bytes;
	my $pages = cached_pages($path);
	return grep { substr($pages, $_ * $per_block, $per_block) =~ /^1+$/ } 0 .. length($pages) / $per_block - 1;
}

# Under memory pressure the kernel keeps only a part of what it has read, so most of the blocks are enough. Returns how many
# there are, how many are enough, and what that means.
sub has_most
{
	my ($path, $what, @wanted) = @_;
	my %cached = map { $_ => 1 } in_page_cache($path);
	my $found = grep { $cached{$_} } @wanted;
	return [ $found, 0.8 * @wanted, $what ];
}

# The same blocks in a pool of the first size as at first, and nothing else of the tables.
sub begin_again
{
	$node->stop;
	unlink $file or die $!;
	$node->append_conf('postgresql.conf', 'shared_buffers = 2048');
	$node->start;
	has_begun($node);
	use_blocks($node, 'one', 'pages', @$_) for [ 0, 99, 1 ], [ 100, 199, 3 ], [ 600, 649, 9 ];
	use_blocks($node, 'two', 'pages', 10, 29, 2);
	return;
}

sub without_counts { return join ' ', map { s/:.*//r } split / /, $_[0] }

# ---------------------------------------------------------------------------
# The same size

is(progress($node, 'carry_over, restored_fraction, restore_seconds_left, saved_at'), 'waiting|||', 'at first, there is nothing to restore');
begin_again();
is(progress($node, 'carry_over'), 'waiting', 'nor without the file');
my %used = map { $_ => in_buffers($node, $table{$_}) } 'one', 'two';
like($used{one}, qr/^0:1 .* 99:1 100:3 .* 199:3 600:5 .* 649:5$/, 'blocks have different usage counts in one database');
like($used{two}, qr/^10:2 .* 29:2$/, 'and in another');

my $from = -s $node->logfile;
$node->stop;
is(log_since($node, $from), '', 'a stop logs nothing');
is((stat $file)[2] & 0777, 0600, 'there is a file, which its owner alone can read');
ok(!-e "$file.tmp", 'and no temporary one');
$from = -s $node->logfile;
$node->start;
is_restored($node, 'restarted');
is(in_buffers($node, $table{one}), $used{one}, 'the same blocks are there again, with the same usage counts');
is(in_buffers($node, $table{two}), $used{two}, 'also in another database and tablespace');
like(log_since($node, $from), qr/^[^\n]*LOG:  restored both caches: \d+ MB read in [\d.]+ s$/, 'which is logged in one line');
is(progress($node, 'carry_over, restored_fraction, restore_seconds_left, saved_at < now()'), 'done|1|0|t',
	'and the progress is that of a restore that is complete');
is(ask($node, "SELECT count(*) $carry_worker"), 1, 'one worker remains');
is(ask($node, "SELECT count(*) FROM pg_locks WHERE relation IS NOT NULL AND pid IN (SELECT pid $carry_worker)"), 0,
	'which has no locks');

# ---------------------------------------------------------------------------
# A smaller pool, and a larger one

SKIP:
{
	my $reason = why_not_droppable($node);
	skip $reason, 1 if $reason;

	# The kernel may drop at any time what nobody has used for some seconds. Then all of this is done again.
	my @kept;
	for my $attempt (1 .. 20)
	{
		begin_again() if $attempt > 1;
		@kept = ();
		use_blocks($node, 'one', 'pages', 200, 599, 2);
		%used = map { $_ => in_buffers($node, $table{$_}) } 'one', 'two';
		read_file($path{two});
		restart_with(768);
		my %usage = map { split /:/ } split / /, $used{one};
		my @restored = split / /, without_counts(in_buffers($node, $table{one}));
		my %is_restored = map { $_ => 1 } @restored;
		my @left_out = grep { !$is_restored{$_} } sort { $a <=> $b } keys %usage;
		my ($least) = sort { $a <=> $b } @usage{@restored};
		my ($most) = sort { $b <=> $a } @usage{@left_out};
		cmp_ok(scalar @restored, '>=', 150, 'a smaller pool has many of the blocks');
		cmp_ok(scalar @left_out, '>', 100, 'but not all');
		cmp_ok($most, '<=', $least, 'it has the most useful ones');
		push @kept, has_most($path{one}, 'and the page cache has the rest', @left_out);
		push @kept, has_most($path{two}, 'also what it alone had before', 0 .. 699);

		my $before = () = in_buffers($node, $table{two}) =~ /:/g;
		# all of the catalogs that the page cache has, too
		restart_with(8192);
		my $after = () = in_buffers($node, $table{two}) =~ /:/g;
		my $one = () = in_buffers($node, $table{one}) =~ /:/g;
		cmp_ok($before, '<', 100, 'a larger pool: before, it had little of a table');
		push @kept, [ $after + $one, 1001, 'now it also has what the page cache had' ];
		is(in_buffers($node, $table{two}) =~ /:[1-5]/ ? 'used' : 'unused', 'unused', 'with the lowest usage count')
		  if $before == 0;
		for my $name ('one', 'two')
		{
			my %shared = map { $_ => 1 } split / /, without_counts(in_buffers($node, $table{$name}));
			my @rest = grep { !$shared{$_} } 0 .. 699;
			push @kept, has_most($path{$name}, 'and the page cache has the rest', @rest);
		}
		last unless grep { $_->[0] < $_->[1] } @kept;
		note("attempt $attempt: $_->[0] of $_->[1], $_->[2]") for @kept;
	}
	cmp_ok($_->[0], '>=', $_->[1], $_->[2]) for @kept;
}

# ---------------------------------------------------------------------------
# Without the page cache, and relations of other kinds

$node->append_conf('postgresql.conf', "shared_buffers = 8192\npgbufprobe.os_cache = off\n");
ask($node, one_row_a_page('unlogged', 50, 'UNLOGGED'), 'one');
my $unlogged = $table{one} =~ s/relfilenode = \d+/'relfilenode = ' . ask($node, q{SELECT pg_relation_filenode('unlogged')}, 'one')/er;
my $session = $node->background_psql('one');
$session->query_safe('CREATE TEMPORARY TABLE temporary AS SELECT 1');
$node->restart;
$session->quit;
is_restored($node, 'once more');
use_blocks($node, 'one', 'pages', 0, 49, 1);
use_blocks($node, 'one', 'unlogged', 0, 9, 2);
my ($logged_before, $unlogged_before) = (in_buffers($node, $table{one}), in_buffers($node, $unlogged));
like($unlogged_before, qr/^0:\d .* 9:\d/, 'an unlogged table is in shared buffers');
$from = -s $node->logfile;
$node->restart;
is_restored($node, 'os_cache is off');
is(in_buffers($node, $table{one}), $logged_before, 'shared buffers are restored');
is(in_buffers($node, $unlogged), $unlogged_before, 'and so are those of an unlogged table');
unlike(log_since($node, $from), qr/ERROR|WARNING/, 'without an error');
$node->stop('immediate');
$node->start;
is_restored($node, 'a crash');
is(in_buffers($node, $unlogged), '', 'after a crash, an unlogged table is empty');
is(in_buffers($node, $table{one}) =~ /:/ ? 'some' : 'none', 'some', 'and others are restored');

# ---------------------------------------------------------------------------
# A second segment, of empty pages, as the first is from now on

my $segment_blocks = ask($node, "SELECT pg_size_bytes(current_setting('segment_size')) / $block_bytes");
SKIP:
{
	skip 'segments of more than 1 GB', 1 if $segment_blocks * $block_bytes > 1 << 30;

	$node->stop;
	truncate $path{one}, $segment_blocks * $block_bytes or die $!;
	append_to_file("$path{one}.1", "\0" x (300 * $block_bytes));
	chmod 0600, "$path{one}.1" or die $!;
	$node->start;
	is_restored($node, 'a long table');
	use_blocks($node, 'one', 'pages', $segment_blocks - 20, $segment_blocks + 29, 2);
	use_blocks($node, 'one', 'pages', $segment_blocks + 200, $segment_blocks + 299, 4);
	my $before = in_buffers($node, $table{one});
	like($before, qr/ @{[$segment_blocks - 1]}:2 $segment_blocks:2 .* @{[$segment_blocks + 299]}:4$/, 'blocks of both segments are in shared buffers');
	$node->restart;
	is_restored($node, 'two segments');
	is(in_buffers($node, $table{one}), $before, 'and are restored');
}

has_no_crash($node);
done_testing();
