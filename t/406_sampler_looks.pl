# The worker reads only some of the buffers, and still sees the pages that enter the pool: behind the hand, from the free
# list, and after a loss of knowledge.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

my $status = 'FROM pgbufprobe_status()';
# Many loads, as many as the server counts, of which checks have found hardly any that looks had missed.
my $seen = "coalesce(reads_seen > 500 AND abs(self_error) < 0.1 AND missed_fraction < 0.01, false) $status";

# A worker that had to wait for a processor may have lost some, which later loads outweigh. It counts once a second.
sub loads_are_seen
{
	my ($node, $load, $condition, $what) = @_;
	for (1 .. 12)
	{
		ask($node, "CALL $load");
		return pass($what) if comes_true($node, 5, $condition);
	}
	diag(ask($node, "SELECT reads_seen, self_error, missed_fraction $status"));
	return fail($what);
}

my $node = sampler_node('main');
make_pages($node);
# A slow machine has had a check by now: one comes with every sample of passes, so there have to be some more.
ask($node, 'SELECT pgbufprobe_history_reset()');
is(ask($node, "SELECT missed_fraction $status"), '', 'before a check it is unknown whether looks miss loads');
loads_are_seen($node, 'load(60)', $seen, 'looks see the loads behind the hand');

# ---------------------------------------------------------------------------
# Free buffers, which take pages anywhere

ask($node, q{
	CREATE PROCEDURE storm(tables int) LANGUAGE plpgsql AS $$
	DECLARE
		some_id int;
	BEGIN
		SET enable_seqscan = off;
		SET enable_bitmapscan = off;
		FOR n IN 1..tables LOOP
			-- through no ring, whose pages would stay in free buffers although they do not count
			EXECUTE 'CREATE TABLE dropped (LIKE pages)';
			EXECUTE 'INSERT INTO dropped SELECT i, repeat(''x'', 1000) FROM generate_series(1, 64) AS i';
			COMMIT;
			DROP TABLE dropped;
			COMMIT;
			FOR i IN 1..128 LOOP
				some_id := 1 + floor(random() * } . 3 * $pool . q{);
				PERFORM length(page) FROM pages WHERE id = some_id;
			END LOOP;
			COMMIT;
			PERFORM pg_sleep(0.005);
		END LOOP;
	END $$});
ask($node, 'SELECT pgbufprobe_history_reset()');
loads_are_seen($node, 'storm(600)', "coalesce(reads_seen > 500 AND abs(self_error) < 0.25, false) $status",
	'looks see the loads into free buffers');

# ---------------------------------------------------------------------------
# The worker begins anew

set($node, sampler => 'off');
becomes_true($node, "coalesce(max(taken_at) < now() - interval '500 ms', true) FROM pgbufprobe_history()", 'the worker is off');
ask($node, 'CALL load(5)');
set($node, sampler => 'on');
await_samples($node, 1);
loads_are_seen($node, 'load(60)', $seen, 'looks see the loads after the worker was off');
$node->stop;

done_testing();
