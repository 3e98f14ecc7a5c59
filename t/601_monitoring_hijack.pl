# What collectors run cannot be taken over by those who may create objects in their database: the queries of all files, and
# role.sql, run as they are where decoys are in front of the server's own operators, casts and functions. A decoy raises an
# error when it runs.

use strict;
use warnings;

use CPAN::Meta::YAML;
use Decoys;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# All queries of a file, those within the text of the ConfigMap too.
sub queries_in
{
	my ($value) = @_;

	return map { queries_in($_) } @$value if ref $value eq 'ARRAY';
	return map { queries_in($_) } @$value{ sort keys %$value } if ref $value eq 'HASH';
	return $value =~ /^SELECT/ ? $value : ();
}

sub content
{
	my $text = slurp_file($_[0]);
	my ($inner) = $text =~ /^  queries: \|\n(.*)/ms;
	return @{ CPAN::Meta::YAML->read_string($inner ? $inner =~ s/^ {4}//mgr : $text) };
}

my %queries = map { $_ => [ queries_in(content($_)) ] } grep { slurp_file($_) =~ /^# Written by/ } glob 'monitoring/*/*.{yaml,yml}';
is(scalar keys %queries, 8, 'files with queries');

# ---------------------------------------------------------------------------
# A database whose owner is hostile, and who lets another role create objects in it, too

my $node = start_server('main', "shared_buffers = 16MB\nshared_preload_libraries = pgbufprobe");
ask($node, $_) for 'CREATE ROLE landlord', 'CREATE ROLE mallory', 'CREATE DATABASE shop OWNER landlord';
ask($node, q{
	CREATE SCHEMA pgbufprobe;
	CREATE EXTENSION pgbufprobe SCHEMA pgbufprobe;
	GRANT USAGE ON SCHEMA pgbufprobe TO pg_monitor;
	SET ROLE landlord;
	GRANT CREATE ON SCHEMA public TO mallory}, 'shop');

my @names = called_in(glob('pgbufprobe--*.sql'), 'monitoring/role.sql');
create_decoys($node, 'shop', 'mallory', @names, qw(extract now));
my (undef, $messages) = answer_and_messages($node, 'SET ROLE landlord; CREATE CAST (integer AS oid) WITHOUT FUNCTION', database => 'shop');
like($messages, qr/must be owner of type integer or type oid/, 'nobody else makes casts between types of the server');

# Runs queries in a session of its own, and returns the errors.
sub errors
{
	my ($role, $before, @queries) = @_;
	my $script = join '', "$before;\n", map { "$_;\n" } @queries;
	my (undef, undef, $errors) = $node->psql('shop', $script, extra_params => [ '-U', $role ], on_error_stop => 0);
	return $errors;
}

sub run_all
{
	my ($who, $role, $before) = @_;
	is(errors($role, $before, @{ $queries{$_} }), '', "$who: $_ runs nothing of them") for sort keys %queries;
}

my $superuser = ask($node, 'SELECT current_user');
my $old = q{SELECT avg_us / 1e6, dirty_victims::double precision / inspected FROM pgbufprobe.pgbufprobe_sweep_cost(10, NULL::text)};
my $exact = q{SELECT 1::bigint * 1::bigint};

sub role_sql
{
	my ($database) = @_;
	return run_command([ 'psql', '-X', '-v', 'role=monitor', '-f', 'monitoring/role.sql', $node->connstr($database) ]);
}

unlike((role_sql('shop'))[1], qr/ERROR/, 'role.sql runs nothing of them');
run_all('monitor', 'monitor', 'SET client_min_messages = error');
run_all('superuser as pg_monitor', $superuser, 'SET ROLE pg_monitor');
like(errors($superuser, 'SET ROLE pg_monitor', $old), qr/caught/, 'a query that does not match exactly is caught');
is(errors($superuser, 'SET ROLE pg_monitor', $exact), '', 'one that does is not');

# The owner decides about the search path of all others.
ask($node, 'SET ROLE landlord; ALTER DATABASE shop SET search_path = public, pg_catalog', 'shop');
unlike((role_sql('shop'))[1], qr/ERROR/, "role.sql, the server's last");
run_all("monitor, the server's last", 'monitor', 'SET search_path = public, pg_catalog');
run_all("superuser as pg_monitor, the server's last", $superuser, 'SET ROLE pg_monitor');
like(errors($superuser, 'SET ROLE pg_monitor', $exact), qr/caught/, 'each other query is caught');

# Where the extension is not, somebody else can make views of these names.
ask($node, 'CREATE DATABASE empty OWNER landlord');
ask($node, 'SET ROLE landlord; CREATE SCHEMA pgbufprobe; CREATE VIEW pgbufprobe.pgbufprobe_metrics_pool AS SELECT 1', 'empty');
my %predicates = map { $_ => 1 } grep { /AS predicate$/ } @{ $queries{'monitoring/cloudnativepg/configmap.yaml'} };
is(join(' ', map { ask($node, $_, 'empty') } keys %predicates), 'f', 'the predicate is false without the extension');
is(join(' ', map { ask($node, $_, 'shop') } keys %predicates), 't', 'and true with it');
like((role_sql('empty'))[1], qr/the extension "pgbufprobe" is not in this database/, 'role.sql says so');

$node->stop;
done_testing();
