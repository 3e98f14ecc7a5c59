# Where the kernel does not give true counts, they are NULL and a notice says why: a file of another user, a filter
# on system calls, direct I/O. What is still known is returned.

use strict;
use warnings;

use CacheOracle;
use PageCache;
use Programs;
use Server;
use Test::More;

my $nblocks = 700;
my $page_bytes = run_or_die('getconf', 'PAGE_SIZE');

my $node = start_cache_server('main', 'shared_buffers = 16MB');
ask($node, one_row_a_page('pages', $nblocks) . one_row_a_page('replaced', 10));
my $session = $node->background_psql('postgres', on_error_stop => 0);
my ($file) = segment_files($node, $session, 'pages', 'main');
my ($replaced) = segment_files($node, $session, 'replaced', 'main');
my $path = $session->query_safe(q{SELECT pg_relation_filepath('replaced')});
my $block_bytes = $session->query_safe(q{SELECT current_setting('block_size')::integer});
$session->quit;
$node->stop;

sub asked { return answer_and_messages($node, @_) }

my $os_counts = 'bytes, cached_bytes, method';
my $notice = qr/^NOTICE:  00000: page cache state of .* is unavailable\nDETAIL:  .*/;

sub is_unknown
{
	my ($query, $answer, $reason, $what) = @_;
	my ($out, $err) = asked($query);

	is($out, $answer, "$what: counts are NULL");
	like($err, qr/$notice$reason/, "$what: a notice says why");
	is(scalar(() = $err =~ /NOTICE/g), 1, "$what: once");
	return;
}

# Of a file alone, by these methods.
sub is_unknown_by
{
	my ($relation, $bytes, $reason, $what, @methods) = @_;

	for my $method (@methods)
	{
		my $used = $method eq 'auto' ? 'mincore' : $method;

		is_unknown("SELECT $os_counts FROM pgbufprobe_os_cache('$relation', method => '$method')", "$bytes||$used", $reason, "$what, $method");
	}
	return;
}
my $residency_counts = 'blocks, shared_blocks, os_blocks, both_blocks, both_blocks_low, both_blocks_high';

# ---------------------------------------------------------------------------
# A file that is not ours

# A large file that this process itself runs from, as it may read it.
sub find_foreign_file
{
	open my $maps, '<', '/proc/self/maps' or return;
	my %files = map { $_ => -s $_ } grep { -f $_ && -r _ && !-w _ && !-o _ } map { m{ (/\S+)$} } <$maps>;
	my ($largest) = sort { $files{$b} <=> $files{$a} } keys %files;

	return $largest;
}

SKIP:
{
	my $foreign = find_foreign_file();
	skip 'this user may write every file', 1 unless defined $foreign;
	my $reason = why_not_evictable($foreign);
	skip "not a file for this: $reason", 1 if $reason;
	my $bytes = -s $foreign;
	my $pages = length cached_pages($foreign);
	my $blocks = int($bytes / $block_bytes);

	note("instead of a relation: $bytes bytes");
	is(cached_pages($foreign), '1' x $pages, 'mincore says of such a file that all of it is in memory');
	rename $replaced, "$replaced.kept" or die $!;
	symlink $foreign, $replaced or die $!;
	$node->start;

	is_unknown_by('replaced', $bytes, qr/neither own the file nor may write to it/, 'not ours', 'auto', 'mincore', cachestat_counts($file) ? 'cachestat' : ());
	is_unknown(
		"SELECT $residency_counts FROM pgbufprobe_residency('replaced') WHERE fork = 'main'",
		"$blocks|0||||", qr/neither own/, 'not ours, residency');
	is_unknown(
		q{SELECT count(*), max(shared_blocks), count(os_blocks), count(both_blocks) FROM pgbufprobe_residency('replaced', 5) WHERE fork = 'main'},
		'5|0|0|0', qr/neither own/, 'not ours, residency in buckets');
	is_unknown(
		'SELECT shared_bytes > 0, os_bytes, both_bytes, duplicate_fraction FROM pgbufprobe_double_buffering',
		't|||', qr/neither own/, 'not ours, database');
	is((asked('SELECT count(*) FROM pgbufprobe_residency() WHERE os_blocks IS NULL'))[0], 1, 'all other relations are known');
	has_error($node, q{SELECT * FROM pgbufprobe_read_cost('replaced')}, qr/42501: could not open file "$path": Permission denied/,
		'the server does not read it either');

	$node->stop;
	unlink $replaced or die $!;
	rename "$replaced.kept", $replaced or die $!;
}

# ---------------------------------------------------------------------------
# A system call that is forbidden, or that the kernel does not have

my $launcher = build_program('forbid');
my %names = (EPERM => 'Operation not permitted', ENOSYS => 'Function not implemented');

for my $error ('EPERM', 'ENOSYS')
{
  SKIP:
	{
		my $seen = `'$launcher' $error '@{[ build_program('cachestat_oracle') ]}' '$file' 2>&1`;
		skip "system calls cannot be filtered: $seen", 1 if $seen ne "$names{$error}\n";

		start_through($node, $launcher, $error);
		my $pages = length cached_pages($file);
		# The oracle's own calls are not filtered, so it is the server's that are.
		$session = $node->background_psql('postgres', on_error_stop => 0);
		$session->set_query_timer_restart;
		$session->query_safe(q{SELECT count(*) FROM pages WHERE ctid < '(123,0)'});
		compare_caches(
			$node, $session, 'pages', 'main', $error,
			only_mincore => 1,
			reach => why_not_evictable($node->data_dir)
			? undef
			: sub {
				set_pages($file, 'drop', 0, $pages, 'read', 3, 100, 'read', $pages / 2, 31);
			});
		is( $session->query_safe(
				q{SELECT count(*) > 100 AND count(*) = count(os_blocks) FROM pgbufprobe_residency()}),
			't', "$error: all relations are known");
		is( $session->query_safe(
				q{SELECT both_bytes <= least(shared_bytes, os_bytes) FROM pgbufprobe_double_buffering}),
			't', "$error: so is the database");
		is($session->query_safe(
				q{SELECT sum(reads) FROM pgbufprobe_read_cost('pages', 100) WHERE tier IS NOT NULL}),
			100, "$error: so are reads");
		$session->quit;

		my $explicit = qq{SELECT $os_counts FROM pgbufprobe_os_cache('pages', method => 'cachestat')};
		if ($error eq 'EPERM')
		{
			is_unknown($explicit, "@{[ -s $file ]}||cachestat",
				qr/system call filter/, 'EPERM, cachestat');
		}
		else
		{
			my ($out, $err) = asked($explicit);
			like($err, qr/^ERROR:  0A000: .*\nDETAIL:  .*no cachestat.*\nHINT:  .*"mincore"/,
				'ENOSYS, cachestat: an error that says what to do');
			is($out, '', 'ENOSYS, cachestat: and no rows');
		}
		$node->stop;
	}
}

SKIP:
{
	my $seen = `'$launcher' mincore '@{[ build_program('mincore_oracle') ]}' '$file' 2>&1`;
	skip "system calls cannot be filtered: $seen", 1 if $seen ne "$file: Operation not permitted\n";

	my $reason = qr/system call filter, .* forbids mincore/;
	start_through($node, $launcher, 'mincore');
	is_unknown("SELECT $os_counts FROM pgbufprobe_os_cache('pages')",
		"@{[ -s $file ]}||mincore", $reason, 'no mincore');
	is_unknown("SELECT $residency_counts FROM pgbufprobe_residency('pages') WHERE fork = 'main'",
		"$nblocks|0||||", $reason, 'no mincore, residency');
	# The one that is left counts pages, but does not say which.
	my $query = qq{SELECT cached_bytes / $page_bytes FROM pgbufprobe_os_cache('pages', method => 'cachestat')};
	if (cachestat_counts($file))
	{
		my $pages;
		my $count = undisturbed(
			'no mincore',
			sub { return $pages = cached_pages($file) },
			sub { return ask($node, $query) });
		is($count, $pages =~ tr/1//, 'no mincore: cachestat counts');
	}
	$node->stop;
}

# ---------------------------------------------------------------------------
# Reads past the page cache

SKIP:
{
	skip 'no debug_io_direct before 16', 1 if $node->pg_version->major < 16;
	$node->append_conf('postgresql.conf', "debug_io_direct = 'data'");
	skip 'direct I/O does not work here', 1 unless $node->start(fail_ok => 1);

	my $reason = qr/bypasses the page cache/;

	is_unknown_by('pages', -s $file, $reason, 'direct I/O', 'auto', 'mincore', 'cachestat');
	is_unknown(
		q{SELECT count(*) > 0, bool_and(os_blocks IS NULL AND shared_blocks <= blocks) FROM pgbufprobe_residency()},
		't|t', $reason, 'direct I/O, residency');
	is_unknown(
		q{SELECT count(*), count(os_blocks), count(both_blocks) FROM pgbufprobe_residency('pages', 5) WHERE fork = 'main'},
		'5|0|0', $reason, 'direct I/O, residency in buckets');
	is_unknown(
		q{SELECT tier, reads FROM pgbufprobe_read_cost('pages', 100)},
		'|100', $reason, 'direct I/O, reads');
	my ($out, $err) = asked(q{SELECT tier, reads FROM pgbufprobe_read_cost('pages', 100000)});
	my %tiers = map { split /\|/ } split /\n/, $out;
	is_deeply(\%tiers, { shared_buffers => 100, '' => $nblocks - 100 },
		'direct I/O: what is in shared buffers is known all the same');
	$node->stop;
}

has_no_crash($node);

done_testing();
