# The checkup, for readers and for programs: the same questions under the same keys, verdicts of a fixed set, an
# action where one is needed, no promise about the future, and answers about the whole pool in every database.

use strict;
use warnings;

use PageCache;
use Server;
use Test::More;

my @keys = qw(size pool_full page_lifetime victim_cost dirty_victims scan_cost cached_twice planner_cache memory);

my $node = start_server('main', "shared_buffers = 2048\n$no_background_writes");
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, 'CREATE EXTENSION pgbufprobe') for 'postgres', 'other';
$node->safe_psql('postgres', one_row_a_page('pages', 1600) . 'CHECKPOINT');

# The rows by their keys. They are made as they have to be, or the test fails.
sub checkup
{
	my ($what, $database) = @_;
	my (%rows, @seen, @odd);

	for (split /\n/, $node->safe_psql($database, 'SELECT key, question, answer, value, unit, verdict, action, look_at FROM pgbufprobe_checkup()'))
	{
		my %row;
		@row{qw(key question answer value unit verdict action look_at)} = split /\|/, $_, -1;
		$rows{ $row{key} } = \%row;
		push @seen, $row{key};
		push @odd, $_
		  unless $row{verdict} =~ /^(fine|consider|change|unknown)$/
		  && ($row{action} ne '') == ($row{verdict} ne 'fine')
		  && $row{question} =~ /^[A-Z].*\?$/
		  && $row{answer} =~ /^[A-Z0-9].*\.$/
		  && $row{unit} ne ''
		  && $row{look_at} =~ /^pgbufprobe_\w+\(\)$/
		  && "$row{answer}$row{action}" !~ /for ?ever|database|nan|infinity|\(null\)/i
		  && ($row{verdict} ne 'unknown' || $row{value} eq '');
	}
	is("@seen", "@keys", "$what: the questions");
	is_deeply(\@odd, [], "$what: the answers");
	note("$_->{key}: $_->{answer} $_->{action}") for @rows{@seen};
	return \%rows;
}

# ---------------------------------------------------------------------------
# A server that has just started, and has nothing to do

$node->restart;
my $rows = checkup('idle', 'postgres');

like($rows->{pool_full}{answer}, qr/^No: \d+ (kB|MB) of 16 MB are free, and no page has been evicted since the server started\.$/, 'idle: the pool is not full');
cmp_ok($rows->{pool_full}{value}, '<', 0.5, 'idle: by far');
is("$rows->{$_}{verdict} $rows->{$_}{action}", 'unknown SELECT pgbufprobe_start();', "idle, and nobody watches: $_") for qw(size memory);
is("$rows->{page_lifetime}{verdict} $rows->{page_lifetime}{value}", 'fine ', 'idle: no page had to go');
is($rows->{page_lifetime}{answer}, 'No page has been evicted since the server started.', 'idle: which is all that is said');

# ---------------------------------------------------------------------------
# A role with this function and nothing else

$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN; GRANT EXECUTE ON FUNCTION pgbufprobe_checkup TO plain');
is($node->safe_psql('postgres', q{SET ROLE plain; SELECT string_agg(key, ' ') FROM pgbufprobe_checkup()}), "@keys",
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

# The share of the pool's pages that belong to that table.
sub share_of_table
{
	return $node->safe_psql('postgres',
		q{SELECT sum(buffers) FILTER (WHERE relation = 'pages'::regclass)::float8 / sum(buffers) FROM pgbufprobe_relations()});
}

SKIP:
{
	my $trusted = $node->safe_psql('postgres', q{SELECT bool_and(trustworthy) FROM pgbufprobe_os_cache('pages')}) eq 't';
	if (!$trusted)
	{
		is("$rows->{cached_twice}{verdict} $rows->{cached_twice}{value}", 'unknown ', 'where the page cache is not to be seen, that is unknown');
		like($rows->{cached_twice}{answer}, qr/^Unknown: ./, 'and the answer says why');
		skip 'the page cache is not to be seen', 25;
	}

	is($rows->{cached_twice}{verdict}, 'fine', 'idle: a few pages that are cached twice do no harm');
	for my $buffers (2048, 16384)
	{
		$node->append_conf('postgresql.conf', "shared_buffers = $buffers");
		# More pages than are looked up, in the larger one.
		$node->safe_psql('postgres', 'INSERT INTO pages SELECT n.i, filler FROM (SELECT filler FROM pages LIMIT 1) p, generate_series(1, 8000) n(i); CHECKPOINT')
		  if $buffers > 4000;
		$node->restart;
		$node->safe_psql('postgres', $fill);
		skip 'pages do not stay in the page cache', $buffers < 4000 ? 24 : 14 if !read_all_files();

		for my $database ('postgres', 'other')
		{
			my ($twice, $share);

			# Under pressure, the kernel may drop a few in between; or all that was not used for some seconds.
			for (1 .. 10)
			{
				my $all = checkup("$buffers buffers, cached twice, in $database", $database);
				$twice = $all->{cached_twice};
				$share = $twice->{value} / $all->{pool_full}{value};
				last if $share > 0.97;
				read_all_files();
			}
			cmp_ok($share, '>', 0.97, "$buffers buffers, in $database: all that is in use");
			is($twice->{verdict}, 'consider', "$buffers buffers, in $database: something to look at");
			my ($low, $high) = $twice->{answer} =~ /\(([\d.]+) to ([\d.]+) % of the pages in use, from a sample of \d+\)/;
			ok($buffers < 4000 ? $twice->{answer} =~ /\(all pages were checked\)/ : $low - 0.1 < 100 * $share && 100 * $share < $high + 0.1,
				"$buffers buffers, in $database: how many pages were looked up")
			  or diag($twice->{answer});
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
		my $all = checkup('cached once', 'other');
		$twice = $all->{cached_twice};
		$difference = abs((1 - share_of_table()) * $all->{pool_full}{value} - $twice->{value});
		last if $difference < 0.03;
	}
	cmp_ok($difference, '<', 0.03, 'cached once: the share of all others');
	is($twice->{verdict}, 'fine', 'cached once: nothing to do');
}

$node->stop;
done_testing();
