# Relations that are truncated, cut, dropped and rewritten, and written to, while
# they are looked at: every answer is rows that add up or a clear error. Nobody
# waits: neither who looks, for a lock on the relation, nor who changes it.

use strict;
use warnings;

use IPC::Run;
use PageCache;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = 8;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q(
shared_buffers = 16MB
autovacuum = off
checkpoint_timeout = 30s
max_wal_size = 128MB
fsync = off
));
$node->start;
$node->safe_psql(
	'postgres', q(
CREATE EXTENSION pgbufprobe;
CREATE TABLE kept (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO kept SELECT i, repeat('k', 100) FROM generate_series(1, 10000) i;
VACUUM kept;
));

# Every call, what of its rows must hold, and how many there are of a table that
# nobody touches.
my $adds_up = 'shared_blocks + os_blocks - both_blocks + neither_blocks = blocks
	AND both_blocks <= least(shared_blocks, os_blocks) AND shared_dirty_blocks <= shared_blocks
	AND os_blocks + os_partial_blocks <= blocks AND neither_blocks >= 0 AND trustworthy';
my %calls = (
	'os_cache' => [ 'pgbufprobe_os_cache(%s)',
		'cached_pages <= os_pages AND dirty_pages <= cached_pages AND trustworthy' ],
	'os_cache, mincore' => [ q{pgbufprobe_os_cache(%s, method => 'mincore')},
		'cached_pages <= os_pages AND trustworthy' ],
	'residency' => [ 'pgbufprobe_residency(%s)', $adds_up ],
	'residency of all' => [ 'pgbufprobe_residency()', $adds_up ],
	'map' => [ 'pgbufprobe_residency_map(%s, 9)',
		'both_blocks <= least(shared_blocks, os_blocks)
		 AND greatest(shared_blocks, os_blocks) <= last_block - first_block + 1' ],
	'view' => [ 'pgbufprobe_double_buffering',
		'shared_bytes + os_bytes - both_bytes = distinct_bytes AND duplicate_fraction BETWEEN 0 AND 1 AND trustworthy' ]);

# The rows of a call about a relation, and those of them that are wrong.
sub judged
{
	my ($call, $relation) = @_;
	my ($function, $holds) = @{ $calls{$call} };

	return sprintf "SELECT count(*), count(*) FILTER (WHERE NOT coalesce($holds, false)) FROM $function",
	  $function =~ /%s/ ? $relation : ();
}

# ---------------------------------------------------------------------------
# One at a time

# By OID: a name is looked up before, which may wait.
my $session = $node->background_psql('postgres');
my $kept = $session->query_safe(q{SELECT 'kept'::regclass::oid});

$session->query_safe('BEGIN; LOCK TABLE kept IN ACCESS EXCLUSIVE MODE');
for my $call (sort keys %calls)
{
	like(
		$node->safe_psql(
			'postgres',
			"SET lock_timeout = '10 s'; SET statement_timeout = '60 s'; " . judged($call, $kept)),
		qr/^[1-9]\d*\|0$/,
		"$call does not wait for an exclusive lock");
}
is($node->safe_psql('postgres', q{SET lock_timeout = '10 s'; SELECT pgbufprobe_os_advise('kept', 'willneed') > 0}),
	't', 'nor does advice');
my ($rc, $out, $err) = $node->psql('postgres',
	q{SET lock_timeout = '100 ms'; SELECT * FROM pgbufprobe_read_cost('kept')});
like($err, qr/ERROR:  canceling statement due to lock timeout/,
	'reads through the pool do, as they need the relation to stay');
$session->query_safe('ROLLBACK');

# In a transaction that has looked at everything, nothing remains locked.
$session->query_safe('BEGIN');
like($session->query_safe(judged($_, $kept)), qr/\|0$/, "$_, in a transaction")
  for sort keys %calls;
is( $session->query_safe(
		"SELECT string_agg(relation::regclass::text, ' ') FROM pg_locks
		  WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation = ANY(
			ARRAY(SELECT oid FROM pg_class WHERE relname LIKE 'kept%'))"),
	'', 'no lock on the relation remains');
is( $node->safe_psql('postgres',
		q{SET lock_timeout = '10 s'; ALTER TABLE kept ADD COLUMN more integer; VACUUM FULL kept; TRUNCATE kept;
		  INSERT INTO kept SELECT i, repeat('k', 100) FROM generate_series(1, 10000) i}),
	'', 'others can change it as they like');
is($session->query_safe("SELECT blocks > 0 FROM pgbufprobe_residency($kept) WHERE fork = 'main'"),
	't', 'and the same transaction sees the new file');
$session->query_safe('COMMIT');

# ---------------------------------------------------------------------------
# All at once

sub script
{
	my ($name, $content) = @_;
	my $path = $node->basedir . "/$name.sql";

	append_to_file($path, $content);
	return $path;
}

# Each client has tables of its own. VACUUM at the end cuts the file in use, all
# others make a new one.
my $ddl = script(
	'ddl', q{\set n random(1, 4) + 10 * :client_id
DROP TABLE IF EXISTS ddl:n;
CREATE TABLE ddl:n (id int PRIMARY KEY, t text) WITH (autovacuum_enabled = off);
INSERT INTO ddl:n SELECT i, repeat('d', 1000) FROM generate_series(1, 3000) i;
DELETE FROM ddl:n WHERE id > 10;
VACUUM ddl:n;
VACUUM FULL ddl:n;
TRUNCATE ddl:n;
INSERT INTO ddl:n SELECT i, repeat('d', 1000) FROM generate_series(1, 100) i;
});

my $attempts = join "\n", map {
	my $judged = judged($_, 'one');

	"			BEGIN
				$judged INTO n, wrong;
				result := CASE WHEN wrong = 0 THEN 'adds up' ELSE 'is wrong' END;
			EXCEPTION WHEN OTHERS THEN
				n := NULL;
				result := SQLSTATE;
			END;
			INSERT INTO outcomes VALUES ('$_', result, n);"
} sort keys %calls;

# Looks at each table and index that was there a moment ago, and notes what comes
# of it.
my $look = script(
	'look', qq{
CREATE TEMP TABLE outcomes (call text COLLATE "C", outcome text, n bigint);
DO \$\$
DECLARE
	until timestamptz := clock_timestamp() + '$seconds s';
	asked oid[];
	one oid;
	n bigint;
	wrong bigint;
	result text;
BEGIN
	WHILE clock_timestamp() < until LOOP
		SELECT array_agg(oid) INTO asked FROM pg_class WHERE relname LIKE 'ddl%';
		PERFORM pg_sleep(0.005);
		FOREACH one IN ARRAY coalesce(asked, '{}') LOOP
$attempts
		END LOOP;
		INSERT INTO outcomes SELECT 'lock', mode FROM pg_locks
		 WHERE pid = pg_backend_pid() AND relation = ANY (asked);
		COMMIT;
	END LOOP;
END \$\$;
SELECT call, outcome FROM outcomes GROUP BY 1, 2 ORDER BY 1, 2;
\\warn answers, and those without rows
SELECT count(*), count(*) FILTER (WHERE n = 0) FROM outcomes \\g /dev/stderr
});

# The same in a load of writes, each row judged; where one is wrong, a division
# by zero ends the run.
my $probe = script(
	'probe',
	join '',
	map {
		my $judged = judged($_, q{'pgbench_accounts'});
		$judged =~ s/\s+/ /g;
		"SELECT 1 / (count = 0)::integer FROM ($judged) AS j(n, count);\n"
	} sort keys %calls);

$node->command_ok([ 'pgbench', '-i', '-q', '-s', '3', $node->connstr('postgres') ],
	'pgbench has made its tables');

sub start_pgbench
{
	my ($name, @options) = @_;
	my $run = { name => $name, out => '' };

	$run->{run} = IPC::Run::start(
		[ 'pgbench', '-n', '-T', $seconds, @options, $node->connstr('postgres') ],
		'>', \$run->{out},
		'2>&1', IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $run;
}

my @expected = map { /all|view/ ? "$_|adds up" : ("$_|42P01", "$_|adds up") } sort keys %calls;
my (%seen, %transactions);

# Again, until every call has met all that it can: a slow machine needs longer.
for my $round (1 .. 10)
{
	my @runs = (
		start_pgbench('ddl', '-c', '2', '-f', $ddl),
		start_pgbench('load', '-c', '2', '-N'),
		start_pgbench('probe', '-c', '1', '-f', $probe));
	my $looking = { out => '', err => '' };
	my $aborted = 0;

	$looking->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-f', $look, '-d', $node->connstr('postgres') ],
		'>', \$looking->{out},
		'2>', \$looking->{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$looking->{run}->finish;
	$seen{$_} = 1 for split /\n/, $looking->{out};
	like($looking->{err}, qr/\Aanswers, and those without rows\n\d+\|\d+\n\z/, 'there is no other error');
	note($looking->{err});
	for my $run (@runs)
	{
		ok($run->{run}->finish, "$run->{name}: no client was aborted") or $aborted = 1, diag($run->{out});
		$transactions{ $run->{name} } += $run->{out} =~ /actually processed: (\d+)/ ? $1 : 0;
	}
	last if $aborted || keys %seen >= @expected && !grep { $_ <= 3 } values %transactions;
}
is_deeply([ sort keys %seen ], [ sort @expected ],
	'a relation has rows that add up, or is said not to exist any more; no lock remains');
for my $name (sort keys %transactions)
{
	cmp_ok($transactions{$name}, '>', 3, "$name: ran again and again");
	note("$name: $transactions{$name} transactions");
}

$session->quit;
is( $node->safe_psql('postgres', 'SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()'),
	0, 'no lock is left');
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP:|terminated by signal|Bus error/, 'no process has crashed');
unlike($log, qr/temporary file leak|were not closed|leaked/i, 'nor left a file open');

$node->stop;
done_testing();
