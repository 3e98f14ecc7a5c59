# Relations are created and dropped while others ask about them. Every answer is rows or a clear error, and nobody
# waits for a lock.

use strict;
use warnings;

use ChangingTables;
use Server;
use Test::More;

my $pool = 2048;
my $seconds = 4;

my $node = start_server('main', "shared_buffers = $pool");
ask($node, q(
CREATE EXTENSION pgbufprobe;
CREATE TABLE kept (id int PRIMARY KEY, t text);
INSERT INTO kept SELECT i, repeat('k', 100) FROM generate_series(1, 10000) i;
CREATE DATABASE other;
));

# ---------------------------------------------------------------------------
# One at a time

# No lock is taken that outlasts the call, let alone kept.
is( ask($node, q(
		BEGIN;
		SELECT sum(buffers) > 0 FROM pgbufprobe_usagecount_histogram('kept');
		SELECT count(*) > 0 FROM pgbufprobe_relations();
		SELECT count(*) FROM pg_locks
		 WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation <> 'pg_locks'::regclass;
		COMMIT)), "t\nt\n0", 'neither function leaves a lock on a relation');

# Nor does it wait for one.
my $session = $node->background_psql('postgres');
$session->set_query_timer_restart;
$session->query_safe('BEGIN; LOCK TABLE kept IN ACCESS EXCLUSIVE MODE;');
is( ask($node, q(
		SET lock_timeout = '10 s';
		SELECT sum(buffers) > 0 FROM pgbufprobe_usagecount_histogram('kept'))),
	't', 'a locked table is counted without waiting');
is( ask($node, q(
		SET lock_timeout = '10 s';
		SELECT sum(buffers) > 0 FROM pgbufprobe_relations() WHERE relation = 'kept'::regclass)),
	't', 'and listed');
$session->query_safe('COMMIT');

# The other session's temporary table is in its local buffers.
$session->query_safe('CREATE TEMP TABLE theirs AS SELECT generate_series(1, 1000)');
my $theirs = $session->query_safe(q{SELECT 'theirs'::regclass::oid});
has_error($node, "SELECT * FROM pgbufprobe_usagecount_histogram($theirs)", qr/42809: relation "theirs" is temporary/,
	q{another session's temporary table is refused});
is( ask($node, "SELECT count(*) FROM pgbufprobe_relations() WHERE relation = $theirs"),
	0, 'and not listed');

# Of a mapped catalog, only the map knows the file; it is another one after this.
my $catalog = q{
	WITH mine AS MATERIALIZED (SELECT sum(buffers) AS n FROM pgbufprobe_usagecount_histogram('pg_class')),
	     oracle AS MATERIALIZED (SELECT count(*) AS n FROM pg_buffercache
	                              WHERE relfilenode = (SELECT pg_relation_filenode('pg_class')))
	SELECT mine.n = oracle.n AND mine.n > 0 FROM mine, oracle};
SKIP:
{
	skip 'this server has no pg_buffercache', 1 unless create_if_available($node, 'pg_buffercache');
	$session->query_safe($catalog);
	ask($node, 'VACUUM FULL pg_class');
	is($session->query_safe($catalog), 't', 'a mapped catalog is found again in its new file');
}

# Pages of another database are listed under its name. Its catalogs have files
# of the same number as those of this one.
ask($node, 'CREATE TABLE there AS SELECT generate_series(1, 1000)', 'other');
my $file = ask($node, q{SELECT pg_relation_filenode('there')}, 'other');
is( $session->query_safe(
		"SELECT buffers > 0 FROM pgbufprobe_relations()
		  WHERE database = 'other' AND relfilenode = $file AND fork = 'main'"),
	't', 'a relation of another database is listed');
is( $session->query_safe(
		q{SELECT count(*) > 1, count(relation) FROM pgbufprobe_relations() WHERE database = 'other'}),
	't|0', 'but none is given the name of one of this database');
ask($node, 'DROP DATABASE other');
is( $session->query_safe(q{SELECT count(*) FROM pgbufprobe_relations()
	WHERE NOT (database IS NULL OR database IN (SELECT datname FROM pg_database))}),
	0, 'a dropped database is listed no more');

# ---------------------------------------------------------------------------
# All at once

my $in_pool = "SELECT (NOT coalesce(sum(buffers) <= $pool, false))::integer FROM";
outcomes_are(
	$node, $seconds,
	[ 'histogram|42P01', 'histogram|adds up', 'relations|adds up' ],
	{ histogram => "$in_pool pgbufprobe_usagecount_histogram(one)", relations => "$in_pool pgbufprobe_relations()" });

$session->quit;
# The end of that session drops its temporary table, and psql does not wait for that.
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_locks WHERE pid <> pg_backend_pid()'), 'no lock is left');
has_no_crash($node);

$node->stop;
done_testing();
