# The background worker among many relations, and on a large pool.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

# ---------------------------------------------------------------------------
# Many relations

my $node = sampler_node('main');

ask($node, q{
	CREATE PROCEDURE make_tables(n int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1..n LOOP
			EXECUTE format('CREATE TABLE many_%s (i int)', i);
			EXECUTE format('INSERT INTO many_%s VALUES (%s)', i, i);
			IF i % 200 = 0 THEN COMMIT; END IF;
		END LOOP;
	END $$});
ask($node, 'CALL make_tables(10000)');
await_samples($node, 2);
samples_are_right($node, '10,000 relations');
stop_sampler($node);
# Told as part of the question, since looking up names loads pages, and asked twice.
my $sums = qq{
	SELECT h.used = r.buffers, r.many > 100
	  FROM (SELECT sum(buffers) AS used FROM pgbufprobe_usagecount_histogram() WHERE usagecount IS NOT NULL) AS h,
	       (SELECT sum(buffers) AS buffers, count(*) AS many FROM pgbufprobe_relations()) AS r};
is((split /\n/, ask($node, "$sums; $sums"))[1], 't|t', '10,000 relations: the sums agree');
is( ask($node, q{
		SELECT count(*), bool_and(blocks = 1) FROM pgbufprobe_residency()
		 WHERE fork = 'main' AND relation::text LIKE 'many\_%'}),
	'10000|t', '10,000 relations: all are looked up in the page cache');
is(ask($node, 'SELECT count(*) FROM pgbufprobe_checkup()'), 9, '10,000 relations: the checkup answers');
$node->stop;

# ---------------------------------------------------------------------------
# A large pool: only descriptors are touched

SKIP:
{
	my ($memory_kb) = -r '/proc/meminfo' ? slurp_file('/proc/meminfo') =~ /^MemTotal:\s*(\d+)/m : 0;
	skip 'this machine has less than 16 GB of memory', 4 if $memory_kb < 16 * 1024 * 1024 * 0.95;
	my $large = 1572864;

	$node = sampler_node('large', "shared_buffers = $large\npgbufprobe.advice_memory = -1\n");
	await_samples($node, 3);
	samples_are_right($node, '12 GB', $large);
	is( ask($node, q{SELECT sum(buffers) FROM pgbufprobe_usagecount_histogram()}), $large, '12 GB: the histogram has all');
	is( ask($node, q{SELECT shared_buffers_bytes FROM pgbufprobe_advice() WHERE size_factor = 4}), 4 * $large * 8192,
		'12 GB: four times that');
	is(ask($node, q{SELECT count(*) FROM pgbufprobe_checkup()}), 9, '12 GB: the checkup answers');
	$node->stop;
}

done_testing();
