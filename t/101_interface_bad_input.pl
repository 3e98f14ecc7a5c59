# Thousands of calls with odd arguments: extremes of each type, NULL in each place, texts of all kinds, every kind of
# relation. The catalog lists the functions and their arguments. Each call returns rows or an error that the user has
# made, and leaves nothing behind.

use strict;
use warnings;

use Interface '$members';
use IPC::Run;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $calls = 4000;
srand(20261126);

my $node = start_server(
	'main', "$no_background_writes\n" . q(
shared_buffers = 2048
# Errors quote what they were given, which is megabytes.
log_min_messages = log
log_statement = none
# With history and advice; the sampler does not care who calls what.
shared_preload_libraries = pgbufprobe
pgbufprobe.history_interval = 100ms
), extra => [ '--encoding=UTF8', '--no-locale' ]);
my $version = ask($node, 'SHOW server_version_num');

# ---------------------------------------------------------------------------
# What there is to ask about

ask($node, q(
CREATE EXTENSION pgbufprobe;
CREATE TABLE plain (id int PRIMARY KEY, t text);
INSERT INTO plain SELECT i, repeat('p', 500) FROM generate_series(1, 2000) i;
CREATE INDEX plain_hash ON plain USING hash (id);
VACUUM plain;
CREATE TABLE "Ünïcode "" %s" (id int);
CREATE TABLE empty_table (t text);
CREATE TABLE no_columns ();
CREATE UNLOGGED TABLE unlogged_table (id int PRIMARY KEY);
CREATE VIEW a_view AS SELECT * FROM plain;
CREATE MATERIALIZED VIEW a_matview AS SELECT * FROM plain LIMIT 10;
CREATE MATERIALIZED VIEW unpopulated AS SELECT * FROM plain WITH NO DATA;
CREATE SEQUENCE a_sequence;
CREATE TYPE a_composite AS (a int, b text);
CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (1) TO (100);
CREATE TABLE lonely (id int PRIMARY KEY) PARTITION BY LIST (id);
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE a_foreign (id int) SERVER nowhere;
CREATE TABLE dropped_table ();
));
my $has_buffercache = create_if_available($node, 'pg_buffercache');
my $dropped = ask($node, q{SELECT 'dropped_table'::regclass::oid});
my $toast = ask($node, q{SELECT reltoastrelid FROM pg_class WHERE oid = 'plain'::regclass});
my $toast_index = ask($node, "SELECT indexrelid FROM pg_index WHERE indrelid = $toast");
ask($node, 'DROP TABLE dropped_table');

my $session = $node->background_psql('postgres');
$session->query_safe('CREATE TEMP TABLE their_temp AS SELECT generate_series(1, 1000) AS id');
my $their_temp = $session->query_safe(q{SELECT 'their_temp'::regclass::oid});

my @relations = map { "'$_'::regclass" } (
	qw(plain plain_pkey plain_hash empty_table no_columns unlogged_table
	  unlogged_table_pkey a_view a_matview unpopulated a_sequence a_composite
	  parted parted_pkey part part_pkey lonely a_foreign my_temp my_temp_pkey
	  pg_class pg_class_oid_index pg_proc pg_statistic pg_database pg_authid
	  pg_shdepend_reference_index information_schema.tables pg_locks
	  pgbufprobe_double_buffering),
	'"Ünïcode "" %s"', $their_temp, $toast, $toast_index, $dropped, 0, 1, 2147483648, 4294967295);

# In each type, what is at the edges and beyond, and some of what is valid.
my %values = (
	regclass => \@relations,
	oid => [ 0, 1, 1259, 2147483648, 4294967295 ],
	boolean => [ 'true', 'false' ],
	integer => [
		-2147483648, -1, 0, 1, 2, 100, 10000, 10001, 1000000, 1000001, 100000000,
		100000001, 2147483647 ],
	bigint => [
		'-9223372036854775808', -1, 0, 1, 1000, 2147483647, 2147483648,
		9223372036854775807 ],
	'double precision' => [
		map { "'$_'::float8" } 'NaN', 'Infinity', '-Infinity', '-0', 0, '5e-324', 0.5,
		1, 4, '1.7e308' ],
	numeric => [map { "'$_'::numeric" } 'NaN', 'Infinity', '-Infinity', 0, '1e-1000', 1, '1e1000' ],
	interval => [
		map { "'$_'::interval" } '0', '1 us', '0.999 ms', '1 ms', '1 s', '-1 s',
		'24 h', '24:00:00.001', '1 mon -719 h', '-1 mon 721 h', '178000000 years',
		'-178000000 years',
		'2147483647 mons 2147483647 days 2562047788:00:54.775807',
		'-2147483647 mons -2147483647 days -2562047788:00:54.775807',
		# Which would be not a number, were it one.
		'2147483647 mons -2147483647 days -2562047788:00:54.775807',
		$version >= 170000 ? ('infinity', '-infinity') : () ],
	'timestamp with time zone' => [
		map { "'$_'::timestamptz" } 'infinity', '-infinity', 'epoch', 'now',
		'4713-01-01 BC', '294276-12-31' ],
	text => [
		(map { "'$_'" } '', ' ', 'main', 'MAIN', ' main', 'fsm', 'vm', 'init', 'current',
			'worst', 'live', 'auto', 'cachestat', 'mincore', 'willneed', 'dontneed', 'NULL',
			'../../global/pg_control', '%s%n%d', '%', '""', ';', '日本語 🐘', 'mäin'),
		q{E'\\n\\r\\t\\x01\\x7f'}, q{E'main\\\\0'}, q{''''}, q{repeat('x', 63)}, q{repeat('x', 64)},
		q{repeat('x', 1048576)}, q{repeat('ż', 1048576)}, q{repeat('main', 262144)} ]);
$values{name} = $values{text};
# What is no snapshot, what was one, and what is one; psql puts the real one in its place.
$values{jsonb} = [
	(map { "'$_'::jsonb" } 'null', 'true', 0, '-1e131071', '""', '[]', '[{"format": 1}]', '{}', '{"format": 1}', '{"format": 2}',
		'{"format": 1e400}', '{"format": null}', '{"": {"": {"": []}}}'),
	q{to_jsonb(repeat('x', 1048576))},
	q{(repeat('[', 1000) || repeat(']', 1000))::jsonb},
	(map { ":'state'::jsonb$_" } ('') x 5, q{ - 'run'}, q{ - 'relations'}, map { " || '$_'" } '{"format": 3}', '{"run": "%s%n"}',
		'{"taken_at": "infinity"}', '{"taken_at": "294276-12-31"}', '{"taken_at": "4713-01-01 BC"}', '{"passes": 9223372036854775807}',
		'{"hand": -1}', '{"shared_buffers": 0}', '{"shared_buffers": 9223372036854775807}', '{"passes": 0.5}',
		'{"usagecounts": []}', '{"relations": [null]}', '{"other_relations": []}', '{"database": "\\u20ac"}'),
	map { "jsonb_set(:'state', '$_')" } '{relations,0,oid}\', \'4294967297', '{relations,0,buffers}\', \'[1, 2, 3]',
	'{usagecounts,0,buffers}\', \'9223372036854775807', '{relations,1}\', :\'state' ];
# What is no cache map, what was one, and what is one.
$values{bytea} = [
	(map { "'$_'::bytea" } '', '\\x00', 'pgbufprobe', '%s%n'), q{decode(repeat('00', 1048576), 'hex')},
	(map { ":'map'::bytea$_" } ('') x 5, q{ || '\\x00'}),
	q{substr(:'map'::bytea, 1, 20)}, q{substr(:'map'::bytea, 2)}, q{set_byte(:'map'::bytea, 30, 7)} ];

# ---------------------------------------------------------------------------
# The calls

my @functions = map {
	my ($name, $defaults, $types) = split /\|/, $_, -1;
	{ name => $name, defaults => $defaults, types => [ split /;/, $types ] }
} split /\n/, ask($node, qq(
	SELECT p.oid::regproc, p.pronargdefaults,
	       (SELECT coalesce(string_agg(format_type(t, NULL), ';' ORDER BY n), '')
	          FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS a(t, n))
	  FROM pg_proc p JOIN $members m ON classid = 'pg_proc'::regclass AND objid = p.oid
	 ORDER BY p.proname, p.oid));
my %made = map { $_ => 1 } map { slurp_file($_) =~ /^CREATE FUNCTION (\w+)/mg } glob 'pgbufprobe--*.sql';
is(scalar @functions, scalar keys %made, 'the catalog knows the functions');

my %types = map { $_ => 1 } map { @{ $_->{types} } } @functions;
is(join(', ', grep { !$values{$_} } sort keys %types), '', 'there are bad values of each type');

sub one_of { return $_[ rand @_ ] }

sub random_value
{
	my ($type) = @_;
	return rand() < 0.05 ? "NULL::$type" : one_of(@{ $values{$type} });
}

# As a row source, as a value, in part; after each its number and SQLSTATE.
sub call
{
	my ($function, @arguments) = @_;
	my $call = "$function->{name}(" . join(', ', @arguments) . ')';

	return one_of("SELECT count(*) FROM $call", "SELECT * FROM $call",
		"SELECT * FROM $call LIMIT 1", "SELECT $call");
}

my @statements;
for my $function (@functions)
{
	my @types = @{ $function->{types} };
	my $enough = @statements + $calls / @functions;

	# Each value in each place once, beside others that come as they like.
	for my $place (0 .. $#types)
	{
		for my $value ("NULL::$types[$place]", @{ $values{ $types[$place] } })
		{
			my @arguments = map { random_value($_) } @types;
			$arguments[$place] = $value;
			push @statements, call($function, @arguments);
		}
	}
	# Then anything, defaults too.
	while (@statements < $enough)
	{
		my @arguments = map { random_value($_) } @types;
		splice @arguments, @types - int rand($function->{defaults} + 1);
		push @statements, call($function, @arguments);
	}
}
for my $i (reverse 1 .. $#statements)
{
	my $j = int rand($i + 1);
	@statements[ $i, $j ] = @statements[ $j, $i ];
}

# What a session has open: for reading alone, as files that are asked about and
# unlike those that the server itself keeps open; and what it has mapped.
my $has_proc = -r '/proc/self/fdinfo/0' && -r '/proc/self/maps';
my $leftovers = $has_proc
  ? q{
	SELECT 'open', count(*) FROM pg_ls_dir('/proc/self/fd') AS fd
	 WHERE pg_read_file('/proc/self/fdinfo/' || fd, 0, 1000, true) ~ 'flags:\s*[0-7]*[04]\n';
	SELECT 'mapped', count(*) FROM regexp_split_to_table(pg_read_file('/proc/self/maps'), '\n') AS line
	 WHERE line ~ '/(base|global)/';}
  : '';

# Half of them one by one, half in one transaction, where what they leave would
# stay. Long ones end by timeout, here and there in an odd place. That is set in
# the same query, so that it is gone with the error and meets no other statement.
# Nor does it meet the idle session: a timeout that comes at the very end of a
# query's last statement would, and the last one has a minute.
# Slow servers, for which all tests wait longer, need more time to come to their errors.
my $long = int(20 * $PostgreSQL::Test::Utils::timeout_default / 180);
my $half = int(@statements / 2);
my $script = q{\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE TEMP TABLE my_temp (id int PRIMARY KEY);
INSERT INTO my_temp SELECT generate_series(1, 1000);
SELECT pgbufprobe_snapshot() AS state \gset
SELECT map FROM pgbufprobe_cache_map('plain', 'main') \gset
SELECT count(*) FROM pg_locks;
} . $leftovers . $leftovers;
for my $i (0 .. $#statements)
{
	my $timeout = $i % 8 == 7 ? 1 + $i % 5 : $long;

	$script .= "\\set ON_ERROR_ROLLBACK on\nBEGIN;\n" if $i == $half;
	$script .= "\\o /dev/null
SET statement_timeout = $timeout \\; $statements[$i] \\; SET statement_timeout = '1min' \\; RESET statement_timeout;
\\o
\\echo call $i :SQLSTATE
";
}
$script .= q{SELECT 'locks', count(*) FROM pg_locks WHERE pid = pg_backend_pid()
	AND locktype = 'relation' AND relation <> 'pg_locks'::regclass;
} . ($has_buffercache ? q{SELECT 'pins', count(*) FROM pg_buffercache WHERE pinning_backends > 0;
} : '') . $leftovers . q{
COMMIT;
} . $leftovers . q{
SELECT 'alive', sum(buffers) FROM pgbufprobe_usagecount_histogram();
};

my $file = $node->basedir . '/bad_input.sql';
append_to_file($file, $script);
my ($out, $err) = ('', '');
local $ENV{PGCLIENTENCODING} = 'UTF8';
my $survived = IPC::Run::run(
	[ 'psql', '-XAtq', '-f', $file, '-d', $node->connstr('postgres') ],
	'>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));

# ---------------------------------------------------------------------------
# What came of it

my %sqlstate = $out =~ /^call (\d+) (\w+)$/mg;
my %times;
$times{$_}++ for values %sqlstate;
note("$times{$_} times $_") for sort keys %times;

ok($survived, 'the session has survived');
is(scalar keys %sqlstate, scalar @statements, 'every call was answered')
  or diag('The last one was: ' . $statements[ keys(%sqlstate) % @statements ]);

# Users' mistakes, objects in the wrong state, and calls that take too long. No function, column or syntax that there
# is not: that would be this file's mistake.
my @wrong = grep { $sqlstate{$_} !~ /^(00000|0A|22|42(?!601|703|725|883)|55|57014)/ } sort { $a <=> $b } keys %sqlstate;
is(scalar @wrong, 0, 'every error is one of the user, none is internal');
diag("$sqlstate{$_}: $statements[$_]") for @wrong[ 0 .. ($#wrong < 9 ? $#wrong : 9) ];
for my $class ('00000', '22023', '22003', '42P01', '42809', '57014', '0A000')
{
	# The rarest fifteen times, unless calls have to wait for a processor until their timeout.
	cmp_ok($times{$class} // 0, '>', 3, "$class came up often enough");
}

# A resource that is left is a warning at the end of the transaction.
is(join("\n", grep { /WARNING|FATAL|PANIC/ } split /\n/, $err),
	'', 'nothing was left open at the end of a transaction');
like($out, qr/^locks\|0$/m, 'no lock is left in the transaction');
SKIP:
{
	skip 'this server has no pg_buffercache', 1 unless $has_buffercache;
	like($out, qr/^pins\|0$/m, 'no buffer is left pinned');
}
like($out, qr/^alive\|2048$/m, 'the session can still be used');

SKIP:
{
	skip 'the system does not show what a process has open', 2 unless $has_proc;
	my @open = $out =~ /^open\|(\d+)$/mg;
	my @mapped = $out =~ /^mapped\|(\d+)$/mg;
	# The first look may open something itself.
	is("@open[2, 3]", "@open[1, 1]", 'no file is left open');
	is("@mapped", '0 0 0 0', 'none is left mapped');
}

$session->quit;

# Functions of another script may have other columns.
my $library = ask($node, q{SELECT probin FROM pg_proc WHERE proname = 'pgbufprobe_status'});
for my $function ('status', 'checkup', 'working_set')
{
	my $set = $function eq 'status' ? '' : 'SETOF';

	ask($node, "CREATE FUNCTION other_$function(OUT a text, OUT b text) RETURNS $set record AS '$library', 'pgbufprobe_$function' LANGUAGE C");
	has_error($node, "SELECT * FROM other_$function()", '55000: function returns \d+ columns, but was created with 2\nHINT:  Create the extension again',
		"$function with other columns: an error");
}
has_no_crash($node);

$node->stop;
done_testing();
