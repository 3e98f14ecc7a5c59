# What the kernel says of evicted pages, beside the simulated page cache: whether it has evicted them recently, and how many
# it reads again. The server believes to be on a machine with little memory, and the test drops pages from the page cache.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

my $meminfo = temp_path('meminfo');
put_memory($meminfo, 60000, 300000);
my $node = sampler_node('main', '', LITTLE_MEMORY => $meminfo);
make_pages($node);
plan skip_all => 'the page cache of this server is unknown, or that of a large machine' unless knows_little_memory($node);
plan skip_all => 'the kernel does not say what it has evicted'
	if ask($node, q{SELECT bool_and(method = 'cachestat') FROM pgbufprobe_os_cache('pages')}) ne 't';

my $status = 'FROM pgbufprobe_status()';
my $mglru = -e '/sys/kernel/mm/lru_gen/enabled' && (slurp_file('/sys/kernel/mm/lru_gen/enabled') =~ /^0x0*[13579bdf]/i);

is(ask($node, "SELECT recent_fraction IS NULL AND recent_fraction_low IS NULL AND recent_fraction_high IS NULL $status"), 't',
	'before anything is loaded, nothing is compared');

SKIP:
{
	skip 'the kernel has MGLRU, whose test is not simulated', 2 if $mglru;
	ok(load_from_storage_until($node, "coalesce(recent_fraction BETWEEN 0 AND 1 AND 0 <= recent_fraction_low
		AND recent_fraction_low <= recent_fraction_high AND recent_fraction_high <= 1, false) $status"), 'what was evicted is compared');
	put_memory($meminfo, 60000, 300000, 1000);
	ok(load_until($node, 1, "recent_fraction IS NULL $status"), 'with swap space, nothing is compared');
	put_memory($meminfo, 60000, 300000);
}

my $shows_refaults = -e '/proc/vmstat' && slurp_file('/proc/vmstat') =~ /^workingset_refault_file /m;
ok(load_until($node, 1, "(refaults_per_second IS NOT NULL) = (" . ($shows_refaults ? 'true' : 'false') . ") $status"),
	'refaults are counted where the kernel shows them');
becomes_true($node, "(SELECT storage_reads_per_second $status) > 0 FROM pgbufprobe_advice() WHERE size_factor = 1 AND storage_ratio > 0",
	'beside the storage reads of this server');

set($node, os_cache => 'off');
becomes_true($node, "recent_fraction IS NULL AND storage_reads_per_second IS NULL $status", 'without the page cache, nothing is compared');

$node->stop;
has_no_crash($node);
done_testing();
