# Privileges: PUBLIC has none, pg_monitor has those of the readers, a role has what it was granted, and only
# superusers run the live search. Default privileges in the database change nothing of this.

use strict;
use warnings;

use Interface;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $live = q{SELECT scenario FROM pgbufprobe_sweep_cost(10, 'live')};

my $node = start_server('main',
	"shared_buffers = 2048\nshared_preload_libraries = pgbufprobe\npgbufprobe.history_interval = 100ms");
ask($node, q(
CREATE ROLE plain;
CREATE ROLE monitor IN ROLE pg_monitor;
CREATE ROLE granted;
CREATE DATABASE mine OWNER plain;
CREATE EXTENSION pgbufprobe;
));
$node->poll_query_until('postgres', 'SELECT (SELECT count(*) FROM pgbufprobe_history()) > 0 AND (SELECT count(*) FROM pgbufprobe_hours()) > 0')
  or die 'no sample was taken';

keep_values($node);

# Movers are only for roles that were granted them.
my %query = simple_calls($node);
my %is_reader = is_documented_reader();
my @functions = sort keys %query;
my @readers = grep { $is_reader{$_} } @functions;
my @movers = grep { !$is_reader{$_} } @functions;

sub answer
{
	my ($role, @names) = @_;

	for my $function (@names)
	{
		my ($got, $expected);

		# What the worker has learned, or after a reset, may come between both.
		wait_for
		{
			($got, $expected) = (as_role($node, $role, $query{$function}), ask($node, $query{$function}));
			$got eq $expected;
		};
		is($got, $expected, "$role: $function answers as for a superuser");
	}
}

sub is_denied
{
	my ($role, $query, $error, $what) = @_;
	return has_error($node, "SET ROLE $role;\n$query", "42501: $error", "$role: $what");
}

is_deeply([ sort keys %is_reader ], \@functions, 'each function is a reader or a mover');
my @views = split /\n/, ask($node, q{SELECT relname FROM pg_class WHERE relname LIKE 'pgbufprobe%' AND relkind = 'v'});
is_denied('plain', $query{$_}, "permission denied for function $_\\b", "$_ is denied") for @functions;
is_denied('monitor', $query{$_}, "permission denied for function $_\\b", "$_ is denied") for @movers;
for my $view (@views)
{
	is_denied('plain', "SELECT * FROM $view", "permission denied for view $view", "$view is denied");
	like(as_role($node, 'monitor', "SELECT count(*) FROM $view"), qr/^\d+$/, "monitor: $view answers");
}
answer('monitor', @readers);

# Privileges are checked before arguments.
is_denied('plain', $_, 'permission denied for function pgbufprobe_sweep_cost', "$_ is denied") for q{SELECT * FROM pgbufprobe_sweep_cost(-1, 'nonsense')}, $live;
is_denied('monitor', $live, 'must be superuser to run the "live" scenario', 'the live search is for superusers');

# They need nothing but each other.
ask($node, join '', map { "GRANT EXECUTE ON FUNCTION $_ TO granted;\n" } @functions);
# A sampler that starts with the server cannot be stopped.
my $stop = 'pgbufprobe_stop';
answer('granted', grep { $_ ne $stop } @functions);
has_error($node, "SET ROLE granted;\n$query{$stop}", '55000: cannot stop', "granted: $stop may be called");
# The function itself checks this, whatever was granted.
is_denied('granted', $live, 'must be superuser', 'the live search is for superusers');
is(ask($node, $live), 'live', 'a superuser may');

ask($node, 'GRANT SELECT ON pgbufprobe_double_buffering TO granted');
is(as_role($node, 'granted', 'SELECT count(*) FROM pgbufprobe_double_buffering'), 1, 'granted: the view answers');
ask($node, 'REVOKE EXECUTE ON FUNCTION pgbufprobe_residency, pgbufprobe_snapshot FROM granted');
is_denied('granted', 'SELECT * FROM pgbufprobe_double_buffering',
	'(?m:permission denied for function pgbufprobe_residency$)', 'the view reads a function, which has to be granted, too');
is_denied('granted', 'SELECT * FROM kept, pgbufprobe_snapshot_diff(state)',
	'(?m:permission denied for function pgbufprobe_snapshot$)', 'a difference to now takes a snapshot');
is(as_role($node, 'granted', 'SELECT count(*) FROM kept, pgbufprobe_snapshot_diff(state, state)'), 7, 'granted: one between two that are there does not');

# A relation's pages in the pool are counted without its table being read, so that monitoring needs no privilege on users' tables.
ask($node, 'CREATE TABLE secret AS SELECT 1 AS n; REVOKE ALL ON secret FROM PUBLIC');
is(as_role($node, 'monitor', q{SELECT sum(buffers) FROM pgbufprobe_usagecount_histogram('secret')}), 1,
	'monitor: counts the pages of a table that it may not read');
is_denied('monitor', 'SELECT * FROM secret', 'permission denied for table secret', 'and that it may not read');

# It is C code in the server: not for owners of databases.
has_error($node, 'SET ROLE plain; CREATE EXTENSION pgbufprobe', '42501: permission denied to create extension "pgbufprobe"',
	'the owner of a database may not create the extension', 'mine');

# ---------------------------------------------------------------------------
# Default privileges

my $obrien = q{"O'Brien, ""Flann"""};
ask($node, qq{CREATE ROLE boss SUPERUSER; CREATE ROLE "PUBLIC"; CREATE ROLE $obrien IN ROLE plain});

# Every privilege of everything that the extension has made, and what pg_dump takes for given.
my $grants = qq{
	WITH member AS $members,
	acl AS (
		SELECT 'now' AS origin, p.tableoid AS classid, p.oid AS objid, proowner AS owner, coalesce(proacl, acldefault('f', proowner)) AS list
		  FROM pg_proc p JOIN member m ON m.classid = p.tableoid AND m.objid = p.oid
		UNION ALL
		SELECT 'now', c.tableoid, c.oid, relowner, coalesce(relacl, acldefault('r', relowner))
		  FROM pg_class c JOIN member m ON m.classid = c.tableoid AND m.objid = c.oid
		UNION ALL
		SELECT 'at first', i.classoid, i.objoid, coalesce((SELECT proowner FROM pg_proc p WHERE p.oid = i.objoid),
		       (SELECT relowner FROM pg_class c WHERE c.oid = i.objoid)), i.initprivs
		  FROM pg_init_privs i JOIN member m ON m.classid = i.classoid AND m.objid = i.objoid)
	SELECT origin, (pg_identify_object(classid, objid, 0)).identity, privilege_type, is_grantable,
	       CASE WHEN grantee = owner THEN 'the owner' WHEN grantee = 0 THEN 'everybody' ELSE grantee::regrole::text END, grantor = owner
	  FROM acl, aclexplode(list)};
my $databases = 0;

# What CREATE EXTENSION has granted in a database of its own, after these commands, and what a dump says of that.
sub grants_after
{
	my ($commands, $options) = @_;
	my $database = 'defaults' . ++$databases;

	ask($node, "CREATE DATABASE $database");
	$node->safe_psql($database, "$commands; CREATE EXTENSION pgbufprobe " . ($options // ''));
	my ($dump) = run_command([ 'pg_dump', '--schema-only', '-d', $node->connstr($database) ]);
	return ([ sort split /\n/, ask($node, $grants, $database) =~ s/\bprobes\./public./gr ],
		[ $dump =~ /^(?:GRANT|REVOKE).*pgbufprobe.*/mg ]);
}

my ($documented) = grants_after('');

for (
	[ 'to everybody', q{
		ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO PUBLIC;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC} ],
	[ 'in the schema', q{
		ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON ROUTINES TO PUBLIC, plain;
		ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO plain} ],
	[ 'to a role', q{
		ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO plain;
		ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO plain} ],
	[ 'with grant option', qq{
		ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO plain, $obrien WITH GRANT OPTION;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO granted, $obrien WITH GRANT OPTION} ],
	[ 'to roles of odd names', qq{
		ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO "PUBLIC", $obrien} ],
	[ 'to pg_monitor', q{
		ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO pg_monitor WITH GRANT OPTION;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO pg_monitor, pg_read_all_data} ],
	[ 'from everybody', q{
		ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM PUBLIC} ],
	[ 'from the owner', q{
		ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM CURRENT_USER, PUBLIC;
		ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM CURRENT_USER} ],
	[ 'from the owner, to others', q{
		ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM CURRENT_USER;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO plain;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO plain} ],
	[ 'of another superuser', q{
		SET ROLE boss;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO plain WITH GRANT OPTION;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
		ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM boss} ],
	[ 'and settings of all kinds', q{
		ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO plain;
		SET check_function_bodies = off;
		SET search_path = '';
		SET quote_all_identifiers = on;
		SET plpgsql.variable_conflict = use_variable;
		SET plpgsql.extra_errors = 'all'}, 'SCHEMA public' ],
	[ 'in another schema', q{
		CREATE SCHEMA probes;
		ALTER DEFAULT PRIVILEGES IN SCHEMA probes GRANT ALL ON FUNCTIONS TO plain;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC}, 'SCHEMA probes' ])
{
	my ($kind, $commands, $options) = @$_;
	my ($got, $dumped) = grants_after($commands, $options);

	is_deeply($got, $documented, "default privileges $kind: granted is what is documented");
	is_deeply($dumped, [], "default privileges $kind: a dump has nothing to say of that");
}

# ---------------------------------------------------------------------------
# In a schema of its own, and where the names are taken

is( $node->safe_psql("defaults$databases", q{
		SELECT count(*) FROM probes.pgbufprobe_snapshot_diff(probes.pgbufprobe_snapshot());
		SET search_path = probes;
		SELECT count(*) FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot());
		SELECT count(*) FROM pgbufprobe_double_buffering}),
	"7\n7\n1", 'in a schema of its own it answers by its full name, and by a search path');
has_error($node, 'SELECT pgbufprobe_snapshot()', '42883: function pgbufprobe_snapshot\(\) does not exist', 'and is not found otherwise', "defaults$databases");

sub create_fails
{
	my ($taken, $error) = @_;

	ask($node, "CREATE $taken", 'taken');
	my ($what) = $taken =~ /^(\w+ \w+(?:\(.*?\))?)/;
	has_error($node, 'CREATE EXTENSION pgbufprobe', $error, "CREATE EXTENSION says that there is a $what", 'taken');
	ask($node, "DROP $what", 'taken');
	return;
}

ask($node, 'CREATE DATABASE taken');
for my $member (split /\n/, ask($node, q{SELECT p.oid::regprocedure FROM pg_proc p WHERE proname LIKE 'pgbufprobe%' ORDER BY 1}))
{
	my ($name) = $member =~ /^(\w+)/;
	create_fails("FUNCTION $member RETURNS integer LANGUAGE sql AS 'SELECT 1'", qr/42723: function "$name" already exists with same argument types/);
}
create_fails($_, qr/42P07: relation "pgbufprobe_double_buffering" already exists/)
  for 'VIEW pgbufprobe_double_buffering AS SELECT 1', 'TABLE pgbufprobe_double_buffering ()', 'SEQUENCE pgbufprobe_double_buffering';
is(ask($node, q{SELECT count(*) FROM pg_proc WHERE proname LIKE 'pgbufprobe%'}, 'taken'), 0, 'of what failed nothing is left');

ask($node, q{CREATE FUNCTION pgbufprobe_clock(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1'; CREATE EXTENSION pgbufprobe}, 'taken');
is(ask($node, 'SELECT pgbufprobe_clock(5), (pgbufprobe_clock()).buffers', 'taken'), '5|2048', 'one with other arguments stays beside ours');
is(ask($node, q{SELECT proacl IS NULL FROM pg_proc WHERE oid = 'pgbufprobe_clock(integer)'::regprocedure}, 'taken'), 't', 'with its privileges');

$node->stop;
done_testing();
