# A light load after a heavy one: what the server measures is within the interval of today's size, other sizes are
# unknown, and nothing is forgotten. The second load is in proportion to what the machine managed of the first.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

my $node = sampler_node('main', "autovacuum = off\n");
make_pages($node);

# The first load has forty lookups in a transaction. So who asks at times is far below a tenth of its pace.
my $pages = ask($node, 'SELECT count(*) FROM pages');
my $heavy = write_script($node, 'heavy.sql', "SELECT count(page) FROM (SELECT 1 + floor(random() * $pages)::int AS key
	FROM generate_series(1, 40) OFFSET 0) AS drawn JOIN pages ON id = key;\n");
my $light = write_script($node, 'light.sql', "\\set id random(1, $pages / 48)\nSELECT length(page) FROM pages WHERE id = :id;\n");
my $today = 'FROM pgbufprobe_advice() WHERE size_factor = 1';

# Who asks all the time is a load.
sub comes_true_at_times
{
	my ($pause, $query, $what) = @_;
	my $answer = 'f';

	for (1 .. 60)
	{
		sleep $pause;
		last if ($answer = ask($node, "SELECT $query")) eq 't';
	}
	return is($answer, 't', $what);
}

# As long as it takes; at 500 transactions a second, if the machine manages these.
my $seconds = 30;
my $sizes_known = q{count(*) >= 8 AND count(*) FILTER (WHERE size_factor = 1) = 1 FROM pgbufprobe_advice() WHERE miss_ratio IS NOT NULL};
my ($transactions, $are_known);
for (1 .. 10)
{
	$transactions = finish_pgbench(start_pgbench($node, 'heavy', $seconds, '-c', 2, '-M', 'prepared', '-R', 500, '-f', $heavy));
	last if ($are_known = ask($node, "SELECT $sizes_known")) eq 't';
}
is($are_known, 't', 'heavy: sizes are known');
my $learned = ask($node, "SELECT miss_ratio_low $today");
cmp_ok($learned, '>', 0.1, 'and many accesses are reads');

# What the server has counted since; without these, the counts themselves.
my $counts = 'SELECT sum(blks_read) AS reads, sum(blks_hit + blks_read) AS accesses FROM pg_stat_database';
my $before;
# a 66th of the lookups
my $run = start_pgbench($node, 'light', 600, '-M', 'prepared', '-R', $transactions / $seconds * 40 / 66, '-f', $light);
comes_true_at_times(3, "note LIKE '%figures are those of the load before%' $today", 'light: the answer says what it is about');
comes_true_at_times(3, "miss_ratio_low < 0.01 $today", 'the interval includes the load now');
$before = ask($node, "SELECT reads || ', ' || accesses FROM ($counts) AS c");
comes_true_at_times(3, "c.accesses - n.accesses > 3000 FROM ($counts) AS c, (VALUES ($before)) AS n (reads, accesses)", 'the light load goes on');
my ($within, $known, $why, $note) = split /\|/, ask($node, "SELECT (c.reads - n.reads) / (c.accesses - n.accesses) BETWEEN a.miss_ratio_low AND a.miss_ratio_high,
	(SELECT count(*) FROM pgbufprobe_advice() WHERE miss_ratio IS NOT NULL AND size_factor > 1 AND mark IS DISTINCT FROM 'all data'),
	(SELECT note FROM pgbufprobe_advice() WHERE size_factor = 2), (SELECT note FROM pgbufprobe_verdict())
	FROM ($counts) AS c, (VALUES ($before)) AS n (reads, accesses), (SELECT * $today) AS a");
is($within, 't', 'what the server has measured is within');
is($known, '0', 'larger sizes are unknown');
like($why, qr/the load has less than a tenth of its usual pace/, 'for that reason');
like($note, qr/those of the load before/, 'which the verdict says as well');
$run->{run}->kill_kill;

comes_true_at_times(12, "miss_ratio_low >= 0.9 * $learned AND coalesce(note, '') NOT LIKE '%load before%' $today", 'idle: the load before remains known');

$node->stop;
has_no_crash($node);
done_testing();
