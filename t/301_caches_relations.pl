# Every kind of relation and every fork: what both caches hold of it is compared with the oracles, and the whole
# database with the sum of its relations.

use strict;
use warnings;

use File::Glob 'bsd_glob';
use File::Spec;
use File::Temp;
use CacheOracle;
use PageCache;
use Server;
use Test::More;

my $node = start_cache_server('main', 'shared_buffers = 32MB');

# With modules of another version it may be relative.
my $elsewhere = File::Spec->rel2abs($node->basedir) . '/elsewhere';
mkdir $elsewhere or die $!;
ask($node, "CREATE TABLESPACE elsewhere LOCATION '$elsewhere'");

# Some rows are too long for a page, and do not compress.
ask($node, q{
CREATE TABLE kept (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO kept SELECT i, repeat('k', 400) FROM generate_series(1, 5000) i;
DELETE FROM kept WHERE id % 10 = 0;
CREATE INDEX kept_filler ON kept USING hash (filler);
CREATE TABLE kept_toasted (id integer, long text) WITH (autovacuum_enabled = off);
INSERT INTO kept_toasted
SELECT i, (SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, 1000) j) FROM generate_series(1, 30) i;
CREATE MATERIALIZED VIEW kept_copy AS SELECT * FROM kept;
CREATE UNLOGGED TABLE kept_unlogged (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO kept_unlogged SELECT * FROM kept;
CREATE TABLE kept_elsewhere (id integer PRIMARY KEY, filler text)
	WITH (autovacuum_enabled = off) TABLESPACE elsewhere;
INSERT INTO kept_elsewhere SELECT * FROM kept;
CREATE SEQUENCE kept_sequence;
CREATE TABLE kept_empty ();
CREATE TABLE parted (id integer PRIMARY KEY, filler text) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000);
CREATE TABLE part_2 PARTITION OF parted FOR VALUES FROM (1000) TO (10000) PARTITION BY RANGE (id);
CREATE TABLE part_2_1 PARTITION OF part_2 FOR VALUES FROM (1000) TO (5000);
CREATE UNLOGGED TABLE part_2_2 PARTITION OF part_2 FOR VALUES FROM (5000) TO (10000);
INSERT INTO parted SELECT * FROM kept;
CREATE UNLOGGED SEQUENCE kept_unlogged_sequence;
DO $$
DECLARE
	kind text;
	am text;
BEGIN
	FOREACH kind IN ARRAY ARRAY['logged', 'unlogged'] LOOP
		EXECUTE format('CREATE %s TABLE %s_indexed (id integer, place point, words tsvector) WITH (autovacuum_enabled = off)',
			nullif(kind, 'logged'), kind);
		EXECUTE format($i$INSERT INTO %s_indexed
			SELECT i, point(i, i), to_tsvector('simple', 'everywhere') FROM generate_series(1, 20000) i$i$, kind);
		FOREACH am IN ARRAY ARRAY['btree (id)', 'hash (id)', 'brin (id)', 'gist (place)', 'spgist (place)', 'gin (words)'] LOOP
			EXECUTE format('CREATE INDEX ON %s_indexed USING %s', kind, am);
		END LOOP;
		EXECUTE format('DELETE FROM %s_indexed WHERE id < 19000', kind);
	END LOOP;
END $$;
VACUUM logged_indexed, unlogged_indexed;
-- A B-tree reuses its deleted pages when transactions that may have seen them are over.
SELECT txid_current();
VACUUM logged_indexed, unlogged_indexed;
VACUUM kept, kept_toasted, kept_copy, kept_unlogged, kept_elsewhere;
});
ask($node, 'CREATE DATABASE other TABLESPACE elsewhere');
$node->safe_psql('other',
	'CREATE EXTENSION pgbufprobe; CREATE TABLE kept AS SELECT generate_series(1, 10000)');
ask($node, 'CREATE EXTENSION pg_buffercache', 'other')
  if ask($node, q{SELECT count(*) FROM pg_extension WHERE extname = 'pg_buffercache'}) > 0;
# With an empty pool.
$node->restart;

my $session = $node->background_psql('postgres');
# Not all that it is asked together has to be done within the timeout.
$session->set_query_timer_restart;
my $toast =
  $session->query_safe(q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'kept_toasted'::regclass});
my @fork_names = ('main', 'fsm', 'vm', 'init');
my $reason = why_not_evictable($node->data_dir);

# Each with the forks that it has, and a query that reads some of its pages. Those
# of a catalog are the server's affair.
my @relations = (
	[ 'table', 'kept', [ 'main', 'fsm', 'vm' ], 'SELECT count(*) FROM kept WHERE id < 2000' ],
	[ 'index', 'kept_pkey', ['main'], 'SELECT count(*) FROM kept WHERE id < 2000' ],
	[ 'hash index', 'kept_filler', ['main'], q{SELECT count(*) FROM kept WHERE filler = 'k'} ],
	[ 'TOAST table', $toast, [ 'main', 'fsm', 'vm' ],
		'SELECT sum(length(long || id)) FROM kept_toasted WHERE id < 20' ],
	[ 'index of a TOAST table', "${toast}_index", ['main'],
		'SELECT sum(length(long || id)) FROM kept_toasted WHERE id < 25' ],
	[ 'materialized view', 'kept_copy', [ 'main', 'fsm', 'vm' ], 'SELECT count(*) FROM kept_copy' ],
	[ 'unlogged table', 'kept_unlogged', [ 'main', 'fsm', 'vm', 'init' ],
		'SELECT count(*) FROM kept_unlogged WHERE id < 2000' ],
	[ 'index of an unlogged table', 'kept_unlogged_pkey', [ 'main', 'init' ],
		'SELECT count(*) FROM kept_unlogged WHERE id < 2000' ],
	[ 'table in a tablespace', 'kept_elsewhere', [ 'main', 'fsm', 'vm' ],
		'UPDATE kept_elsewhere SET id = -id WHERE id < 100' ],
	[ 'sequence', 'kept_sequence', ['main'], q{SELECT nextval('kept_sequence')} ],
	[ 'empty table', 'kept_empty', ['main'], 'SELECT count(*) FROM kept_empty' ],
	[ 'mapped catalog', 'pg_class', undef, 'SELECT count(*) FROM pg_class' ],
	[ 'mapped catalog', 'pg_proc', undef, 'SELECT count(*) FROM pg_proc' ],
	[ 'index of a mapped catalog', 'pg_class_oid_index', undef, 'SELECT count(*) FROM pg_class' ],
	[ 'shared catalog', 'pg_database', undef, 'SELECT count(*) FROM pg_database' ],
	[ 'catalog that is not mapped', 'pg_amop', undef, 'SELECT count(*) FROM pg_amop' ]);

# ---------------------------------------------------------------------------
# One relation

sub has_forks
{
	my ($session, $relation) = @_;

	return [ split /\n/,
		$session->query_safe("SELECT fork FROM pgbufprobe_residency('$relation')
			ORDER BY array_position('{main,fsm,vm,init}', fork)") ];
}

# Every third page of a fork in the page cache, where that can be made so.
sub thin_out
{
	my ($file) = @_;
	my $npages = length cached_pages($file);

	return if $reason;
	set_pages($file, 'drop', 0, $npages, map { ('read', 3 * $_, 1) } 0 .. $npages / 3);
	return;
}

for (@relations)
{
	my ($kind, $relation, $forks, $query) = @$_;

	$session->query_safe($query);
	$forks //= [ grep { segment_files($node, $session, $relation, $_) } @fork_names ];
	is_deeply(has_forks($session, $relation), $forks, "$kind $relation: its forks");
	for my $fork (@$forks)
	{
		my @files = segment_files($node, $session, $relation, $fork);

		compare_caches(
			$node, $session, $relation, $fork,
			"$kind $relation, $fork", reach => sub { thin_out($_) for @files });
	}
	for my $fork (@fork_names)
	{
		next if grep { $_ eq $fork } @$forks;
		for my $call ("os_cache('$relation', '$fork')", "cache_map('$relation', '$fork')")
		{
			has_error($node, "SELECT count(*) FROM pgbufprobe_$call", qr/\w+: relation "[^"]+" has no fork "$fork"/, "$kind $relation: $call is an error");
		}
	}
}
note("$reason: the pages were compared as they were") if $reason;

# The rows above were not all of the same kind. The kernel may have dropped all that was read some seconds ago, so a part is read
# again.
my ($kept) = segment_files($node, $session, 'kept', 'main');
is( scalar undisturbed(
		'kinds of relations',
		sub { return scalar cached_pages($kept) },
		sub {
			return $session->query_safe(
				q{SELECT bool_or(shared_blocks BETWEEN 1 AND blocks - 1), bool_or(shared_blocks + os_blocks - both_blocks < blocks),
						bool_or(both_blocks > 0)
					FROM pgbufprobe_residency() WHERE fork = 'main'});
		},
		reach => sub { read_file($kept) }),
	't|t|t', 'there are relations in both caches, in part of one, in neither');

# A mapped catalog gets another file.
ask($node, 'VACUUM FULL pg_class');
$session->query_safe('SELECT count(*) FROM pg_class');
compare_caches($node, $session, 'pg_class', 'main', 'mapped catalog in its new file');

# So does a table, seen by a session that knew the old one.
ask($node, 'VACUUM FULL kept');
is_deeply(has_forks($session, 'kept'), ['main'], 'a rewritten table has lost its forks');
compare_caches($node, $session, 'kept', 'main', 'rewritten table');

# In another database, which is in a tablespace.
my $there = $node->background_psql('other');
$there->query_safe('SELECT count(*) FROM kept');
compare_caches($node, $there, $_, 'main', "other database, $_") for 'kept', 'pg_class', 'pg_database';
$there->quit;

# ---------------------------------------------------------------------------
# Several relations

# Every fork that has a file is found. An index's free pages are recorded if its access method reuses them.
my (@with_file, %with_map);
for (split /\n/, $session->query_safe(q{
	SELECT c.oid, coalesce(amname, 'none'), pg_relation_filepath(c.oid) FROM pg_class c LEFT JOIN pg_am a ON a.oid = relam
	 WHERE relkind IN ('r', 'i', 't', 'm', 'S') AND relpersistence <> 't'}))
{
	my ($oid, $am, $path) = split /\|/;
	my @its_forks = grep { -e $node->data_dir . "/$path" . ($_ eq 'main' ? '' : "_$_") } @fork_names;

	push @with_file, map { "$oid $_" } @its_forks;
	$with_map{$am}{$_} = 1 for @its_forks;
}
is_deeply(
	[ sort split /\n/, $session->query_safe(q{SELECT relation::oid || ' ' || fork FROM pgbufprobe_residency()}) ],
	[ sort @with_file ], 'all forks that are there, and no others');
is_deeply([ map { "$_: " . join ' ', sort keys %{ $with_map{$_} } } sort keys %with_map ],
	[   'brin: fsm init main', 'btree: fsm init main', 'gin: fsm init main', 'gist: fsm init main', 'hash: init main',
		'heap: fsm init main vm', 'none: init main', 'spgist: fsm init main' ],
	'each access method has all the forks that it can have');

my $database = $session->query_safe('SELECT oid FROM pg_database WHERE datname = current_database()');

# The files of all relations.
sub all_files
{
	return grep { m{/\d+(_\w+)?(\.\d+)?$} }
	  map { bsd_glob($node->data_dir . "/$_") }
	  "base/$database/*", 'global/*', "pg_tblspc/*/*/$database/*";
}

# That two queries have the same rows, while no page of any relation comes or goes.
sub have_same_rows
{
	my ($one, $other, $what) = @_;
	my $query = "WITH one AS MATERIALIZED ($one), other AS MATERIALIZED ($other)
		SELECT 'one: ' || d::text FROM (TABLE one EXCEPT ALL TABLE other) d
		UNION ALL SELECT 'other: ' || d::text FROM (TABLE other EXCEPT ALL TABLE one) d";

	# The session's first use of a catalog reads it.
	$session->query_safe($query);
	my $difference;
	# As in compare_caches(), a large folio may be out of the page cache for a moment.
	for my $attempt (1 .. 3)
	{
		$difference = undisturbed(
			$what,
			sub { return join "\n", cached_pages(all_files()) },
			sub { return $session->query_safe($query) }) // return;
		last if $difference eq '';
		note("$what: differs in attempt $attempt: $difference");
	}
	is($difference, '', $what);
	return;
}

for my $tree (
	[ 'parted', 'part_1, part_2_1, part_2_2' ],
	[ 'part_2', 'part_2_1, part_2_2' ],
	[ 'parted_pkey', 'part_1_pkey, part_2_1_pkey, part_2_2_pkey' ])
{
	my ($root, $leaves) = @$tree;

	have_same_rows(
		"SELECT * FROM pgbufprobe_residency('$root')",
		"SELECT r.* FROM unnest('{$leaves}'::regclass[]) leaf, pgbufprobe_residency(leaf) r",
		"$root has the rows of its partitions");
}
have_same_rows(
	'SELECT * FROM pgbufprobe_residency()',
	q{SELECT r.* FROM pg_class c, pgbufprobe_residency(c.oid) r
	   WHERE relkind IN ('r', 'i', 't', 'm', 'S') AND relpersistence <> 't'},
	'the database has the rows of its relations');
is( $session->query_safe(
		q{SELECT count(*) FROM pgbufprobe_residency()
		   WHERE coalesce(shared_blocks + os_blocks - both_blocks > blocks OR both_blocks > least(shared_blocks, os_blocks), true)}),
	0, 'each of them adds up');
is( $session->query_safe(
		q{SELECT count(*) FROM
			(SELECT both_blocks, blocks, lag(both_blocks) OVER () AS previous_both, lag(blocks) OVER () AS previous
			   FROM pgbufprobe_residency()) r
		   WHERE (both_blocks, blocks) > (previous_both, previous)}),
	0, 'what is in both caches comes first, then the largest');
have_same_rows(
	q{SELECT database, shared_bytes, os_bytes, both_bytes,
			abs(duplicate_fraction - both_bytes::float8 / (shared_bytes + os_bytes - both_bytes)) < 0.0001
		FROM pgbufprobe_double_buffering},
	q{SELECT current_database(), sum(shared_blocks) * size, sum(os_blocks) * size, sum(both_blocks) * size, true
		FROM pgbufprobe_residency(), (SELECT current_setting('block_size')::integer AS size) s GROUP BY size},
	'the view has the sums of the database');
SKIP:
{
	skip 'no pg_buffercache', 1
	  unless $session->query_safe(q{SELECT count(*) FROM pg_extension WHERE extname = 'pg_buffercache'});
	have_same_rows(
		'SELECT shared_bytes FROM pgbufprobe_double_buffering',
		q{SELECT count(*)::numeric * current_setting('block_size')::integer FROM pg_buffercache
		   WHERE reldatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))},
		'shared buffers of this database are those of pg_buffercache');
}

# ---------------------------------------------------------------------------
# On a file system in memory, from which nothing can be dropped

SKIP:
{
	skip 'no tmpfs at /dev/shm that can be written', 3
	  if !-w '/dev/shm' || `stat -f -c %T /dev/shm` ne "tmpfs\n";
	my $memory = File::Temp->newdir(DIR => '/dev/shm');

	ask($node, "CREATE TABLESPACE memory LOCATION '$memory'");
	ask($node, one_row_a_page('kept_in_memory', 300, '', 'memory') . 'CHECKPOINT');
	compare_caches($node, $session, 'kept_in_memory', 'main', 'tmpfs');
	$session->query_safe(q{SELECT pgbufprobe_os_advise('kept_in_memory', 'dontneed')});
	is( $session->query_safe(
			q{SELECT cached_bytes = bytes FROM pgbufprobe_os_cache('kept_in_memory')}),
		't', 'tmpfs: all pages stay in memory, as reported');
	ask($node, 'DROP TABLE kept_in_memory');
	ask($node, 'DROP TABLESPACE memory');
}

$session->quit;
$node->stop;
has_no_crash($node);

done_testing();
