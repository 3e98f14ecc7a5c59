# The checkup, for readers and for programs: the same topics, verdicts of a fixed set, answers that fit into a line, an
# action where one is needed, no promise about the future, and answers about the whole pool in every database.

use strict;
use warnings;

use Checkup;
use PageCache;
use Server;
use Test::More;

my @topics = ('size', 'pool', 'page lifetime', 'victim search', 'dirty victims', 'pool scans', 'cached twice', 'planner cache', 'memory');

my $node = start_server('main', "shared_buffers = 2048\n$no_background_writes");
ask($node, 'CREATE DATABASE other');
ask($node, 'CREATE EXTENSION pgbufprobe', $_) for 'postgres', 'other';
ask($node, one_row_a_page('pages', 1600) . 'CHECKPOINT');

# The rows are made as they have to be, or the test fails.
sub checked
{
	my ($what, $database) = @_;
	my $rows = checkup($node, $database);
	my @seen = sort { $rows->{$a}{order} <=> $rows->{$b}{order} } keys %$rows;
	my @odd = grep {
		my %row = %$_;
		!(     $row{says} =~ /^(fine|consider|change|unknown) [A-Z]/
			&& ($row{action} ne '') == ($row{verdict} ne 'fine')
			&& length($row{topic}) <= 14
			&& length($row{answer}) <= 72
			&& $row{answer} =~ /^\w.*[^.]\.$/
			&& $row{detail} =~ /^(|[A-Z0-9].*[^.]\.)$/
			&& "$row{answer}$row{action}$row{detail}" !~ /for ?ever|database|nan|infinity|\(null\)/i)
	} values %$rows;

	is_deeply(\@seen, \@topics, "$what: the topics");
	is_deeply(\@odd, [], "$what: the answers");
	note("$_->{topic}: $_->{answer} $_->{action} $_->{detail}") for @$rows{@seen};
	return $rows;
}

# ---------------------------------------------------------------------------
# A server that has just started, and has nothing to do

$node->restart;
my $rows = checked('idle', 'postgres');

my ($free) = $rows->{pool}{says} =~ /^fine NOT_FULL ([\d.]+) MB, 16 MB$/;
cmp_ok($free, '>', 8, 'idle: the pool is not full, by far');
is("$rows->{$_}{verdict} $rows->{$_}{action}", 'unknown SELECT pgbufprobe_start();', "idle, and nobody watches: $_") for qw(size memory);
is("$rows->{'page lifetime'}{says}$rows->{'page lifetime'}{detail}", 'fine NEVER_EVICTED',
	'idle: no page had to go, which is all that is said');

# ---------------------------------------------------------------------------
# A role with this function and nothing else

ask($node, 'CREATE ROLE plain LOGIN; GRANT EXECUTE ON FUNCTION pgbufprobe_checkup TO plain');
is(ask($node, q{SET ROLE plain; SELECT string_agg(topic, ' ') FROM pgbufprobe_checkup()}), "@topics",
	'a role needs no other privilege');

# ---------------------------------------------------------------------------
# All that is in the pool is in the page cache, too

# As far as the oracle knows.
sub read_all_files
{
	my @files = grep { -f && -s } glob $node->data_dir . '/{base/*,global}/*';

	for my $try (1 .. 5)
	{
		read_file($_) for @files;
		return 1 if join('', cached_pages(@files)) !~ /0/;
	}
	return 0;
}

my $fill = q{SELECT sum(reads) FROM pgbufprobe_read_cost('pages', 10000)};

# In the larger unit of both answers.
sub mb_twice
{
	my ($mb, $unit) = $_[0]->{'cached twice'}{says} =~ / TWICE ([\d.]+) ([kM])B, \d+ MB/;
	return $unit eq 'k' ? $mb / 1024 : $mb;
}

sub mb_used { return ask($node, 'SELECT sum(buffers) / 128.0 FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NOT NULL') }

# The share of the pool's pages that belong to that table.
sub share_of_table
{
	return ask($node, q{SELECT sum(buffers) FILTER (WHERE relation = 'pages'::regclass)::float8 / sum(buffers) FROM pgbufprobe_relations()});
}

SKIP:
{
	my $trusted = ask($node, q{SELECT count(*) = count(cached_bytes) FROM pgbufprobe_os_cache('pages')}) eq 't';
	if (!$trusted)
	{
		like($rows->{'cached twice'}{says}, qr/^unknown UNKNOWN /,
			'where the page cache is not to be seen, that is unknown');
		like($rows->{'cached twice'}{detail}, qr/./, 'and the detail says why');
		skip 'the page cache is not to be seen', 25;
	}

	is($rows->{'cached twice'}{verdict}, 'fine', 'idle: a few pages that are cached twice do no harm');
	for my $buffers (2048, 16384)
	{
		$node->append_conf('postgresql.conf', "shared_buffers = $buffers");
		# More pages than are looked up, in the larger one.
		ask($node, 'INSERT INTO pages SELECT n.i, filler FROM (SELECT filler FROM pages LIMIT 1) p, generate_series(1, 8000) n(i); CHECKPOINT')
		  if $buffers > 4000;
		$node->restart;
		ask($node, $fill);
		skip 'pages do not stay in the page cache', $buffers < 4000 ? 24 : 14 if !read_all_files();

		for my $database ('postgres', 'other')
		{
			my ($twice, $share);

			# Under pressure, the kernel may drop a few in between; or all that was not used for some seconds.
			for (1 .. 10)
			{
				my $all = checked("$buffers buffers, cached twice, in $database", $database);
				$twice = $all->{'cached twice'};
				$share = mb_twice($all) / mb_used();
				last if $share > 0.97;
				read_all_files();
			}
			cmp_ok($share, '>', 0.97, "$buffers buffers, in $database: all that is in use");
			is($twice->{verdict}, 'consider', "$buffers buffers, in $database: something to look at, while no size is decided");
			my ($low, $high) = $twice->{detail} =~ sentence('MORE_TWICE_SAMPLE');
			ok($buffers < 4000 ? $twice->{detail} =~ sentence('MORE_TWICE_ALL') : $low - 1 < 100 * $share && 100 * $share < $high + 1,
				"$buffers buffers, in $database: how many pages were looked up")
			  or diag($twice->{detail});
		}
	}

	# And without the largest table.
	my $reason = why_not_evictable($node->data_dir);
	skip $reason, 4 if $reason;
	my $session = $node->background_psql('postgres');
	my ($file) = segment_files($node, $session, 'pages', 'main');
	$session->quit;
	my ($twice, $difference);
	for (1 .. 10)
	{
		read_all_files();
		skip 'pages do not leave the page cache', 4 if drop_files($file) > 0;
		my $all = checked('cached once', 'other');
		$twice = $all->{'cached twice'};
		$difference = abs(1 - share_of_table() - mb_twice($all) / mb_used());
		last if $difference < 0.03;
	}
	cmp_ok($difference, '<', 0.03, 'cached once: the share of all others');
	is($twice->{verdict}, 'fine', 'cached once: nothing to do');
}

$node->stop;
done_testing();
