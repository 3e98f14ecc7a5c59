# Servers with the background worker, load that turns the hand, and questions that are repeated until the answer is as
# expected.

package Sampler;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

our @EXPORT = qw(
  $pool $worker sampler_node ask set becomes_true worker_pid await_samples make_pages
  sampler_log
);

our $pool = 2048;
our $worker = q{FROM pg_stat_activity WHERE backend_type = 'pgbufprobe sampler'};

my $conf = qq(
shared_buffers = $pool
shared_preload_libraries = pgbufprobe
pgbufprobe.history_interval = 100ms
# so that what is counted does not depend on what else the machine does
pgbufprobe.max_cpu_fraction = 1
pgbufprobe.advice_memory = 256kB
);

# A started server with the sampler, and with a library of t/unit in all its processes, if one is named.
sub sampler_node
{
	my ($name, $more, $library) = @_;
	my $node = init_server($name, $conf . ($more // ''), allows_streaming => 1);

	start_with($node, $library);
	$node->safe_psql('postgres', 'CREATE EXTENSION pgbufprobe');
	return $node;
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
	ask(
		$node, keyed_pages('pages', 3 * $pool) . qq{
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
