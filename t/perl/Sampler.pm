# What the tests of the background worker have in common: a server with it, load that turns the hand, and
# questions that are asked until the answer is as expected.

package Sampler;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  $pool $worker sampler_node ask set becomes_true has_error worker_pid await_samples make_pages
  start_with sampler_log
);

our $pool = 2048;
our $worker = q{FROM pg_stat_activity WHERE backend_type = 'pgbufprobe sampler'};

my $conf = qq(
shared_buffers = $pool
autovacuum = off
shared_preload_libraries = pgbufprobe
pgbufprobe.history_interval = 100ms
# so that what is counted does not depend on what else the machine does
pgbufprobe.max_cpu_fraction = 1
pgbufprobe.advice_memory = 256kB
);

# A server with the sampler, not yet started.
sub init_node
{
	my ($name, $more) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', $conf . ($more // ''));
	return $node;
}

# The same, started; with a library of this directory in all its processes, if one is named.
sub sampler_node
{
	my ($name, $more, $library) = @_;
	my $node = init_node($name, $more);

	start_with($node, $library);
	$node->safe_psql('postgres', 'CREATE EXTENSION pgbufprobe');
	return $node;
}

my %libraries;

# Compiles a library of this directory, once; returns its path.
sub build_library
{
	my ($name) = @_;

	return $libraries{$name} if $libraries{$name};
	my $library = PostgreSQL::Test::Utils::tempdir_short() . "/$name.so";
	system('cc', '-O2', '-std=c11', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-o', $library,
		"t/unit/$name.c", '-ldl') == 0
	  or die "could not compile $name.c";
	return $libraries{$name} = $library;
}

sub start_with
{
	my ($node, $library) = @_;

	local $ENV{LD_PRELOAD} = $library ? build_library($library) : $ENV{LD_PRELOAD} // '';
	$node->start;
}

sub ask
{
	my ($node, $query) = @_;
	return $node->safe_psql('postgres', $query);
}

sub becomes_true
{
	my ($node, $query, $what) = @_;
	ok($node->poll_query_until('postgres', "SELECT $query"), $what);
}

sub has_error
{
	my ($node, $query, $error, $what) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$query;");
	like($err, qr/ERROR:  $error/, $what);
}

sub set
{
	my ($node, %settings) = @_;
	ask($node, "ALTER SYSTEM SET pgbufprobe.$_ = '$settings{$_}'") for sort keys %settings;
	$node->reload;
}

sub worker_pid { return ask($_[0], "SELECT pid $worker") }

# Waits for some samples more than there are.
sub await_samples
{
	my ($node, $more) = @_;
	my $last = ask($node, 'SELECT coalesce(max(taken_at), now()) FROM pgbufprobe_history()');

	$node->poll_query_until('postgres',
		"SELECT count(*) >= $more FROM pgbufprobe_history() WHERE taken_at > '$last'")
	  or die 'no samples are taken';
}

# A table of more pages than the pool has buffers, a row a page, and reads of random ones.
sub make_pages
{
	my ($node) = @_;
	ask($node, qq{
		CREATE TABLE pages (id int PRIMARY KEY, page text);
		ALTER TABLE pages ALTER page SET STORAGE PLAIN;
		INSERT INTO pages SELECT i, repeat('x', 5000) FROM generate_series(1, 3 * $pool) i;
		CREATE PROCEDURE load(turns int) LANGUAGE plpgsql AS \$\$
		DECLARE
			start bigint := ticks FROM pgbufprobe_clock();
			some_id int;
		BEGIN
			SET enable_seqscan = off;
			SET enable_bitmapscan = off;
			WHILE (SELECT ticks FROM pgbufprobe_clock()) < start + turns * $pool LOOP
				FOR i IN 1..$pool / 16 LOOP
					some_id := 1 + floor(random() * 3 * $pool);
					PERFORM length(page) FROM pages WHERE id = some_id;
				END LOOP;
				COMMIT;
				PERFORM pg_sleep(0.005);
			END LOOP;
		END \$\$});
}

# What the server has logged of the worker since an earlier position in its log, which is that of a start.
sub sampler_log
{
	my ($node, $from) = @_;
	my $log = substr(slurp_file($node->logfile), $from);
	return join "\n", grep { /pgbufprobe sampler|PANIC/ } split /\n/, $log;
}

1;
