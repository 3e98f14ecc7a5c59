# Relations are truncated, cut, dropped, rewritten and written to while others ask about them. Every answer is rows
# that add up or a clear error. Neither side waits for the other.

use strict;
use warnings;

use ChangingTables;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $seconds = 8;

my $node = start_server('main', "shared_buffers = 16MB\ncheckpoint_timeout = 30s\nmax_wal_size = 128MB");
ask($node, q(
CREATE EXTENSION pgbufprobe;
CREATE TABLE kept (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO kept SELECT i, repeat('k', 100) FROM generate_series(1, 10000) i;
VACUUM kept;
));

# Every call, what of its rows must hold, and how many there are of a table that
# does not change.
my $adds_up = 'shared_blocks + os_blocks - both_blocks <= blocks AND both_blocks <= least(shared_blocks, os_blocks)
	AND both_blocks BETWEEN both_blocks_low AND both_blocks_high';
my %calls = (
	'os_cache' => [ 'pgbufprobe_os_cache(%s)', 'cached_bytes BETWEEN 0 AND bytes + 4095' ],
	'os_cache, mincore' => [ q{pgbufprobe_os_cache(%s, method => 'mincore')}, 'cached_bytes BETWEEN 0 AND bytes + 4095' ],
	'residency' => [ 'pgbufprobe_residency(%s)', $adds_up ],
	'residency of a sample' => [ 'pgbufprobe_residency(%s, 1, 0.1)', $adds_up ],
	'residency of all' => [ 'pgbufprobe_residency()', $adds_up ],
	'residency in buckets' => [ 'pgbufprobe_residency(%s, 9)', $adds_up ],
	'cache map' => [ q{pgbufprobe_cache_map(%s, 'main')}, 'length(map) >= 52' ],
	'cache maps of all' => [ 'pgbufprobe_cache_map()', 'length(map) > 52' ],
	'view' => [ 'pgbufprobe_double_buffering',
		'both_bytes <= least(shared_bytes, os_bytes) AND duplicate_fraction BETWEEN 0 AND 1' ]);

# Counts the rows of a call about a relation that are wrong.
sub wrong_rows
{
	my ($call, $relation, $also) = @_;
	my ($function, $holds) = @{ $calls{$call} };

	$function =~ s/%s/$relation/;
	return 'SELECT ' . ($also // '') . "count(*) FILTER (WHERE NOT coalesce($holds, false)) FROM $function";
}

# All rows, and those that are wrong.
sub judged { return wrong_rows(@_, 'count(*), ') }

# ---------------------------------------------------------------------------
# One at a time

# By OID: a name is looked up before, which may wait.
my $session = $node->background_psql('postgres');
$session->set_query_timer_restart;
my $kept = $session->query_safe(q{SELECT 'kept'::regclass::oid});

$session->query_safe('BEGIN; LOCK TABLE kept IN ACCESS EXCLUSIVE MODE');
for my $call (sort keys %calls)
{
	like(
		ask($node, "SET lock_timeout = '10 s'; SET statement_timeout = '60 s'; " . judged($call, $kept)),
		qr/^[1-9]\d*\|0$/, "$call does not wait for an exclusive lock");
}
is(ask($node, q{SET lock_timeout = '10 s'; SELECT pgbufprobe_os_advise('kept', 'willneed') > 0}),
	't', 'nor does advice');
has_error($node, q{SET lock_timeout = '100 ms'; SELECT * FROM pgbufprobe_read_cost('kept')}, '55P03: canceling statement due to lock timeout',
	'reads through the pool do, as they need the relation to stay');
$session->query_safe('ROLLBACK');

# After all calls, a transaction holds no lock.
$session->query_safe('BEGIN');
like($session->query_safe(judged($_, $kept)), qr/\|0$/, "$_, in a transaction")
  for sort keys %calls;
is( $session->query_safe(
		"SELECT string_agg(relation::regclass::text, ' ') FROM pg_locks
		  WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation = ANY(
			ARRAY(SELECT oid FROM pg_class WHERE relname LIKE 'kept%'))"),
	'', 'no lock on the relation remains');
is( ask($node, q{SET lock_timeout = '10 s'; ALTER TABLE kept ADD COLUMN more integer; VACUUM FULL kept; TRUNCATE kept;
		  INSERT INTO kept SELECT i, repeat('k', 100) FROM generate_series(1, 10000) i}),
	'', 'others can change it as they like');
is($session->query_safe("SELECT blocks > 0 FROM pgbufprobe_residency($kept) WHERE fork = 'main'"),
	't', 'and the same transaction sees the new file');
$session->query_safe('COMMIT');

# ---------------------------------------------------------------------------
# All at once

# In a load of writes, each row is judged; where one is wrong, a division by zero ends the run.
my $probe = write_script(
	$node, 'probe',
	join '',
	map {
		my $wrong = wrong_rows($_, q{'pgbench_accounts'}) =~ s/\s+/ /gr;
		"SELECT 1 / (count = 0)::integer FROM ($wrong) AS w(count);\n" } sort keys %calls);

$node->command_ok([ 'pgbench', '-i', '-q', '-s', '3', $node->connstr('postgres') ],
	'pgbench has made its tables');

outcomes_are(
	$node, $seconds,
	[ map { /all|view/ ? "$_|adds up" : ("$_|42P01", "$_|adds up") } keys %calls ],
	{ map { $_ => wrong_rows($_, 'one') } keys %calls },
	load => [ '-c', 2, '-N' ], probe => [ '-c', 1, '-f', $probe ]);
$session->quit;

# ---------------------------------------------------------------------------
# Rewritten while a call has its old file open: the answer is about the new file

my $pause = temp_path('pause');

$node->stop;
start_with($node, PAUSE_PROBE => $pause);
my $all = q{CASE WHEN bool_and(shared_blocks = blocks) THEN sum(blocks) END};
my $blocks = q{SELECT pg_relation_size('kept') / current_setting('block_size')::integer};
for my $case (
	[ 'os_cache', 'SELECT bytes FROM pgbufprobe_os_cache(%s)', q{SELECT pg_relation_size('kept')} ],
	[ 'residency', "SELECT $all FROM pgbufprobe_residency(%s) WHERE fork = 'main'", $blocks ],
	[ 'residency in buckets', "SELECT $all FROM pgbufprobe_residency(%s, 10) WHERE fork = 'main' HAVING count(*) = 10", $blocks ])
{
	my ($call, $query, $expected) = @$case;

	# So that the new file has half as many pages.
	ask($node, 'DELETE FROM kept WHERE id > (SELECT max(id) / 2 FROM kept)');
	append_to_file($pause, '');
	my $asking = start_psql($node, 'asking', '-c', sprintf($query, $kept));
	my $reached = ok(wait_for { -e "$pause.reached" }, "$call: waits with its file open");

	# All its pages in shared buffers; the checkpoint removes the old file.
	ask($node, 'VACUUM FULL kept; SELECT count(*) FROM kept; CHECKPOINT');
	unlink $pause or die $!;
	$asking->{run}->finish;
	is("$asking->{out}$asking->{err}", ask($node, $expected) . "\n", "$call: is about the file that the relation has now");
	unlink "$pause.reached" or die $! if $reached;
}

is(ask($node, 'SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()'), 0, 'no lock is left');
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP:|terminated by signal|Bus error/, 'no process has crashed');
unlike($log, qr/temporary file leak|were not closed|leaked/i, 'nor left a file open');

$node->stop;
done_testing();
