# The memory that a question about one small relation takes does not grow with the pool. No server here fills its
# pool, since unused buffers take no memory.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

plan skip_all => 'the kernel does not say how much memory a process has' unless -r '/proc/self/status';

my $node = start_server('main', 'huge_pages = off');
ask($node, 'CREATE EXTENSION pgbufprobe; CREATE TABLE small AS SELECT 1 AS n; CHECKPOINT');
$node->stop;

# Kilobytes of address space that a call takes at its peak beyond what its session has had before, in a
# session that has done all else that the call needs.
sub growth
{
	my ($call) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	my $peak = sub { slurp_file("/proc/$pid/status") =~ /^VmPeak:\s+(\d+) kB/m ? $1 : die };

	$session->query_safe($_)
	  for q{SELECT count(*) FROM pgbufprobe_os_cache('small'), pg_class},
	  q{SELECT count(*) FROM pgbufprobe_usagecount_histogram('small')}, 'SELECT count(*) FROM pgbufprobe_scan_cost(1)',
	  'SELECT count(*) FROM generate_series(1, 10000)';
	my $before = $peak->();
	$session->query_safe("SELECT count(*) FROM $call");
	my $growth = $peak->() - $before;
	$session->quit;
	return $growth;
}

my @calls = (q{pgbufprobe_residency('small')}, q{pgbufprobe_residency('small', 100)}, 'pgbufprobe_residency()', 'pgbufprobe_relations()');
my %growth;
for my $pool ('16MB', '4GB')
{
	$node->append_conf('postgresql.conf', "shared_buffers = $pool");
  SKIP:
	{
		skip "no server with shared_buffers = $pool here", scalar @calls unless $node->start(fail_ok => 1);
		for my $call (@calls)
		{
			$growth{$call}{$pool} = growth($call);
			note("$call, shared_buffers = $pool: $growth{$call}{$pool} kB");
			next if $pool eq '16MB';
			# Eight bytes for each buffer would be 4 MB.
			cmp_ok($growth{$call}{$pool}, '<', $growth{$call}{'16MB'} + 1024, "$call: a large pool takes no more memory than a small one");
		}
		$node->stop;
	}
}

done_testing();
