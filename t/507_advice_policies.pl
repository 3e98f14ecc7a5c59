# On a server: other replacement policies are simulated while a setting is on, today's has the figures of the advice, and
# where something is unknown, a note says why.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

my $policies = 'FROM pgbufprobe_policies()';
my $node = sampler_node('main', "pgbufprobe.advice_memory = 2MB\nautovacuum = off\n");
make_pages($node);

is(ask($node, "SELECT string_agg(DISTINCT policy, ', ' ORDER BY policy), string_agg(DISTINCT size_factor::text, ' ') $policies"),
	'LRU, S3-FIFO, clock 1, clock 15, clock 2, clock 5, clock 5, 2 hands, clock 5, 4 hands, clock 5, batches of 64, optimum|0.5 1 2', 'a row for each policy and size');
is(ask($node, "SELECT count(*), string_agg(DISTINCT note, ','), count(miss_ratio) + count(change) + count(saved_ms_per_second) $policies"),
	'30|pgbufprobe.policies is off|0', 'off: nothing is known, and why');

set($node, policies => 'on');
# If it is learned before anyone asks, all is known at once.
ok(load_until($node, 1, "bool_or(note ~ '^still learning: \\d+ % of a pool of this size have been filled\$') OR count(miss_ratio) > 3 $policies"),
	'on: it begins to learn');

# Pages are read at random, so that no policy is much better than another one, but for the optimum.
ok(load_until($node, 6, "count(miss_ratio) = 30 $policies"), 'all policies become known');
ok(load_until($node, 6, "count(*) = 3 $policies AS p JOIN pgbufprobe_advice() AS a USING (size_factor)
	WHERE policy = 'clock 5' AND p.miss_ratio = a.miss_ratio AND p.miss_ratio_low = a.miss_ratio_low
	  AND p.miss_ratio_high = a.miss_ratio_high AND change = 0 AND change_low = 0 AND change_high = 0"),
	q{the server's own policy is that of pgbufprobe_advice()});
ok(load_until($node, 6, "bool_and(miss_ratio BETWEEN miss_ratio_low AND miss_ratio_high AND miss_ratio_low >= 0 AND miss_ratio_high <= 1
	AND change BETWEEN change_low AND change_high AND abs(p.miss_ratio - today - change) < 0.001)
	$policies AS p JOIN (SELECT size_factor, miss_ratio AS today $policies WHERE policy = 'clock 5') AS t USING (size_factor)"),
	'each interval has its figure, and the change is the difference');
ok(load_until($node, 6, "bool_and(CASE policy WHEN 'optimum' THEN change_high < -0.05 ELSE abs(change) < 0.05 END) $policies WHERE size_factor = 1"),
	'reads at random: only the optimum misses less');
ok(load_until($node, 6, "count(miss_ratio) = 30 AND bool_and(num_nonnulls(saved_ms_per_second, saved_ms_low, saved_ms_high) IN (0, 3)
	AND coalesce(saved_ms_per_second BETWEEN saved_ms_low AND saved_ms_high, note LIKE '%the time is unknown%')) $policies"),
	'time that is saved has an interval, or is unknown, and why');
ok(load_until($node, 6, "count(miss_ratio) = 3 AND bool_and(note LIKE 'a bound in hindsight%') $policies WHERE policy = 'optimum'"), 'the optimum is no policy');

# Which evicted pages are read again is known without any other policy.
ok(load_until($node, 6, "bool_or(used_once_fraction BETWEEN 0 AND 1 AND read_again_fraction BETWEEN 0 AND 1)
	AND bool_and((used_once_fraction IS NULL) = (read_again_fraction IS NULL)) FROM pgbufprobe_history()"),
	'evicted pages, of the pool');
ok(load_until($node, 6, 'bool_or(read_again_fraction BETWEEN 0 AND 1) FROM pgbufprobe_advice_relations()'), 'and of a relation');

# What is learned of sizes remains when policies end.
set($node, policies => 'off');
becomes_true($node, "bool_and(note = 'pgbufprobe.policies is off' AND miss_ratio IS NULL) $policies", 'off again');
ok(load_until($node, 6, 'count(miss_ratio) = 3 FROM pgbufprobe_advice() WHERE size_factor IN (0.5, 1, 2)'), 'and the advice knows what it knew');
# The worker notices that within two seconds.
await_samples($node, 25);
set($node, policies => 'on');
becomes_true($node, "bool_or(note LIKE 'still learning%') $policies", 'on again: it begins to learn');

# Other settings of the advice
set($node, advice_memory => '0');
becomes_true($node, "bool_and(note = 'pgbufprobe.advice_memory is 0') $policies", 'without advice, no policies');
set($node, advice_memory => '20kB');
becomes_true($node, "bool_and(note LIKE '%memory for them is not available') $policies", 'too little memory');
set($node, advice_memory => '2MB');
ok(load_until($node, 6, "count(miss_ratio) = 30 $policies"), 'enough of it');

# A report that was saved has no policies.
$node->restart;
becomes_true($node, "count(miss_ratio) = 0 AND bool_and(note LIKE 'still learning%') $policies", 'after a restart, all is learned again');
set($node, sampler => 'off');
is(ask($node, "SELECT DISTINCT note $policies"), 'nothing watches this server, because pgbufprobe.sampler is off', 'no sampler');

has_no_crash($node);
$node->stop;
done_testing();
