# A user may have put objects of any name into the schema in which a superuser creates the extension. The script, the
# views and the defaults of the functions use the server's own operators and functions all the same. There is a decoy
# of each for all pairs of types, which would be preferred where the server's own does not match exactly. A decoy
# raises an error when it is called.

use strict;
use warnings;

use Decoys;
use Interface '$members';
use Server;
use Test::More;

my $node = start_server('main', 'shared_buffers = 16MB');
ask($node, 'CREATE ROLE mallory');

sub trap { return $node->safe_psql('trap', $_[0]) }

# Of our own, those that can be called with fewer arguments than they have.
ask($node, 'CREATE EXTENSION pgbufprobe');
my @ours = split /\n/, ask($node, qq{
	SELECT format('%s(%s)', proname, (SELECT coalesce(string_agg(format_type(t, NULL), ', ' ORDER BY n), '')
	         FROM unnest(proargtypes::oid[]) WITH ORDINALITY AS a(t, n) WHERE n <= given))
	  FROM pg_proc JOIN $members AS m ON classid = 'pg_proc'::regclass AND objid = oid,
	       generate_series(pronargs - pronargdefaults, pronargs - 1) AS given});
cmp_ok(scalar @ours, '>', 10, 'there are functions with defaults');

# All that may be called.
my @words = called_in(glob 'pgbufprobe--*.sql');
my $words = join ', ', map { "'$_'" } @words;
my $theirs = ask($node, "SELECT string_agg(DISTINCT quote_literal(proname), ', ') FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
	  AND prokind IN ('f', 'a', 'w') AND proname IN ($words)");
like($theirs, qr/'aclexplode', .*'format', .*'string_agg', .*'sum', .*'trunc'/, 'and functions of the server that are called');

ask($node, 'CREATE DATABASE trap');
trap('GRANT CREATE ON SCHEMA public TO mallory');
trap('SET ROLE mallory; ' . join ' ', map { "CREATE FUNCTION public.$_ RETURNS integer LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''caught''; END';" } @ours);
create_decoys($node, 'trap', 'mallory', @words);

# Of an operator or a function of the server's own no dependency is kept; that on a decoy is.
my $taken_in = q{
	SELECT coalesce(pg_catalog.string_agg(DISTINCT concat_ws(' uses ', pg_describe_object(d.classid, d.objid, d.objsubid),
	                                              pg_describe_object(d.refclassid, d.refobjid, 0)), E'\n'), '')
	  FROM pg_depend d
	 WHERE d.classid <> 'pg_operator'::regclass::oid AND d.classid <> 'pg_cast'::regclass::oid AND d.refobjid IN (
		SELECT oid FROM pg_proc WHERE proowner = 'mallory'::regrole::oid
		UNION ALL SELECT oid FROM pg_operator WHERE oprowner = 'mallory'::regrole::oid)};

is(trap($taken_in), '', 'nobody uses the decoys');
# The script would fail if it called one.
trap('CREATE EXTENSION pgbufprobe SCHEMA public');
is(trap($taken_in), '', 'nor do the functions and the views of the extension');
is(trap('SELECT pg_catalog.count(*) FROM pgbufprobe_snapshot_diff(pgbufprobe_snapshot(), pgbufprobe_snapshot(), false)'), 7, 'which answer');
is(trap('SELECT duplicate_fraction IS NOT NULL FROM pgbufprobe_double_buffering'), 't', 'the view too');
is(trap('SELECT pg_catalog.count(bytes) FROM pgbufprobe_metrics_pool'), 7, 'and those for collectors');
is(trap('SELECT pg_catalog.count(*) FROM pgbufprobe_checkup()'), 9, 'as they should');

# Who is less careful gets caught.
trap(q{
	CREATE FUNCTION careless(x double precision) RETURNS boolean BEGIN ATOMIC SELECT x < 1; END;
	CREATE VIEW careless AS SELECT format('%s', relname) AS one FROM pg_class});
my $caught = trap($taken_in);
like($caught, qr/^function careless\(double precision\) uses operator <\(double precision,integer\)$/m, 'decoys of operators work');
my (undef, undef, $error) = $node->psql('trap', 'SELECT quote_ident(extname) FROM pg_extension');
like($error, qr/ERROR:  caught/, 'and a decoy that is called raises an error');
like($caught, qr/view careless uses function format\(text,name\)$/m, 'and those of functions');

$node->stop;
done_testing();
