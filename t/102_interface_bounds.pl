# One call may inspect a limited number of buffers, except for superusers. The hint says how many are allowed, and
# that many are. Where the limit takes long to reach, a copy of the library with a lower limit is tested.

use strict;
use warnings;

use File::Spec;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('main', $no_background_writes);

sub restart_with
{
	my ($buffers) = @_;

	$node->append_conf('postgresql.conf', "shared_buffers = $buffers\n");
	$node->restart;
	return;
}

# What is accepted is stopped before it takes long.
sub is_accepted
{
	my ($role, $query, $what) = @_;
	unlike(as_role($node, $role, "SET statement_timeout = '200ms';\n$query"), qr/ERROR:  (?!57014)/, "$what is accepted");
	return;
}

# The error of a call with this number, whose hint has another one that is accepted, and one more is not.
sub is_limited
{
	my ($query, $number, $most) = @_;
	my ($limit) = as_role($node, 'monitor', sprintf $query, $number) =~
	  /ERROR:  54000: cannot inspect more than \d+ buffer descriptors in one call\nHINT:  .* at most (\d+)\. Superusers are not limited\./;

	is($limit, $most, sprintf("$query is too much, and the hint has the largest number", $number));
	is_accepted('monitor', sprintf($query, $most), sprintf $query, $most);
	like(as_role($node, 'monitor', sprintf $query, $most + 1), qr/ERROR:  54000:/, sprintf "$query is too much", $most + 1);
	is_accepted('super', sprintf($query, $number), sprintf "of a superuser, $query", $number);
	return;
}

ask($node, q{
	CREATE ROLE super SUPERUSER;
	CREATE ROLE monitor IN ROLE pg_monitor;
	CREATE EXTENSION pgbufprobe;
	CREATE TABLE pages (page text);
	GRANT SELECT ON pages TO monitor;
	ALTER TABLE pages ALTER page SET STORAGE PLAIN;
	INSERT INTO pages SELECT repeat('x', 5000) FROM generate_series(1, 128);
	VACUUM FREEZE pages});

# ---------------------------------------------------------------------------
# As it is

# The largest pool of which no number of scans is too much, and one that is not.
restart_with(3333);
is_accepted('monitor', 'SELECT count(*) FROM pgbufprobe_scan_cost(10000)', '10,000 scans of 3,333 buffers');
restart_with(4096);
is_limited('SELECT count(*) FROM pgbufprobe_scan_cost(%d)', 10000, 8138);
# At most six times round before the first victim, and one buffer for each victim, in each scenario.
is_limited('SELECT count(*) FROM pgbufprobe_sweep_cost(%d)', 100000000, 50000000 - 6 * 4096);
is_limited("SELECT count(*) FROM pgbufprobe_sweep_cost(%d, 'current')", 100000000, 100000000 - 6 * 4096);
is_limited("SELECT count(*) FROM pgbufprobe_sweep_cost(%d, 'worst')", 100000000, 100000000 - 6 * 4096);

# ---------------------------------------------------------------------------
# With a bound of 100,000

my $copy = File::Spec->rel2abs("${PostgreSQL::Test::Utils::tmp_check}/bounded");
my $built = 0;
my $pg_config = $node->config_data('--bindir') . '/pg_config';
if (-e $node->config_data('--pgxs'))
{
	mkdir $copy;
	system('cp', '-a', 'Makefile', 'pgbufprobe.c', 'pgbufprobe.control', glob('*.sql'), 'src', $copy) == 0 or die 'could not copy the sources';
	my $source = slurp_file("$copy/src/pool/poolfuncs.c");
	$source =~ s/^(#define SMALL_TOTAL\s+INT64CONST)\(100000000\)$/$1(100000)/m or die 'there is no bound in src/pool/poolfuncs.c';
	unlink "$copy/src/pool/poolfuncs.c", "$copy/src/poolfuncs.o";
	append_to_file("$copy/src/pool/poolfuncs.c", $source);
	my ($out, $err) = run_command([ 'make', '-s', '-C', $copy, "PG_CONFIG=$pg_config", 'with_llvm=no', 'pgbufprobe.so' ]);
	$built = -e "$copy/pgbufprobe.so";
	diag("$out\n$err") unless $built;
}

SKIP:
{
	skip 'the library cannot be built here', 30 unless $built;

	# Functions of the copy beside those of the extension: a session has one or the other, by the first that it calls.
	ask($node, join '', map {
		my ($name, $arguments) = @$_;
		"CREATE FUNCTION bounded_$name($arguments) RETURNS SETOF record AS '$copy/pgbufprobe', 'pgbufprobe_$name' LANGUAGE C;
		 GRANT EXECUTE ON FUNCTION bounded_$name TO monitor;"
	} map { [ split /\|/, s/^pgbufprobe_//r ] } split /\n/, ask($node, q{
		SELECT proname, regexp_replace(pg_get_function_arguments(oid), E'\\n', ' ', 'g') FROM pg_proc
		 WHERE proname IN ('pgbufprobe_sweep_cost', 'pgbufprobe_scan_cost')}));
	my $sweep = 'SELECT count(*) FROM bounded_sweep_cost';
	# Each victim was free, or inspected.
	my $find = sub { "SELECT inspected + from_freelist >= $_[0] FROM bounded_sweep_cost(" . join(', ', $_[0], map { "'$_'" } @_[ 1 .. $#_ ]) . ')' };

	restart_with(2048);
	is_limited('SELECT count(*) FROM bounded_scan_cost(%d)', 10000, 16);
	is_limited("$sweep(%d)", 100000000, 50000 - 6 * 2048);
	is(as_role($node, 'monitor', $find->(87712, 'worst')), 't', 'what is accepted comes to its end');
	is(as_role($node, 'monitor', $find->(37712)), "t\nt", 'in both scenarios');

	# Twenty passes over a large pool are more than that, and more than the defaults.
	restart_with(16384);
	is_limited('SELECT count(*) FROM bounded_scan_cost(%d)', 10000, 6);
	is_limited('SELECT count(*) FROM bounded_scan_cost(%d, 0.25)', 10000, 26);
	is_limited("$sweep(%d)", 100000000, 4 * 16384);
	is_limited("$sweep(%d, 'worst')", 100000000, 14 * 16384);
	is(as_role($node, 'monitor', $find->(1000)), "t\nt", 'the default is less');

	# Half of the pool is pinned, so that each victim takes two buffers: that is noticed on the way.
	restart_with(128);
	my $pins = pin_pages(64);
	my ($few, $many) = map { $find->($_, 'current') } 20000, 90000;
	is(as_role($node, 'monitor', "BEGIN; $few;\n$pins $few"),
		"t\nt", 'with many pinned buffers, a few victims are found');
	like(as_role($node, 'monitor', "BEGIN; $few;\n$pins $many"),
		qr/ERROR:  54000: cannot inspect more than 100000 buffer descriptors in one call\nHINT:  Superusers are not limited\./,
		'but not as many as without');
	is(as_role($node, 'super', "BEGIN; $pins $many"), 't', 'unless a superuser looks for them');
}

$node->stop;
done_testing();
