# The extension can be created, moved, dropped, dumped and restored. Updates from every version that was ever
# shipped, along every path that the update scripts offer, give what a fresh installation of the default version
# gives. The scripts of a new version are found by their names.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $name = 'pgbufprobe';
my ($default) = slurp_file("$name.control") =~ /^default_version = '(.*)'$/m;

# pgbufprobe--1.0.sql installs a version, pgbufprobe--1.0--1.1.sql leads from one to another.
my (@installable, %leads_to);
for my $script (sort glob "$name--*.sql")
{
	my (undef, $from, $to) = split /--/, $script =~ s/\.sql\z//r;
	defined $to ? push @{ $leads_to{$from} }, $to : push @installable, $from;
}

# Every way from a version to the default one, as a list of steps. None comes by a version twice.
sub ways
{
	my ($version, @seen) = @_;

	return [] if $version eq $default;
	return map {
		my $step = $_;
		map { [ $step, @$_ ] } ways($step, @seen, $version)
	} grep { my $next = $_; !grep { $_ eq $next } @seen } @{ $leads_to{$version} // [] };
}

my $node = start_server('main', 'shared_buffers = 2048');
ask($node, 'CREATE ROLE auditor');

# All there is of the extension, a line each, without the OIDs.
my $catalog = q{
	WITH extension AS (SELECT * FROM pg_extension WHERE extname = 'pgbufprobe'),
	member AS (
		SELECT d.classid, d.objid FROM extension e, pg_depend d
		 WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'),
	function AS (SELECT p.* FROM member m JOIN pg_proc p ON p.oid = m.objid AND m.classid = 'pg_proc'::regclass),
	relation AS (SELECT c.* FROM member m JOIN pg_class c ON c.oid = m.objid AND m.classid = 'pg_class'::regclass),
	attribute AS (
		SELECT a.*, row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS place
		  FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid
		 WHERE a.attnum > 0 AND NOT a.attisdropped),
	acl (classid, objid, objsubid, origin, list) AS (
		SELECT 'pg_proc'::regclass, oid, 0, 'now', coalesce(proacl, acldefault('f', proowner)) FROM function
		UNION ALL
		SELECT 'pg_class'::regclass, oid, 0, 'now',
		       coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner)) FROM relation
		UNION ALL
		SELECT 'pg_class'::regclass, attrelid, attnum, 'now', attacl FROM attribute
		UNION ALL
		-- what pg_dump takes for given, and does not dump
		SELECT i.classoid, i.objoid, i.objsubid, 'at first', i.initprivs
		  FROM pg_init_privs i JOIN member m ON m.classid = i.classoid AND m.objid = i.objoid),
	line (what, object, property) AS (
		SELECT 'extension', extname::text, concat_ws(' ', extversion, extrelocatable, extnamespace::regnamespace,
		       obj_description(oid, 'pg_extension'), extconfig::regclass[], extcondition) FROM extension
		UNION ALL
		SELECT 'member', i.type, i.identity FROM member, pg_identify_object(classid, objid, 0) i
		UNION ALL
		SELECT 'function', oid::regprocedure::text, concat_ws(' ', proowner::regrole, pg_get_functiondef(oid))
		  FROM function WHERE prokind <> 'a'
		UNION ALL
		SELECT 'relation', oid::regclass::text, concat_ws(' ', relowner::regrole, relkind, relpersistence, reloptions)
		  FROM relation
		UNION ALL
		SELECT 'view', oid::regclass::text, pg_get_viewdef(oid) FROM relation WHERE relkind IN ('v', 'm')
		UNION ALL
		SELECT 'column', attrelid::regclass::text, concat_ws(' ', place, attname, format_type(atttypid, atttypmod),
		       attnotnull, attidentity, attgenerated, pg_get_expr(adbin, adrelid))
		  FROM attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
		UNION ALL
		SELECT 'constraint', conname, pg_get_constraintdef(k.oid) FROM relation r JOIN pg_constraint k ON conrelid = r.oid
		UNION ALL
		SELECT 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid)
		  FROM relation r JOIN pg_index ON indrelid = r.oid
		UNION ALL
		SELECT 'comment', i.identity, description
		  FROM member JOIN pg_description ON classoid = classid AND objoid = objid,
		       pg_identify_object(classoid, objoid, objsubid) i
		UNION ALL
		SELECT 'privilege', i.identity, concat_ws(' ', origin, privilege_type, 'by', grantor::regrole, 'to',
		       CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, is_grantable)
		  FROM acl, pg_identify_object(classid, objid, objsubid) i, aclexplode(list))
	SELECT what, object, regexp_replace(property, '\s+', ' ', 'g') FROM line;
};

sub catalog
{
	my ($database, $before) = @_;
	$before //= '';
	return [ sort split /\n/, ask($node, "BEGIN; $before; $catalog ROLLBACK;", $database) ];
}

sub database
{
	my ($database, $commands) = @_;
	ask($node, "CREATE DATABASE $database");
	ask($node, $commands, $database);
	return $database;
}

sub fails
{
	my ($database, $command, $error, $what) = @_;
	my ($out, $messages) = answer_and_messages($node, "$command;", database => $database);
	like($messages, $error, $what);
}

# ---------------------------------------------------------------------------
# What is installed

ok(scalar(grep { $_ eq $default } @installable), "there is a script that installs the default version, $default");

my $fresh = database('fresh', "CREATE EXTENSION $name");
my $expected = catalog($fresh);
is(ask($node, "SELECT extversion FROM pg_extension WHERE extname = '$name'", $fresh),
	$default, 'a plain CREATE EXTENSION gives the default version');
is( $node->safe_psql($fresh,
		"SELECT count(*) FROM pg_extension_update_paths('$name') WHERE target = '$default' AND path IS NULL"),
	0, 'from every version that is installed, there is a way to the default one');

# The comparison below sees what an update script can get wrong.
my $view = q{DO $$ BEGIN EXECUTE format('CREATE OR REPLACE VIEW pgbufprobe_double_buffering AS SELECT * FROM (%s) AS v',
	rtrim(pg_get_viewdef('pgbufprobe_double_buffering'::regclass), ';')); END $$};
for my $change (
	'ALTER FUNCTION pgbufprobe_clock(interval) COST 7',
	'ALTER FUNCTION pgbufprobe_clock(interval) STABLE',
	'ALTER FUNCTION pgbufprobe_clock(interval) PARALLEL UNSAFE',
	'ALTER FUNCTION pgbufprobe_clock(interval) OWNER TO auditor',
	'ALTER EXTENSION pgbufprobe DROP FUNCTION pgbufprobe_clock(interval)',
	'CREATE FUNCTION more() RETURNS int LANGUAGE sql RETURN 1; ALTER EXTENSION pgbufprobe ADD FUNCTION more()',
	'COMMENT ON FUNCTION pgbufprobe_clock(interval) IS NULL',
	q{COMMENT ON COLUMN pgbufprobe_double_buffering.duplicate_fraction IS 'a share'},
	'GRANT EXECUTE ON FUNCTION pgbufprobe_clock(interval) TO PUBLIC',
	'REVOKE EXECUTE ON FUNCTION pgbufprobe_clock(interval) FROM pg_monitor',
	'REVOKE SELECT ON pgbufprobe_double_buffering FROM pg_monitor',
	'GRANT SELECT (os_bytes) ON pgbufprobe_double_buffering TO PUBLIC',
	q{DELETE FROM pg_init_privs WHERE objoid = 'pgbufprobe_clock'::regproc},
	$view)
{
	isnt("@{catalog($fresh, $change)}", "@$expected", 'a difference is seen: ' . substr($change, 0, 100) =~ s/\n.*//sr);
}
is_deeply(catalog($fresh), $expected, 'and nothing of that has stayed');

# ---------------------------------------------------------------------------
# Updates

for my $version (@installable)
{
	my @ways = ways($version);

	isnt(scalar @ways, 0, "there is a way from $version to $default");
	for my $way (@ways)
	{
		my $route = join ' to ', $version, @$way;
		my $database = database('updated', "CREATE EXTENSION $name VERSION '$version'");

		ask($node, "ALTER EXTENSION $name UPDATE TO '$_'", $database) for @$way;
		is_deeply(catalog($database), $expected, "$route: as freshly installed");
		is(ask($node, 'SELECT buffers FROM pgbufprobe_clock()', $database), 2048, "$route: answers");
		drop_database($node, $database);
	}

	# The way that the server chooses.
	next unless @ways;
	my $database = database('updated', "CREATE EXTENSION $name VERSION '$version'; ALTER EXTENSION $name UPDATE");
	is_deeply(catalog($database), $expected, "$version, plain UPDATE: as freshly installed");
	drop_database($node, $database);
}

fails($fresh, "ALTER EXTENSION $name UPDATE",
	qr/NOTICE:  00000: version "\Q$default\E" of extension "$name" is already installed/,
	'the default version needs no update');
fails($fresh, "ALTER EXTENSION $name UPDATE TO '0.0'",
	qr/ERROR:  22023: extension "$name" has no update path from version "\Q$default\E" to version "0.0"/,
	'to a version that there is not: an error');
is_deeply(catalog($fresh), $expected, 'and nothing has changed');

# ---------------------------------------------------------------------------
# Moved, dropped, created again

ask($node, "CREATE SCHEMA probes; ALTER EXTENSION $name SET SCHEMA probes", $fresh);
is(ask($node, 'SELECT count(*) FROM probes.pgbufprobe_clock(), probes.pgbufprobe_double_buffering', $fresh),
	1, 'in another schema: answers, the view too');
is(scalar(grep { /\bpublic\./ } @{ catalog($fresh) }), 0, 'and nothing is left behind in the old one');
ask($node, "ALTER EXTENSION $name SET SCHEMA public", $fresh);
is_deeply(catalog($fresh), $expected, 'moved back: as before');

ask($node, 'CREATE VIEW hand AS SELECT hand FROM pgbufprobe_clock()', $fresh);
fails($fresh, "DROP EXTENSION $name",
	qr/ERROR:  2BP01: cannot drop extension $name because other objects depend on it/,
	'not dropped while something depends on it');
ask($node, "DROP VIEW hand; DROP EXTENSION $name", $fresh);
is( $node->safe_psql(
		$fresh, q{
		SELECT (SELECT count(*) FROM pg_proc WHERE proname LIKE 'pgbufprobe%' OR probin LIKE '%pgbufprobe%')
		     + (SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbufprobe%')
		     + (SELECT count(*) FROM pg_type WHERE typname LIKE '%pgbufprobe%')
		     + (SELECT count(*) FROM pg_init_privs WHERE classoid = 'pg_proc'::regclass
		           AND NOT EXISTS (SELECT FROM pg_proc WHERE oid = objoid))}),
	0, 'dropped: nothing is left');
ask($node, "CREATE EXTENSION $name", $fresh);
is_deeply(catalog($fresh), $expected, 'created again: as before');

# ---------------------------------------------------------------------------
# Dumped and restored, with what somebody has built on it and granted

my $dump = temp_path('dump');
my $dumped = database(
	'dumped', qq{
	CREATE SCHEMA probes;
	CREATE EXTENSION $name SCHEMA probes;
	CREATE VIEW hand AS SELECT buffers FROM probes.pgbufprobe_clock();
	GRANT EXECUTE ON FUNCTION probes.pgbufprobe_read_cost TO auditor;
	REVOKE EXECUTE ON FUNCTION probes.pgbufprobe_sweep_cost FROM pg_monitor;
});

$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $dumped ], 'a database with the extension is dumped');
my ($script) = run_command([ 'pg_restore', '-f', '-', $dump ]);
like($script, qr/^CREATE EXTENSION IF NOT EXISTS $name WITH SCHEMA probes;$/m, 'the dump has the extension');
unlike($script, qr/CREATE (FUNCTION|VIEW) probes/, 'and nothing of what it brings itself');

ask($node, 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'restored', $dump ], 'and restored');
is_deeply(catalog('restored'), catalog($dumped), 'restored: as before, with what was granted and revoked');
is(ask($node, 'SELECT buffers FROM hand', 'restored'), 2048, 'restored: what was built on it answers');

$node->stop;
done_testing();
