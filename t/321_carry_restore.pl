# A map says what pg_buffercache and mincore say, to the block and the usage count. After a restart, a restore brings
# back the same blocks with the same usage counts; it fills free buffers only, and evicts nothing.

use strict;
use warnings;

use CacheMap;
use CarryOver qw(use_blocks);
use PageCache;
use Server;
use Test::More;

my $nblocks = 800;
my $node = start_cache_server('main', 'shared_buffers = 2048');
my $has_buffercache = create_if_available($node, 'pg_buffercache');
plan skip_all => 'no pg_buffercache, with which the results are compared' unless $has_buffercache;
my $has_free_list = $node->pg_version->major < 19;

ask($node, one_row_a_page('pages', $nblocks) . one_row_a_page('others', 300) . 'VACUUM pages, others; CHECKPOINT;
	CREATE TABLE kept (label text PRIMARY KEY, map bytea)');
my $block_bytes = ask($node, 'SHOW block_size');
my $page_bytes = run_or_die('getconf', 'PAGE_SIZE');
my $restore = 'SELECT requested, already_present, read, skipped FROM pgbufprobe_cache_restore';

# Sessions come and go, unless their catalog reads would matter.
my $session;

sub asked
{
	my ($query) = @_;
	return $session ? $session->query_safe($query) : ask($node, $query);
}

# "block:usage count" of all blocks of a relation in shared buffers.
sub in_buffers
{
	my ($relation) = @_;
	return asked("SELECT coalesce(string_agg(relblocknumber || ':' || usagecount, ' ' ORDER BY relblocknumber), '')
		FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('$relation') AND relforknumber = 0
		AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())");
}

# The blocks that either cache held.
sub cached_in
{
	my ($map) = @_;
	return scalar grep { defined $_->[0] || $_->[1] } @{ $map->{blocks} };
}

sub in_map
{
	my ($map) = @_;
	my @blocks = @{ $map->{blocks} };
	return join ' ', map { "$_:$blocks[$_][0]" } grep { defined $blocks[$_][0] } 0 .. $#blocks;
}

sub unused_buffers { return asked('SELECT count(*) FROM pg_buffercache WHERE relfilenode IS NULL') }

sub map_of { return read_map(asked("SELECT encode(map, 'hex') FROM pgbufprobe_cache_map('$_[0]', 'main')")) }

sub with_pool
{
	my ($buffers) = @_;
	$node->append_conf('postgresql.conf', "shared_buffers = $buffers");
	$node->restart;
	return;
}

# ---------------------------------------------------------------------------
# Maps

$node->restart;
is(in_map(map_of('pages')), '', 'after a start, no block is in shared buffers');
use_blocks($node, 'postgres', 'pages', 0, 99, 1);
use_blocks($node, 'postgres', 'pages', 100, 149, 2);
use_blocks($node, 'postgres', 'pages', 150, 199, 3);
use_blocks($node, 'postgres', 'pages', 500, 549, 9);
my $used = in_buffers('pages');
my @used = split / /, $used;
my $map = map_of('pages');
like($used, qr/^0:1 .* 99:1 100:2 .* 150:3 .* 500:5 .* 549:5$/, 'pg_buffercache has the blocks, with the usage counts that they must have');
is(in_map($map), $used, 'and so has the map');
is_deeply([ @$map{qw(nblocks block_bytes fork)} ], [ $nblocks, $block_bytes, 0 ], 'it says of what it is');
is( join('|', @$map{qw(system database relation)}),
	asked(q{SELECT concat_ws('|', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()), 'pages'::regclass::oid)
		FROM pg_control_system()}), 'and of which relation');
is(scalar @{ $map->{blocks} }, $nblocks, 'and has all blocks');
is( ask($node, q{SELECT a.map = one.map FROM pgbufprobe_cache_map() a, pgbufprobe_cache_map('pages', 'main') one
		WHERE a.relation = 'pages'::regclass AND a.fork = 'main'}),
	't', 'the maps of the database are the same');

SKIP:
{
	skip 'the state of the page cache is unknown here', 1 unless $map->{os_known};
	$session = $node->background_psql('postgres');
	my ($file) = segment_files($node, $session, 'pages', 'main');
	my $per_block = $block_bytes / $page_bytes;
	my $held;
	my $states = sub
	{
		my $pages = cached_pages($file);
		return $held = join '', map { substr($pages, $_ * $per_block, $per_block) =~ /^1+$/ ? 1 : 0 } 0 .. $nblocks - 1;
	};
	my $mapped = undisturbed(
		'a map', $states,
		sub { join '', map { $_->[1] } @{ map_of('pages')->{blocks} } },
		reach => sub
		{
			set_pages($file, 'drop', 0, $nblocks * $per_block, 'read', 10 * $per_block, 30 * $per_block)
			  unless why_not_evictable($file);
		});
	is($mapped, $held, 'the page cache is mapped as mincore has it') if defined $mapped;
	$session->quit;
	undef $session;
}

ask($node, q{INSERT INTO kept SELECT 'used', map FROM pgbufprobe_cache_map('pages', 'main')});
my $kept = q{(SELECT map FROM kept WHERE label = 'used')};

# ---------------------------------------------------------------------------
# Restored

$node->restart;
is(in_buffers('pages'), '', 'after a restart, no block is there');
is(ask($node, "$restore('pages', $kept, target => 'shared_buffers')"), '250|0|250|0', 'the restore reads all blocks');
is(in_buffers('pages'), $used, 'the same blocks are there again, with the same usage counts');
is(ask($node, "$restore('pages', $kept, target => 'shared_buffers')"), '250|250|0|0', 'a second restore finds them');
is(in_buffers('pages'), $used, 'and changes nothing');

use_blocks($node, 'postgres', 'pages', 0, 9, 3);
my $more = in_buffers('pages');
like($more, qr/^0:4 .* 9:4 10:1 /, 'some are used more often');
ask($node, "$restore('pages', $kept, target => 'shared_buffers')");
is(in_buffers('pages'), $more, 'and keep the higher usage count');

$node->restart;
use_blocks($node, 'postgres', 'pages', 500, 509, 1);
is(ask($node, "$restore('pages', $kept, target => 'shared_buffers')"), '250|10|240|0', 'what sessions have loaded is present');
is(in_buffers('pages'), $used, 'and gets the usage count of the map, if that is higher');

SKIP:
{
	my $reason = $map->{os_known} ? why_not_evictable($node->data_dir) : 'the state of the page cache is unknown here';
	skip $reason, 6 if $reason;

	$session = $node->background_psql('postgres');
	my ($file) = segment_files($node, $session, 'pages', 'main');
	my $of_all = q{(SELECT map FROM kept WHERE label = 'all')};
	asked(q{INSERT INTO kept VALUES ('all', NULL)});
	# The kernel may drop pages before the map is taken.
	ok( wait_for
		{
			read_file($file);
			asked(q{UPDATE kept SET map = pages.map FROM pgbufprobe_cache_map('pages', 'main') pages WHERE label = 'all'});
			cached_in(read_map(asked("SELECT encode($of_all, 'hex')"))) == $nblocks;
		}, 'a map has all blocks');
	is(drop_files($file), 0, 'the file is dropped from the page cache');
	is(bring_back(sub { asked("$restore('pages', $of_all, target => 'os_cache')") }, $file), 0, 'the page cache has it again');
	$session->quit;
	undef $session;

	# What is in shared buffers already is not read again, so each attempt begins with nothing in memory.
	my $undropped;
	is( bring_back(
			sub
			{
				$node->stop;
				$undropped = drop_files($file);
				$node->start;
				ask($node, "$restore('pages', $of_all)");
			}, $file), 0, 'both caches: the page cache has all of it');
	is($undropped, 0, 'the file was dropped while the server was stopped');
	is(in_buffers('pages'), $used, 'and shared buffers have what they had');
}

# ---------------------------------------------------------------------------
# Into a smaller pool

with_pool(400);
$session = $node->background_psql('postgres');
# Once before, so that what the session reads of the catalog is there.
asked("$restore('others', (SELECT map FROM pgbufprobe_cache_map('others', 'main')))");
asked("SELECT $kept");
$_->() for \&unused_buffers, sub { in_buffers('pages') };
use_blocks($node, 'postgres', 'others', 0, 99, 1);
my $others = in_buffers('others');
my $free = unused_buffers();
my ($requested, $present, $read, $skipped) = split /\|/, asked("$restore('pages', $kept, target => 'shared_buffers')");
is("$requested|$present", '250|0', 'a smaller pool: all blocks are requested');
cmp_ok($read, '<', 250, 'but there are not enough free buffers');
is($read + $skipped, 250, 'the rest is skipped');
is(in_buffers('others'), $others, 'no page of others was evicted, or aged');
is(unused_buffers(), 0, 'no buffer is left free') if $has_free_list;
my %usage = map { split /:/ } @used;
my @restored = map { s/:.*//r } split / /, in_buffers('pages');
my @best = sort { $usage{$b} <=> $usage{$a} || $a <=> $b } keys %usage;
is_deeply(\@restored, [ sort { $a <=> $b } @best[ 0 .. $read - 1 ] ], 'the most useful blocks came first');
note("$free buffers were free, $read blocks were read");
is( asked("SELECT requested = already_present + read AND skipped = 0 FROM pgbufprobe_cache_restore('pages', $kept)"),
	't', 'with both targets, the page cache gets the rest') if $map->{os_known};
$session->quit;
undef $session;

# ---------------------------------------------------------------------------
# Another relation by now

with_pool(2048);
ask($node, q{INSERT INTO pages SELECT i, repeat('x', current_setting('block_size')::integer / 16) FROM generate_series(1, 50) i; CHECKPOINT});
$node->restart;
is(ask($node, "$restore('pages', $kept, target => 'shared_buffers')"), '250|0|250|0', 'grown: the same blocks');
ask($node, q{DELETE FROM pages WHERE ctid >= '(520,0)'; VACUUM pages});
$node->restart;
is(ask($node, "$restore('pages', $kept, target => 'shared_buffers')"), '250|0|220|30', 'shrunk: blocks past the end are skipped');
ask($node, 'DELETE FROM pages WHERE id >= 300; VACUUM FULL pages; CHECKPOINT');
$node->restart;
my $length = ask($node, "SELECT pg_relation_size('pages') / $block_bytes");
my $within = grep { $_ < $length } keys %usage;
is(ask($node, "$restore('pages', $kept, target => 'shared_buffers')"),
	"250|0|$within|" . (250 - $within), 'rewritten: what applies by block number');
ask($node, 'TRUNCATE pages');
my $all = cached_in(read_map(ask($node, "SELECT encode($kept, 'hex')")));
is(ask($node, "$restore('pages', $kept)"), "$all|0|0|$all", 'truncated: everything is skipped');

# ---------------------------------------------------------------------------
# A relation that has got another identity

my $applies = 'SELECT requested > 0 AND already_present = requested FROM pgbufprobe_cache_restore';
ask($node, q{CREATE INDEX others_id ON others (id);
	INSERT INTO kept SELECT 'index', map FROM pgbufprobe_cache_map('others_id', 'main')});
like(
	($node->psql('postgres', q{SELECT pgbufprobe_cache_restore('others', map) FROM kept WHERE label = 'index'}))[2],
	qr/cache map does not belong to relation "others"/,
	'the map of another relation is refused');
my $oid = ask($node, q{SELECT 'others_id'::regclass::oid});
ask($node, 'REINDEX INDEX CONCURRENTLY others_id; SELECT count(*) FROM others WHERE id > 0');
isnt(ask($node, q{SELECT 'others_id'::regclass::oid}), $oid, 'REINDEX CONCURRENTLY replaces an index');
is( ask($node, qq{$applies('others_id', (SELECT map FROM kept WHERE label = 'index'), target => 'shared_buffers')}),
	't', 'whose map applies to the new one');

ask($node, q{INSERT INTO kept SELECT 'shared', map FROM pgbufprobe_cache_map('pg_database', 'main')});
my $dumped = ask($node, q{SELECT encode(map, 'hex') FROM kept WHERE label = 'shared'});
ask($node, 'CREATE DATABASE clone TEMPLATE postgres');
ask($node, 'CREATE TABLE elsewhere AS TABLE others; SELECT count(*) FROM elsewhere', 'clone');
is( $node->safe_psql('clone', qq{SELECT requested FROM pgbufprobe_cache_restore('elsewhere', $kept, target => 'shared_buffers')}),
	250, 'in another database, the name decides');
is( $node->safe_psql('clone', qq{$applies('pg_database', decode('$dumped', 'hex'), target => 'shared_buffers')}),
	't', 'the map of a shared relation applies in each database');
like(
	($node->psql('clone', qq{SELECT pgbufprobe_cache_restore('elsewhere', decode('$dumped', 'hex'))}))[2],
	qr/of relation pg_catalog\.pg_database, which/, 'but to no other relation');

# ---------------------------------------------------------------------------
# Interrupted

use_blocks($node, 'postgres', 'others', 0, 299, 1);
ask($node, q{INSERT INTO kept SELECT 'others', map FROM pgbufprobe_cache_map('others', 'main')});
$node->restart;
my $slow = start_psql($node, 'restoring', '-c',
	"$restore('others', (SELECT map FROM kept WHERE label = 'others'), mb_per_second => 1e-6)");
my $waiting = q{FROM pg_stat_activity WHERE application_name = 'restoring' AND wait_event_type = 'Extension'};
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $waiting"), 'a slow restore waits');
is(ask($node, "SELECT pg_cancel_backend(pid) $waiting"), 't', 'and is cancelled');
$slow->{run}->finish;
like($slow->{err}, qr/canceling statement due to user request/, 'which ends it');
is( ask($node, q{BEGIN; SET lock_timeout = '10 s'; LOCK TABLE others IN ACCESS EXCLUSIVE MODE; SELECT 'locked'; COMMIT}),
	'locked', 'and leaves no lock');

has_no_crash($node);
done_testing();
