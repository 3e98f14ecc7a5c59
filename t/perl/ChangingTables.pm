# Relations that come and go while they are asked about: scripts for pgbench and psql.

package ChangingTables;

use strict;
use warnings;

use Exporter 'import';
use Server;
use Test::More;

our @EXPORT = qw(outcomes_are);

# For pgbench. Each client has tables of its own. VACUUM cuts the file in use, all others make a new one.
sub write_ddl_script
{
	my ($node) = @_;

	return write_script(
		$node, 'ddl', q{\set n random(1, 4) + 10 * :client_id
DROP TABLE IF EXISTS ddl:n;
CREATE TABLE ddl:n (id int PRIMARY KEY, t text) WITH (autovacuum_enabled = off);
INSERT INTO ddl:n SELECT i, repeat('d', 1000) FROM generate_series(1, 3000) i;
DELETE FROM ddl:n WHERE id > 10;
VACUUM ddl:n;
VACUUM FULL ddl:n;
TRUNCATE ddl:n;
INSERT INTO ddl:n SELECT i, repeat('d', 1000) FROM generate_series(1, 100) i;
});
}

# For psql. For some seconds, asks about each table and index that was there a moment ago, and prints what came of
# each query: "adds up", "is wrong" or an SQLSTATE; and the locks that it left. A query returns how many of its rows
# are wrong. It has the relation's OID in the variable "one", since a name would be looked up, which may wait.
sub write_asking_script
{
	my ($node, $seconds, %queries) = @_;
	my $attempts = join '', map {
		"			BEGIN
				wrong := ($queries{$_});
				outcome := CASE WHEN wrong = 0 THEN 'adds up' ELSE 'is wrong' END;
			EXCEPTION WHEN OTHERS THEN
				outcome := SQLSTATE;
			END;
			INSERT INTO outcomes VALUES ('$_', outcome);
"
	} sort keys %queries;

	return write_script(
		$node, 'ask', qq{
CREATE TEMP TABLE outcomes (query text COLLATE "C", outcome text);
DO \$\$
DECLARE
	until timestamptz := clock_timestamp() + '$seconds s';
	asked oid[];
	one oid;
	wrong bigint;
	outcome text;
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
SELECT DISTINCT query, outcome FROM outcomes ORDER BY 1, 2;
});
}

# Tests that these are the outcomes of the queries, while clients of pgbench change relations, and run more: for each name, its
# arguments. That is repeated until all has come up, and each client has run often enough: a slow machine needs longer.
sub outcomes_are
{
	my ($node, $seconds, $expected, $queries, %runs) = @_;
	my $ask = write_asking_script($node, $seconds, %$queries);
	my (%seen, %transactions);

	$runs{ddl} = [ '-c', 2, '-f', write_ddl_script($node) ];
	for my $round (1 .. 10)
	{
		my @changing = map { start_pgbench($node, $_, $seconds + 2, @{ $runs{$_} }) } sort keys %runs;
		my $aborted = 0;

		for my $asking (map { start_psql($node, 'asking', '-f', $ask) } 1 .. 2)
		{
			$asking->{run}->finish;
			is($asking->{err}, '', 'there is no other error');
			$seen{$_} = 1 for split /\n/, $asking->{out};
		}
		for my $run (@changing)
		{
			my $count = finish_pgbench($run);

			$aborted = 1 unless defined $count;
			$transactions{ $run->{name} } += $count // 0;
		}
		last if $aborted || keys %seen >= @$expected && !grep { $_ <= 3 } values %transactions;
	}
	is_deeply([ sort keys %seen ], [ sort @$expected ], 'a relation has an answer, or is said not to exist any more; no lock remains');
	cmp_ok($transactions{$_}, '>', 3, "$_: ran again and again") for sort keys %transactions;
	return;
}

1;
