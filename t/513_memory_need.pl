# How much memory the load needs: each total with its best split, targets, and what the checkup says. The server believes to
# be on a machine with little memory, so that its small pool has a small page cache below it.

use strict;
use warnings;

use Checkup;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use StateFile;
use Test::More;

my $meminfo = temp_path('meminfo');
put_memory($meminfo, 90000, 300000);
my $node = sampler_node('main', "track_io_timing = on\nmax_connections = 10\nmax_worker_processes = 2\nmax_wal_senders = 2\n"
	  . "work_mem = 64kB\nmaintenance_work_mem = 1MB\n", LITTLE_MEMORY => $meminfo);

sub start_on_machine { return start_with($node, LITTLE_MEMORY => $meminfo) }

# ---------------------------------------------------------------------------
# Targets

for my $target ('much', '', 'storage', 'storage 101 %', '50', '-1 ms/s', '20 % time', 'today x', 'nan ms/s')
{
	has_error($node, "SELECT * FROM pgbufprobe_memory('$target')", qr/22023: invalid target "\Q$target\E"\nHINT:  Valid targets are like "storage 0\.5 %" \(0 to 100\), "50 ms\/s", "today", and "-20 % time" \(-99 to 0\)\./,
		"target \"$target\": which would be right");
}

# ---------------------------------------------------------------------------
# Before anything is known

my @columns = ('shared_buffers_bytes', 'os_cache_bytes', 'storage_ratio', 'read_ms_per_second');
is(ask($node, "SELECT count(*), min(mark), count(note), count(storage_ratio) FROM pgbufprobe_memory('today')"),
	'1|today|1|0', 'at first, one row says why nothing is known');

make_pages($node);

if (!knows_little_memory($node))
{
	note('the page cache of this server is unknown, or that of a large machine');
	done_testing();
	exit;
}

# ---------------------------------------------------------------------------
# Totals

# All that follows is of one answer, since the advice goes on.
my $is_known;
for (1 .. 10)
{
	last if !load_from_storage_until($node, 'count(read_ms_low) >= 6 FROM pgbufprobe_memory()');
	ask($node, q{DROP TABLE IF EXISTS answer;
		CREATE TABLE answer AS SELECT row_number() OVER () AS n, m.* FROM pgbufprobe_memory() AS m});
	$is_known = ask($node, 'SELECT count(read_ms_low) >= 6 FROM answer') eq 't';
	last if $is_known;
}
ok($is_known, 'it becomes known what other totals of memory would do')
  or diag(ask($node, 'SELECT m FROM pgbufprobe_memory() AS m'));
# In a file of values, 11 totals may be of 12 rows: today's memory as it is divided, and as is advised.
is(ask($node, q{SELECT count(DISTINCT memory_bytes) FROM answer}), '11', 'eleven totals');
my $both = q{(shared_buffers_bytes + os_cache_bytes)::float8 / (SELECT shared_buffers_bytes + os_cache_bytes FROM answer WHERE mark ~ 'today')};
is(ask($node, qq{SELECT count(*) > 5, min($both) > 0.23, max($both) < 4.1 FROM answer WHERE os_cache_bytes IS NOT NULL}), 't|t|t', 'of a quarter to four times of both caches');
is(ask($node, q{SELECT count(*) FILTER (WHERE n <> by_memory), count(*) FILTER (WHERE mark ~ 'today' AND shared_buffers_bytes = 2048 * 8192)
	FROM (SELECT *, row_number() OVER (ORDER BY memory_bytes, n) AS by_memory FROM answer) AS a}), '0|1', 'in the order of memory, with one of today as it is divided');
my $without_reason = q{SELECT count(*) FROM answer WHERE num_nonnulls(storage_ratio, note) = 0 OR num_nulls(} . join(', ', @columns) .
  q{) NOT IN (0, 4) AND coalesce(note, '') !~ 'unknown'};
is(ask($node, $without_reason), '0', 'all figures of a total, or a note that says why not');
is(ask($node, q{SELECT count(*) FROM answer WHERE NOT (storage_ratio BETWEEN storage_ratio_low AND storage_ratio_high
		AND storage_ratio BETWEEN 0 AND 1 AND read_ms_per_second BETWEEN read_ms_low AND read_ms_high)}), '0',
	'each within its interval') or diag(ask($node, 'SELECT a FROM answer AS a'));
# Buffers have descriptors and the like, 2.3 %, and WAL has buffers: at most 4 % and 16 MB of the pool.
is(ask($node, q{SELECT max(rest) - min(rest) < 0.1 * max(shared_buffers_bytes) FROM (
	SELECT *, memory_bytes - shared_buffers_bytes - os_cache_bytes AS rest FROM answer WHERE shared_buffers_bytes IS NOT NULL) AS a}), 't',
	'what both caches leave of the machine is the same with each total');
is(ask($node, q{SELECT a.memory_bytes = p.today_bytes FROM answer AS a, pgbufprobe_memory_consumers() AS p WHERE a.mark ~ 'today' AND p.consumer = 'total'}), 't',
	'with today\'s memory, the machine is the one that runs');
is(ask($node, q{SELECT a.memory_bytes, b.memory_bytes, a.shared_buffers_bytes, a.storage_ratio, b.storage_ratio
	FROM answer AS a JOIN answer AS b ON a.memory_bytes < b.memory_bytes AND a.shared_buffers_bytes = b.shared_buffers_bytes
	WHERE a.storage_ratio < b.storage_ratio * 0.9999}), '', 'more memory below the same pool never waits more');
like(ask($node, q{SELECT note FROM answer WHERE mark ~ 'today'}), qr/the server's own memory takes [\d.]+ [kM]B more, [\d.]+ [kM]B of it for WAL, others and the kernel [\d.]+ [kM]B/,
	'what takes memory beside both caches is said');

# ---------------------------------------------------------------------------
# The least memory that meets a target

my $found = q{FROM pgbufprobe_memory('%s') WHERE mark ~ '(target|best)$'};

# An answer that may be unknown for a moment, or need more load.
sub becomes_like
{
	my ($query, $pattern, $what) = @_;
	my $goes_on = patience();
	my $answer;

	while ($goes_on->())
	{
		$answer = ask($node, $query);
		last if $answer =~ $pattern;
		load_from_storage_once($node);
	}
	return like($answer, $pattern, $what);
}
sub is_found { return becomes_like(sprintf("SELECT $_[0] $found", $_[1]), $_[2], $_[3]) }

is_found(q{count(*), bool_and(mark ~ 'target' AND memory_bytes <= (SELECT memory_bytes FROM pgbufprobe_memory() WHERE mark ~ 'today') * 1.001)}, 'today', qr/^1\|t$/, 'less memory than today\'s, or as much, is no worse than today');
is_found(q{count(*), bool_and(mark ~ 'target')}, 'storage 100 %', qr/^1\|t$/, 'any memory is enough for so many storage reads');
# What is known may have changed since.
becomes_true($node, sprintf("memory_bytes <= (SELECT min(memory_bytes) FROM pgbufprobe_memory() WHERE storage_ratio IS NOT NULL) * 1.001 $found", 'storage 100 %'),
	'so the least that is known');
is_found('note', 'storage 100 %', qr/less memory may do, too, but is not known/, '... of which there may be less');
is_found(q{count(*), bool_and(mark ~ 'best' AND note ~ '(no size meets the target; this is the best that can be had|no known size meets the target)')},
	'-99 % time', qr/^1\|t$/, 'what no size reaches: the best');
# The advice may go on between the calls.
my $needs = q{(SELECT %s FROM (SELECT %s * read_ms_per_second AS goal FROM pgbufprobe_memory() WHERE mark ~ 'today') AS a,
	pgbufprobe_memory(goal || ' ms/s') WHERE mark ~ '(target|best)$')};
becomes_true($node, sprintf($needs, "mark ~ 'target' AND read_ms_per_second <= 1.001 * goal", 1.5), 'what is named for so much waiting has no more');
becomes_true($node, join(' >= ', map { sprintf $needs, 'memory_bytes', $_ } 0.9, 1.5), 'less waiting never needs less memory');
becomes_true($node, q{count(*) > 0 AND bool_and(v.needed_bytes = m.memory_bytes AND v.shared_buffers_bytes = m.shared_buffers_bytes)
	FROM pgbufprobe_metrics_memory AS v, pgbufprobe_memory(v.goal) AS m WHERE m.mark ~ 'target'}, 'collectors have the same');

# ---------------------------------------------------------------------------
# The checkup

my $memory;
ok( wait_for
	{
		load_from_storage_once($node);
		($memory = checkup($node)->{memory})->{says} =~ /^(fine SAME_MEMORY|consider (LESS_MEMORY|MORE_MEMORY [\d.]+ [kMG]B,))/;
	}, 'the checkup answers from the same figures');
is($memory->{action} eq '', $memory->{verdict} eq 'fine', '... with an action unless all is fine');
unlike($memory->{detail}, sentence('MORE_SEEN'), '... of the load now');
like(ask($node, q{SELECT note FROM answer WHERE mark ~ 'today'}), qr/; by the load now/, '... as the note of today says');

# ---------------------------------------------------------------------------
# The hours of the verdict: those of before a restart, as if each had been seen for two hours, with a thousand times the load.
# Sessions would wait three tenths less with any other pool, give or take all of it.

# The hour is about the memory that lasts longest in it, and that is found only after the first seconds; all the more where the
# worker had to wait, or a new hour has begun.
my $file = state_file($node);
my @waiting = qw(accesses storage_reads storage_error ms error change change_error);
my @hour = (qw(seconds accesses reads active_ms counted_ms read_ms read_ms_seconds memory memory_seconds),
	map({ my $size = $_; map { "sizes[$size].$_" } @waiting } 0 .. 10), map { my $split = $_; map { "splits[$split].$_" } @waiting } 0 .. 29);
locate(map { "hours.$_" } @hour);
# Of two hours, one may have had another memory than there is after the restart.
my ($bytes, $accesses, $storage_reads, $known, @ratios);
for (1 .. 5)
{
	for (1 .. 10)
	{
		ask($node, 'CALL load(1)');
		sleep 1;
	}
	$node->stop;
	$bytes = slurp_file($file);
	($accesses, $storage_reads, $known, @ratios) = (0, 0, 0);
	for my $number (0 .. value_of($bytes, 'nhours') - 1)
	{
		my %hour = map { ($_ => value_of($bytes, "hours[$number].$_")) } @hour;
		# What was learned last was not known from the beginning.
		next if $hour{memory} == 0;
		my @split_accesses = sort { $a <=> $b } map { $hour{"splits[$_].accesses"} } 0 .. 29;
		my $today = 'sizes[5]';

		$hour{accesses} = $split_accesses[-1];
		$known = grep { $_ > 0.8 * $hour{accesses} } @split_accesses;
		$accesses += $hour{"$today.accesses"};
		$storage_reads += $hour{"$today.storage_reads"};
		push @ratios, $hour{"$today.storage_reads"} / $hour{"$today.accesses"} if $hour{"$today.accesses"} > 0;
		for my $size (grep { $hour{"sizes[$_].accesses"} > 0 } 0 .. 10)
		{
			my $scale = $hour{"$today.accesses"} / $hour{"sizes[$size].accesses"};
			$hour{"sizes[$size].$_"} *= $scale for @waiting;
			@hour{"sizes[$size].change", "sizes[$size].change_error"} = (-0.3 * $hour{"$today.ms"}, $hour{"$today.ms"}) if $size != 5;
		}
		$hour{$_} *= 1000 for grep { !/^(?:seconds|memory)/ } @hour;
		$hour{seconds} = $hour{memory_seconds} = 7200;
		$bytes = with_values($bytes, map { ("hours[$number].$_" => $hour{$_}) } @hour);
	}
	last if $known > 1;
	start_on_machine();
	load_from_storage_until($node, 'count(read_ms_low) >= 6 FROM pgbufprobe_memory()');
}
cmp_ok($known, '>', 1, 'the hour has splits of other totals');
replace_file($file, $bytes);
start_on_machine();
# Until it has been used, shared memory counts as taken from what seems to be free.
ask($node, 'CALL load(1)');
ok( wait_for
	{
		ask($node, q{DROP TABLE answer; CREATE TABLE answer AS SELECT * FROM pgbufprobe_memory()});
		ask($node, q{SELECT count(*) > 0 FROM answer WHERE mark ~ 'today' AND note ~ 'seen: [24]\S* of the last 2[45] hours'}) eq 't';
	}, 'after a restart, the answer is that of the hours, and says so');
is(ask($node, $without_reason), '0', '... with all figures, or a note that says why not');
note(ask($node, "SELECT read_ms_per_second, note FROM answer"));
is(ask($node, 'SELECT count(storage_ratio) FROM pgbufprobe_advice() WHERE size_factor = 1'), '0', '... although nothing is known of the load now');
is(ask($node, q{SELECT count(*) > 1, bool_and(read_ms_per_second BETWEEN read_ms_low AND read_ms_high AND storage_ratio BETWEEN storage_ratio_low AND storage_ratio_high)
	FROM answer WHERE read_ms_per_second IS NOT NULL}), 't|t', '... with intervals, and other totals');
is(ask($node, sprintf(q{SELECT bool_or(abs(storage_ratio - expected) <= 0.01 * storage_ratio)
	FROM answer, unnest(ARRAY[%s]::float8[]) AS expected WHERE mark ~ 'today'}, join(', ', $storage_reads / $accesses, @ratios))), 't',
	'... and the storage reads of the hours');
becomes_true($node, q{a.read_ms_per_second BETWEEN 0.99 * v.waiting AND 1.01 * v.waiting FROM answer AS a,
	(SELECT read_ms_per_second AS waiting FROM pgbufprobe_verdict() WHERE basis = 'waiting in hours') AS v WHERE a.mark ~ 'today'}, '... and the waiting of the verdict');
ok(wait_for { ($memory = checkup($node)->{memory})->{detail} =~ sentence('MORE_SEEN') }, '... as the checkup says');
like(($memory->{detail} =~ sentence('MORE_SEEN'))[0], qr/^[24]\S* of the last 2[45] hours$/, '... and how many hours');
my $size;
ok(wait_for { ($size = checkup($node)->{size})->{says} eq 'unknown UNSURE 16 MB' }, '... and that no size is better for certain');
like(join('|', $size->{detail} =~ sentence('MORE_UNSURE')), qr/^[\d.]+ [kM]B\|\S+ % \(\S+ to \S+\)\|waiting\|/, '... with the best one');
like($size->{action}, qr/ALTER SYSTEM SET track_io_timing = on;/, '... and what would be more certain');
is(ask($node, 'SELECT verdict, basis, num_nulls(advised_bytes, equal_from_bytes, saved_ms_per_second) FROM pgbufprobe_verdict()'),
	'unknown|waiting in hours|3', '... so that none is advised');
$node->stop;
start_on_machine();
ok(wait_for { my $rows = checkup($node); "$rows->{size}{says}|$rows->{'page lifetime'}{says}" =~ /^unknown UNSURE .*\|fine NEVER_EVICTED$/ },
	'... which decide before any page is evicted');
ask($node, 'CALL load(1)');
put_memory($meminfo, 190000, 300000);
becomes_true($node, q{count(*) = 1 AND count(storage_ratio) = 0 FROM pgbufprobe_memory()}, 'with other memory, these hours do not count');
# In all, in the pool, in the page cache, and in both.
put_memory($meminfo, 600000, 700000);
my @mb;
wait_for
{
	my $row = checkup($node)->{'planner cache'};
	@mb = map { ask($node, "SELECT pg_size_bytes('$_') / 1048576.0") } $row->{says} =~ /, ([^,]*)$/, $row->{detail} =~ sentence('MORE_PLANNER');
	ask($node, 'CALL load(1)');
	return $mb[2] > 100 && $mb[3] > 4;
};
cmp_ok($mb[3], '>', 4, '... a part of the pool is in the page cache, too');
cmp_ok(abs($mb[1] + $mb[2] - $mb[3] - $mb[0]), '<', 2, '... and counts once in what both caches hold');
put_memory($meminfo, 90000, 300000);
becomes_true($node, "count(*) > 1 FROM pgbufprobe_memory() WHERE note IS NULL OR note !~ 'is unknown'", 'with that of before, they do');

# The worker reads the memory every few seconds.
put_memory($meminfo, 1000, 20000);
my ($nrows, $impossible) = (0, 0);
wait_for
{
	my ($rows, $wrong) = split /\|/, ask($node, q{SELECT count(*), count(*) FILTER (WHERE memory_bytes <= greatest(shared_buffers_bytes + os_cache_bytes, 0))
		FROM pgbufprobe_memory()});
	$nrows += $rows;
	$impossible += $wrong;
	return $rows == 1;
};
cmp_ok($nrows, '>', 1, 'memory is lowered');
is($impossible, 0, '... and at no time, both caches take more than there is');

set($node, os_cache => 'off');
becomes_true($node, q{count(*) = 1 AND min(note) = 'pgbufprobe.os_cache is off' FROM pgbufprobe_memory('today')}, 'without the page cache, nothing is known');
is(checkup($node)->{memory}{says}, 'unknown UNKNOWN pgbufprobe.os_cache is off', '... as the checkup says');

$node->stop;
has_no_crash($node);
done_testing();
