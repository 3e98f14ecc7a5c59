# On a server: the working set is the number of distinct blocks that a known workload uses, and the rows of relations
# add up to the advice. The monotonic clock runs ten times as fast, so that five minutes pass in half a minute.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

my $from_pages = q{FROM pgbufprobe_advice_relations() WHERE relation = 'pages'::regclass AND fork = 'main'};
my $five = 'FROM pgbufprobe_working_set() WHERE minutes = 5';
my ($node, @seen);

# Reads each of these pages by the index, a row a page.
sub read_pages
{
	my ($node, $first, $last) = @_;
	ask($node, $by_index . "SELECT count(length(page)) FROM pages WHERE id BETWEEN $first AND $last");
}

# Whether this comes true in time; keeps that with what it means.
sub is_seen
{
	my ($seconds, $query, $what) = @_;
	my $is_true = comes_true($node, $seconds, $query);
	push @seen, [ $is_true, $what ];
	return $is_true;
}

# Rows add up, but for rounding to four digits. The worker publishes once a second, so functions may answer from different times.
my $reads_seen = '(SELECT reads_seen FROM pgbufprobe_status())';
my $adds_up = join ' AND ', (map { qq{
	(SELECT bool_and(abs(r.saved - $reads_seen * (1 - a.miss_ratio / today.miss_ratio)) <= n + 0.0002 * $reads_seen AND abs(share - 1) < 0.01 AND n > 2)
	   FROM (SELECT count(*) AS n, sum(reads_saved) AS saved, sum(read_fraction) AS share FROM pgbufprobe_advice_relations($_)) AS r,
	        pgbufprobe_advice() AS today, pgbufprobe_advice() AS a
	  WHERE today.size_factor = 1 AND a.size_factor = $_)} } 2, 0.5), qq{
	(SELECT bool_and((saved IS NULL) = (today.storage_ratio IS NULL OR a.storage_ratio IS NULL)
	                 AND coalesce(abs(saved - (today.storage_ratio - a.storage_ratio) * accesses)
	                              <= n + 0.0002 * accesses, true) OR noise > 0)
	   FROM (SELECT count(*) AS n, sum(storage_reads_saved) AS saved,
	                count(*) FILTER (WHERE note LIKE '%storage reads: the change is smaller than its error%') AS noise
	         FROM pgbufprobe_advice_relations()) AS r,
	        (SELECT *, $reads_seen / miss_ratio AS accesses FROM pgbufprobe_advice() WHERE size_factor = 1) AS today,
	        (SELECT * FROM pgbufprobe_advice() WHERE size_factor = 2) AS a)};

# ---------------------------------------------------------------------------
# Everything is in the sample

$node = sampler_node('exact', "pgbufprobe.advice_memory = 2MB\npgbufprobe.history_interval = 1s\nautovacuum = off\n", FAST_CLOCK => 1);
make_pages($node);
becomes_true($node, "bytes IS NULL AND note LIKE 'observed without a gap for only % s' $five",
	'at first the working set of five minutes is unknown, and why');
becomes_true($node, "bytes IS NOT NULL $five", 'after five minutes it is known');
becomes_true($node, 'bool_and((bytes IS NULL) = (minutes > 5) AND (note IS NULL OR bytes IS NOT NULL OR minutes > 5))
	FROM pgbufprobe_working_set()', 'that of longer times is not');

# Pages that were not used for five minutes: a third of a pool, and some more. All must be seen before these are forgotten,
# and where the worker could not look for too long, nothing is known until they are. Then it is done again with other pages.
my $is_seen;
for my $first (1001, 2001, 3001)
{
	my $sum = '(SELECT sum(working_set_bytes) FROM pgbufprobe_advice_relations())';
	@seen = ();
	becomes_true($node, "bytes IS NOT NULL AND coalesce((SELECT working_set_bytes $from_pages), 0) = 0 $five",
		'the workload has stopped: no page of the table is in use');
	read_pages($node, $first, $first + 699);
	$is_seen = is_seen(20, "working_set_bytes = 700 * 8192 AND working_set_bytes_low = working_set_bytes_high $from_pages",
		'700 pages were read: they are the working set of the table');
	read_pages($node, $first + 500, $first + 899);
	$is_seen &&= is_seen(20, "working_set_bytes = 900 * 8192 $from_pages", '200 others and 200 of these: there are 900 now')
	  && is_seen(20, "bytes BETWEEN 900 * 8192 AND 1300 * 8192 AND bytes_low = bytes_high AND bytes % 8192 = 0 $five",
		'the whole working set has these, and some pages of indexes and catalogs')
	  && is_seen(20, "$sum = bytes $five", 'relations add up to the whole working set')
	  && is_seen(20, qq{bytes - 900 * 8192 = (SELECT sum(working_set_bytes) FROM pgbufprobe_advice_relations()
		WHERE relation IS DISTINCT FROM 'pages'::regclass OR fork <> 'main') $five},
		'it is the 900 pages of the table and those of all others');
	last if $is_seen;
}
ok(@$_) for @seen;
becomes_true($node, 'bool_and(one <= other) FROM (SELECT bytes AS one, lead(bytes) OVER (ORDER BY minutes) AS other
	FROM pgbufprobe_working_set()) AS w', 'no working set is larger than that of a longer time');

my $is_in_use;
for (1 .. 3)
{
	$node->poll_query_until('postgres', "SELECT bytes IS NOT NULL $five") or die 'the working set is unknown';
	ask($node, q{DROP TABLE IF EXISTS constant; CREATE TABLE constant (filler text)});
	ask($node, q{INSERT INTO constant SELECT repeat('x', 1000) FROM generate_series(1, 500)});
	ask($node, 'SELECT count(*) FROM constant') for 1 .. 10;
	$is_in_use = comes_true($node, 20, q{working_set_bytes > 0 FROM pgbufprobe_advice_relations()
		WHERE relation = 'constant'::regclass AND fork = 'main'});
	last if $is_in_use;
}
ok($is_in_use, 'a table in constant use: its pages are in use');
becomes_true($node, q{num_nulls(working_set_bytes, working_set_bytes_low, working_set_bytes_high) = 3
	AND note LIKE '%working set: no use shows, but usage counts at the maximum hide uses%' FROM pgbufprobe_advice_relations()
	WHERE relation = 'constant'::regclass AND fork = 'main'}, 'after five minutes it is unknown whether they still are, and why');

# ---------------------------------------------------------------------------
# Who gains

ask($node, 'CREATE DATABASE another');
ask($node, "CREATE TABLE there AS SELECT i, repeat('x', 1000) FROM generate_series(1, 2500) i", 'another');
# A busy machine may let the hand go too far between two looks.
my ($is_advice, $is_gain);
load_until($node, 16, sub {
	return 0 if ask($node, 'SELECT count(miss_ratio) FROM pgbufprobe_advice() WHERE size_factor IN (0.5, 1, 2)') < 3;
	$is_advice = comes_true($node, 10, $adds_up);
	$is_gain = comes_true($node, 10, "read_fraction > 0.8 AND read_fraction = (SELECT max(read_fraction) FROM pgbufprobe_advice_relations())
		AND reads_saved_low > 0 AND (SELECT reads_saved_high < 0 FROM pgbufprobe_advice_relations(0.5) WHERE relation = 'pages'::regclass AND fork = 'main')
		AND read_fraction * $reads_seen > 1000 AND database = 'postgres' AND relfilenode = pg_relation_filenode('pages') $from_pages");
	return $is_advice && $is_gain;
});
ok($is_advice, 'relations add up to the advice');
ok($is_gain, 'the table whose random pages are read is the one that gains');
my $at_both = '(SELECT * FROM pgbufprobe_advice_relations(2) UNION ALL SELECT * FROM pgbufprobe_advice_relations(0.5)) AS r';
is( ask($node, qq{SELECT string_agg(r::text, E'\\n') FROM $at_both
		WHERE NOT reads_saved BETWEEN reads_saved_low AND reads_saved_high
		   OR NOT storage_reads_saved BETWEEN storage_reads_saved_low AND storage_reads_saved_high
		   OR NOT working_set_bytes BETWEEN working_set_bytes_low AND working_set_bytes_high
		   OR num_nulls(reads_saved, reads_saved_low, reads_saved_high) NOT IN (0, 3)
		   OR num_nulls(storage_reads_saved, storage_reads_saved_low, storage_reads_saved_high) NOT IN (0, 3)}),
	'', 'each figure has its interval');
is( ask($node, qq{SELECT string_agg(r::text, E'\\n') FROM $at_both
		WHERE storage_reads_saved_low < 0 AND storage_reads_saved_high > 0 AND storage_reads_saved_high - storage_reads_saved > 0.1 * read_fraction * $reads_seen + 4}),
	'', 'no change of storage reads is noise');
has_error($node, 'SELECT * FROM pgbufprobe_advice_relations(3)', qr/22023: invalid size_factor 3\nHINT:  Valid factors are 2 and 0\.5\./, 'no other size');
is( ask($node, q{SELECT count(*) FROM (SELECT note, row_number() OVER () AS number FROM pgbufprobe_advice_relations()) AS r
		WHERE number > 1 AND note ~ 'still learning|too few recent reads|which (reads )?wait for storage|working set: observed without'}), 0, 'what is unknown of all relations is said once');
# Less than a quarter of the pool, which is not read through a ring.
my $is_listed;
for (1 .. 10)
{
	ask($node, 'SELECT count(*) FROM there', 'another');
	$is_listed = comes_true($node, 10, qq{count(*) = 1 AND count(relation) = 0 AND min(relfilenode) > 0
		FROM pgbufprobe_advice_relations()
		WHERE database = 'another' AND read_fraction * $reads_seen > 100 AND note LIKE 'of another database%'});
	last if $is_listed;
	# The worker has not looked in time, so there is another load.
	ask($node, 'CALL load(16)');
}
ok($is_listed, 'a table of another database has its number, and no name');
drop_database($node, 'another');
becomes_true($node, qq{count(*) = 1 AND count(database) = 0
	FROM pgbufprobe_advice_relations() WHERE note LIKE 'its database was dropped%' AND read_fraction * $reads_seen > 100},
	'a table of a database that was dropped: not even that name');
my $filenode = ask($node, q{SELECT pg_relation_filenode('pages')});
ask($node, 'DROP TABLE pages CASCADE');
becomes_true($node, "count(*) = 1 AND count(relation) = 0 AND min(note) LIKE 'its file was dropped, truncated or rewritten%'
	FROM pgbufprobe_advice_relations() WHERE relfilenode = $filenode AND fork = 'main'", 'a table that was dropped: the same, and why');

ask($node, 'SELECT pgbufprobe_history_reset()');
becomes_true($node, q{count(bytes) = 0 AND bool_and(note IS NOT NULL) FROM pgbufprobe_working_set()}, 'reset: no working set is known');
becomes_true($node, q{count(reads_saved) = 0 AND bool_and(note IS NOT NULL) FROM pgbufprobe_advice_relations()},
	'reset: of no relation it is known what it would gain');
$node->stop;

# ---------------------------------------------------------------------------
# A sample of a sixth

$node = sampler_node('sample', "pgbufprobe.advice_memory = 80kB\npgbufprobe.history_interval = 1s\nautovacuum = off\n", FAST_CLOCK => 1);
make_pages($node);
becomes_true($node, 'bytes IS NOT NULL FROM pgbufprobe_working_set() WHERE minutes = 1', 'a small sample: a minute is known first');
is( ask($node, "SELECT count(*) FROM pgbufprobe_working_set() WHERE bytes_low = bytes_high"), 0,
	'a small sample: each figure has an interval');
# They are forgotten after six seconds, in which the worker must not pause.
my $is_within;
for my $first (1, 1001, 2001, 3001, 4001)
{
	becomes_true($node, 'bytes_high < 1000 * 8192 FROM pgbufprobe_working_set() WHERE minutes = 1',
		'a small sample: fewer pages are in use');
	read_pages($node, $first, $first + 999);
	$is_within = comes_true($node, 6, q{bytes_high > 1000 * 8192 AND bytes_low < 1300 * 8192
		FROM pgbufprobe_working_set() WHERE minutes = 1});
	last if $is_within;
}
ok($is_within, 'a small sample: 1000 pages that were read are within the error');

# ---------------------------------------------------------------------------
# No worker, no memory

for (
	[ 'sampler = off', 'sampler is off', sampler => 'off' ],
	[ 'advice_memory = 0', 'advice_memory is 0', sampler => 'on', advice_memory => 0 ],
	[ 'advice_memory = 1kB', 'advice_memory is too small', advice_memory => 1 ])
{
	my ($what, $note, %settings) = @$_;

	set($node, %settings);
	for my $function ('pgbufprobe_working_set', 'pgbufprobe_advice_relations')
	{
		becomes_true($node, "bool_and(note LIKE '%$note%') FROM $function()", "$what: $function() says why it knows nothing");
	}
}
is(ask($node, 'SELECT count(*), count(bytes) FROM pgbufprobe_working_set()'), '4|0', 'a row for each time all the same');
$node->stop;

done_testing();
