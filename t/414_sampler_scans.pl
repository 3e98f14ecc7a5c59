# Large scans beside lookups.  A table of more than a quarter of the pool is read through a ring, which no look sees, and
# would not be so in a pool of more than four times its size.  What follows from that is unknown, not guessed.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

# would be read through a ring by a pool of 1.25 times the size, but not of 1.5
my $blocks = 700;

my $node = sampler_node('scans', "autovacuum = off\nlog_min_messages = debug1\n");
make_pages($node);
ask($node, keyed_pages('scanned', $blocks));
ask($node, 'SELECT pgbufprobe_history_reset()');

# Until it is true, there are lookups and these statements.
sub becomes
{
	my ($condition, $what, @statements) = @_;
	my $goes_on = patience();

	while ($goes_on->())
	{
		return pass($what) if ask($node, "SELECT $condition") eq 't';
		ask($node, 'CALL load(2)');
		ask($node, $_) for @statements;
	}
	diag(ask($node, 'SELECT size_factor, miss_ratio, self_error, note FROM pgbufprobe_advice(), pgbufprobe_status()'));
	return fail($what);
}

# Of the sizes from one to another, how many are known or unknown for a reason.
sub sizes { return "(SELECT count(*) FROM pgbufprobe_advice() WHERE size_factor BETWEEN $_[0] AND 4 AND $_[1])" }

my $known = 'miss_ratio IS NOT NULL';
my $scanned = q{note LIKE '%a pool of this size might hold the tables of large scans; today these are read past shared buffers%'};

# Each of these scans reads one block for one row, as scans of 600 blocks would read all.  The table has no more than a few.
ask($node, 'CREATE TABLE small AS SELECT i FROM generate_series(1, 600) i');
my $first_rows = 'DO $$ DECLARE found int; BEGIN FOR j IN 1 .. 6000 LOOP SELECT i INTO found FROM small LIMIT 1; END LOOP; END $$';

# the largest may take longer
becomes(sizes(0.5, $known) . ' >= 9', 'lookups alone: sizes are known', $first_rows);
becomes(sizes(1.5, "NOT $known AND $scanned") . ' = 4 AND ' . sizes(0.5, $known) . ' = 6',
	'with large scans: sizes that may hold the table are unknown, and smaller ones are known',
	$first_rows, ('SELECT count(*) FROM scanned') x 8);
is(ask($node, q{SELECT count(*) FROM pgbufprobe_advice() WHERE mark LIKE 'advised%' AND size_factor > 1}), 0, 'no larger size is advised');

# The history counts what scans have read, and from PostgreSQL 16 on, what of it took a buffer from the pool.
my $history = 'FROM pgbufprobe_history() WHERE scan_reads > 0';
if ($node->pg_version->major < 16)
{
	becomes_true($node, "sum(scan_reads) > $blocks AND count(scan_miss_ratio) = 0 AND count(scan_kept_ratio) = 0 $history",
		'the history has what scans have read');
}
else
{
	my $blocks_read = $node->pg_version->major < 18 ? 'reads' : 'read_bytes / 8192';
	my $io = "SELECT sum($blocks_read) AS reads, sum(hits) AS hits, sum($blocks_read) - sum(reuses) AS kept FROM pg_stat_io
		WHERE object = 'relation' AND context = 'bulkread'";
	becomes_true($node, "abs(sum(scan_reads) - min(io.reads)) <= 0.1 * min(io.reads)
			AND abs(sum(scan_reads / scan_miss_ratio) - min(io.reads + io.hits)) <= 0.1 * min(io.reads + io.hits)
			AND abs(sum(scan_reads * scan_kept_ratio) - min(io.kept)) <= 0.1 * min(io.reads)
		FROM pgbufprobe_history(), ($io) AS io WHERE scan_reads > 0", 'the history has what scans have read, found and kept');
}

# Rows that an index finds one after the other share blocks, so that there are more of them than blocks that all have read.
ask($node, "CREATE TABLE ordered AS SELECT i, repeat('x', 1000) AS filler FROM generate_series(1, 7 * $blocks) AS i");
ask($node, $_) for 'CREATE INDEX ON ordered (i)', 'VACUUM ANALYZE ordered';
becomes("(SELECT min(heap_blks_read) FILTER (WHERE relname = 'ordered') > 20 * $blocks
		AND (SELECT sum(scan_reads) FROM pgbufprobe_history()) > 0.8 * sum(heap_blks_read)
	FROM pg_statio_user_tables WHERE relname IN ('scanned', 'ordered'))",
	'scans are counted beside rows that an index finds in the same blocks',
	('DO $$ BEGIN
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_seqscan = off;
		FOR j IN 1 .. 30 LOOP PERFORM count(filler) FROM ordered WHERE i <= 700; END LOOP;
		SET LOCAL enable_bitmapscan = off;
		SET LOCAL enable_seqscan = on;
		PERFORM count(filler) FROM ordered;
	END $$') x 8);

# The pool knows pages by the file, which is another one after TRUNCATE, and only the catalogs know it.
# At once, so that the statistics never say that it is empty.
ask($node, "BEGIN; TRUNCATE scanned; INSERT INTO scanned SELECT i, repeat('x', 5000) FROM generate_series(1, $blocks) i; COMMIT");
my $file = ask($node, q{SELECT format('table %s of database %s has file %s', c.oid, d.oid, c.relfilenode)
	FROM pg_class c, pg_database d WHERE relname = 'scanned' AND datname = current_database() AND c.relfilenode <> c.oid});
my $goes_on = patience();
my $found = 0;
while (!$found && $goes_on->())
{
	ask($node, 'SELECT count(*) FROM scanned');
	$found = slurp_file($node->logfile) =~ /\b\Q$file\E$/m;
}
ok($file ne '' && $found, 'the file of a scanned table is found after it was truncated');

done_testing();
