# Relations that come and go while they are asked about: scripts for pgbench and psql.

package ChangingTables;

use strict;
use warnings;

use Exporter 'import';
use Server;

our @EXPORT = qw(write_ddl_script write_asking_script);

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

1;
