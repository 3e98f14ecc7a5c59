# Relations that come and go while they are asked about: every answer is rows
# or a clear error, and nobody has to wait for a lock.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $pool = 2048;
my $seconds = 4;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', qq(
shared_buffers = $pool
autovacuum = off
));
$node->start;
$node->safe_psql(
	'postgres', q(
CREATE EXTENSION pgbufprobe;
CREATE TABLE kept (id int PRIMARY KEY, t text);
INSERT INTO kept SELECT i, repeat('k', 100) FROM generate_series(1, 10000) i;
CREATE DATABASE other;
));

# ---------------------------------------------------------------------------
# One at a time

# No lock is taken that outlasts the call, let alone kept.
is( $node->safe_psql(
		'postgres', q(
		BEGIN;
		SELECT sum(buffers) > 0 FROM pgbufprobe_usagecount_histogram('kept');
		SELECT count(*) > 0 FROM pgbufprobe_relations();
		SELECT count(*) FROM pg_locks
		 WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation <> 'pg_locks'::regclass;
		COMMIT)),
	"t\nt\n0", 'neither function leaves a lock on a relation');

# Nor does it wait for one.
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN; LOCK TABLE kept IN ACCESS EXCLUSIVE MODE;');
is( $node->safe_psql(
		'postgres', q(
		SET lock_timeout = '10 s';
		SELECT sum(buffers) > 0 FROM pgbufprobe_usagecount_histogram('kept'))),
	't', 'a locked table is counted without waiting');
is( $node->safe_psql(
		'postgres', q(
		SET lock_timeout = '10 s';
		SELECT sum(buffers) > 0 FROM pgbufprobe_relations() WHERE relation = 'kept'::regclass)),
	't', 'and listed');
$session->query_safe('COMMIT');

# The other session's temporary table is in its local buffers.
$session->query_safe('CREATE TEMP TABLE theirs AS SELECT generate_series(1, 1000)');
my $theirs = $session->query_safe(q{SELECT 'theirs'::regclass::oid});
my ($rc, $out, $err) = $node->psql('postgres',
	"\\set VERBOSITY verbose\nSELECT * FROM pgbufprobe_usagecount_histogram($theirs)");
like($err, qr/ERROR:  42809: relation "theirs" is temporary/,
	q{another session's temporary table is refused});
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM pgbufprobe_relations() WHERE relation = $theirs"),
	0, 'and not listed');

# Of a mapped catalog, only the map knows the file; it is another one after this.
my $catalog = q{
	WITH mine AS MATERIALIZED (SELECT sum(buffers) AS n FROM pgbufprobe_usagecount_histogram('pg_class')),
	     oracle AS MATERIALIZED (SELECT count(*) AS n FROM pg_buffercache
	                              WHERE relfilenode = (SELECT pg_relation_filenode('pg_class')))
	SELECT mine.n = oracle.n AND mine.n > 0 FROM mine, oracle};
SKIP:
{
	skip 'this server has no pg_buffercache', 1
	  unless $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'});
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_buffercache');
	$session->query_safe($catalog);
	$node->safe_psql('postgres', 'VACUUM FULL pg_class');
	is($session->query_safe($catalog), 't',
		'a mapped catalog is found again in its new file');
}

# Pages of another database are listed under its name. Its catalogs have files
# of the same number as those of this one.
$node->safe_psql('other', 'CREATE TABLE there AS SELECT generate_series(1, 1000)');
my $file = $node->safe_psql('other', q{SELECT pg_relation_filenode('there')});
is( $session->query_safe(
		"SELECT buffers > 0 FROM pgbufprobe_relations()
		  WHERE database = 'other' AND relfilenode = $file AND fork = 'main'"),
	't', 'a relation of another database is listed');
is( $session->query_safe(
		q{SELECT count(*) > 1, count(relation) FROM pgbufprobe_relations() WHERE database = 'other'}),
	't|0', 'but none is given the name of one of this database');
$node->safe_psql('postgres', 'DROP DATABASE other');
is( $session->query_safe(q{SELECT count(*) FROM pgbufprobe_relations()
	WHERE NOT (database IS NULL OR database IN (SELECT datname FROM pg_database))}),
	0, 'a dropped database is listed no more');

# ---------------------------------------------------------------------------
# All at once

# Each client has tables of its own.
my $ddl = $node->basedir . '/ddl.sql';
append_to_file(
	$ddl, q{\set n random(1, 5) + 10 * :client_id
DROP TABLE IF EXISTS ddl:n;
CREATE TABLE ddl:n (id int PRIMARY KEY, t text);
INSERT INTO ddl:n SELECT i, repeat('d', 200) FROM generate_series(1, 500) i;
TRUNCATE ddl:n;
INSERT INTO ddl:n SELECT i, repeat('d', 200) FROM generate_series(1, 500) i;
VACUUM FULL ddl:n;
});

# Asks about each table and index that was there a moment ago, and notes what
# comes of it. By OID: a name would be looked up, and locked out, before.
my $ask = $node->basedir . '/ask.sql';
append_to_file(
	$ask, qq{
CREATE TEMP TABLE outcomes (function text, outcome text);
DO \$\$
DECLARE
	until timestamptz := clock_timestamp() + '$seconds s';
	asked oid[];
	one oid;
	result text;
BEGIN
	WHILE clock_timestamp() < until LOOP
		SELECT array_agg(oid) INTO asked FROM pg_class WHERE relname LIKE 'ddl%';
		PERFORM pg_sleep(0.01);
		FOREACH one IN ARRAY coalesce(asked, '{}') LOOP
			BEGIN
				SELECT CASE WHEN sum(buffers) <= $pool THEN 'rows' ELSE 'too many' END
				  INTO result FROM pgbufprobe_usagecount_histogram(one);
			EXCEPTION WHEN OTHERS THEN
				result := SQLSTATE;
			END;
			INSERT INTO outcomes VALUES ('histogram', result);
		END LOOP;
		BEGIN
			SELECT CASE WHEN sum(buffers) <= $pool THEN 'rows' ELSE 'too many' END
			  INTO result FROM pgbufprobe_relations();
		EXCEPTION WHEN OTHERS THEN
			result := SQLSTATE;
		END;
		INSERT INTO outcomes VALUES ('relations', result);
		INSERT INTO outcomes SELECT 'lock', mode FROM pg_locks
		 WHERE pid = pg_backend_pid() AND relation = ANY (asked);
		COMMIT;
	END LOOP;
END \$\$;
SELECT DISTINCT function, outcome FROM outcomes ORDER BY 1, 2;
});

my @expected = ('histogram|42P01', 'histogram|rows', 'relations|rows');
my @seen = ({}, {});

# Again, until they have met all that they can: a slow machine needs longer.
for my $round (1 .. 10)
{
	my $ddl_out = '';
	my $running = IPC::Run::start(
		[
			'pgbench', '-n', '-T', $seconds + 2, '-c', '2', '-f', $ddl,
			$node->connstr('postgres')
		],
		'>', \$ddl_out,
		'2>&1', IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	my @asking = map {
		my $asking = { out => '', err => '' };
		$asking->{run} = IPC::Run::start(
			[ 'psql', '-XAtq', '-f', $ask, '-d', $node->connstr('postgres') ],
			'>', \$asking->{out},
			'2>', \$asking->{err},
			IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
		$asking
	} @seen;

	for my $i (0 .. $#asking)
	{
		my $asking = $asking[$i];

		$asking->{run}->finish;
		is($asking->{err}, '', 'there is no other error');
		$seen[$i]{$_} = 1 for split /\n/, $asking->{out};
	}
	ok($running->finish, 'nobody else had an error') or diag($ddl_out), last;
	last unless grep { keys %$_ < @expected } @seen;
}
is_deeply([ sort keys %$_ ], \@expected,
	'a relation has rows, or is said not to exist any more, and no lock stays')
  for @seen;

$session->quit;
is( $node->safe_psql('postgres',
		'SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()'),
	0, 'no lock is left');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/,
	'no process has crashed');

$node->stop;
done_testing();
