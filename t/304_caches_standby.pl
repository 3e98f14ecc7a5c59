# The caches on a hot standby, whose own files are examined, and in a read-only transaction.

use strict;
use warnings;

use CacheOracle;
use PageCache;
use Server;
use Test::More;

my $nblocks = 600;

my $primary = start_cache_server('primary', 'shared_buffers = 16MB', allows_streaming => 1);
ask($primary, one_row_a_page('pages', $nblocks) . 'VACUUM pages; CHECKPOINT');

my $standby = init_standby($primary);
$standby->start;

my $session = $standby->background_psql('postgres');
$session->set_query_timer_restart;
my ($file) = segment_files($standby, $session, 'pages', 'main');
my $npages = length cached_pages($file);

# What is replayed comes into shared buffers, and there it is dirty.
ask($primary, q{UPDATE pages SET id = -id WHERE ctid < '(100,0)'});
$primary->wait_for_catchup($standby);

SKIP:
{
	my $reason = why_not_evictable($standby->data_dir);
	skip $reason, 1 if $reason;

	compare_caches(
		$standby, $session, 'pages', 'main',
		'standby',
		reach => sub {
			set_pages($file, 'drop', 0, $npages, 'read', 0, 31, 'read', $npages / 2, 100);
		});
	is($session->query_safe(q{SELECT sum(dirty) >= 100 FROM pgbufprobe_usagecount_histogram('pages')}),
		't', 'standby: replayed pages are dirty in shared buffers');
	is( advised_away(
			sub { read_file($file) },
			sub {
				is($session->query_safe(q{SELECT pgbufprobe_os_advise('pages', 'dontneed')}),
					-s $file, 'standby: advice is given');
			}, $file), 0, 'standby: and followed');
}

for my $fork ('fsm', 'vm')
{
	compare_caches($standby, $session, 'pages', $fork, "standby, $fork");
}
is( $session->query_safe(
		q{SELECT count(*) > 100, bool_and(shared_blocks + os_blocks - both_blocks <= blocks), count(*) = count(os_blocks)
			FROM pgbufprobe_residency()}), 't|t|t', 'standby: all relations are reported');
is( $session->query_safe(
		'SELECT database, both_bytes <= least(shared_bytes, os_bytes) FROM pgbufprobe_double_buffering'),
	'postgres|t', 'standby: so is the database');
is($session->query_safe(q{SELECT sum(reads) FROM pgbufprobe_read_cost('pages', 100) WHERE tier IS NOT NULL}),
	100, 'standby: so are reads');

# Nothing is written either where it could be. The first call may leave hints.
for my $call (
	q{pgbufprobe_os_cache('pages')}, 'pgbufprobe_residency()', 'pgbufprobe_residency(sample_fraction => 0.1)',
	q{pgbufprobe_residency('pages', 9)}, 'pgbufprobe_cache_map()', 'pgbufprobe_double_buffering',
	q{pgbufprobe_read_cost('pages')}, q{pgbufprobe_os_advise('pages', 'dontneed')})
{
	my $query = "SELECT count(*) > 0 FROM $call";

	is(ask($primary, "BEGIN READ ONLY; $query; COMMIT"), 't', "read-only transaction: $call");
	unlike(ask($primary, "$query; EXPLAIN (ANALYZE, WAL) $query"), qr/WAL:/, "no WAL: $call");
}

$session->quit;
$standby->stop;
$primary->stop;
has_no_crash($_, $_->name . ': no process has crashed') for $primary, $standby;

done_testing();
