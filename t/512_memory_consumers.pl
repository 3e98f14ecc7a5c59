# Who takes memory: the rows add up, follow the settings and the processes, and agree with the sizes that fit. A smaller
# pool must have buffers for all sessions. The last answer of the checkup compares effective_cache_size with both caches.

use strict;
use warnings;

use Checkup;
use Sampler;
use Server;
use Test::More;

my $node = sampler_node('main', "max_connections = 100\nautovacuum = off\nmax_parallel_workers = 4\nwork_mem = 4MB\nhash_mem_multiplier = 2\ntemp_buffers = 8MB\n");
# From 19 on, workers for I/O come and go.
if ($node->pg_version->major >= 18)
{
	$node->append_conf('postgresql.conf', 'io_method = sync');
	$node->restart;
}
my $total = q{(SELECT today_bytes FROM pgbufprobe_memory_consumers() WHERE consumer = 'total')};
my @consumers = ('shared_buffers', 'other shared memory', 'page tables', 'processes', 'work_mem', 'temp_buffers', 'autovacuum',
	'maintenance_work_mem', 'logical decoding', 'free huge pages', 'others', 'page cache', 'total');

# A column of one row, with these settings in the session.
sub plan_of
{
	my ($column, $consumer, @settings) = @_;
	return ask($node, join('', map { "SET $_;" } @settings) . "SELECT $column FROM pgbufprobe_memory_consumers() WHERE consumer = '$consumer'");
}

sub rows_agree
{
	my ($what) = @_;
	my $plan = 'FROM pgbufprobe_memory_consumers() AS p';

	is(ask($node, "SELECT string_agg(consumer, ',') $plan"), join(',', @consumers), "$what: the consumers");
	is(ask($node, "SELECT string_agg(p::text, E'\\n') $plan WHERE consumer <> 'page cache' AND most_bytes < today_bytes"), '', "$what: the most is at least what is");
	is(ask($node, "SELECT string_agg(p::text, E'\\n') $plan WHERE num_nulls(today_bytes, most_bytes) > 0 AND note IS NULL"), '', "$what: a note where something is unknown");
	is(ask($node, "SELECT string_agg(p::text, E'\\n') $plan WHERE least(today_bytes, most_bytes, reserved_bytes) < 0"), '', "$what: nothing is negative");
	# In one statement, since memory comes and goes.
	is(ask($node, "SELECT sum(today_bytes) FILTER (WHERE consumer <> 'total') - sum(today_bytes) FILTER (WHERE consumer = 'total'),
		sum(reserved_bytes) FILTER (WHERE consumer <> 'total') - sum(reserved_bytes) FILTER (WHERE consumer = 'total') $plan"),
		'0|0', "$what: the rows add up");
}

plan skip_all => 'the kernel does not report its memory' if ask($node, "SELECT $total IS NULL") eq 't';
becomes_true($node, q{bool_and(reserved_bytes IS NOT NULL) FROM pgbufprobe_memory_consumers()}, 'the worker publishes what it reserves');
rows_agree('idle');

# ---------------------------------------------------------------------------
# Shared memory

is(plan_of('most_bytes', 'shared_buffers'), $pool * 8192, 'the pool is as large as shared_buffers');
ok(plan_of('today_bytes < most_bytes', 'shared_buffers') eq 't', 'some of it has not been used yet');
is( ask($node, q{SELECT ceil(sum(most_bytes) / 1024 ^ 2) = pg_size_bytes(current_setting('shared_memory_size')) / 1024 ^ 2
	FROM pgbufprobe_memory_consumers() WHERE consumer IN ('shared_buffers', 'other shared memory')}), 't', 'all shared memory is as large as shared_memory_size');
make_pages($node);
is(plan_of('today_bytes - most_bytes', 'shared_buffers'), 0, 'after a load, all of the pool is in use');
rows_agree('with a full pool');

# ---------------------------------------------------------------------------
# Settings

is(plan_of('most_bytes', 'work_mem'), 104 * 8 * 1024 * 1024, 'a hash table for each session and each parallel worker');
is(plan_of('most_bytes', 'work_mem', q{work_mem = '1MB'}, 'hash_mem_multiplier = 3'), 104 * 3 * 1024 * 1024, '... with the settings of the session');
is(plan_of('most_bytes', 'temp_buffers'), 800 * 1024 * 1024, 'temporary buffers for each session');
is(plan_of('most_bytes', 'maintenance_work_mem', q{maintenance_work_mem = '3MB'}), 3 * 1024 * 1024, 'memory for maintenance in one session');
is(plan_of('most_bytes', 'autovacuum'), 0, 'autovacuum is off');
like(plan_of('note', 'autovacuum'), qr/autovacuum is off/, '... as its note says');
is(plan_of('most_bytes', 'logical decoding'), 0, 'there is no logical decoding');

# ---------------------------------------------------------------------------
# Processes

# As many as pg_stat_activity has, with so many sessions. In one statement, since the session of the call before may not
# have ended yet.
sub counts_sessions
{
	my ($sessions) = @_;
	return ask($node, qq{SELECT substring(note FROM 'private memory of (\\d+) processes')::int = a.processes AND a.sessions = $sessions
		FROM pgbufprobe_memory_consumers(), (SELECT count(*) AS processes, count(*) FILTER (WHERE backend_type = 'client backend') AS sessions FROM pg_stat_activity) AS a
		WHERE consumer = 'processes'}) eq 't';
}

ok(wait_for { counts_sessions(1) }, 'all processes are counted');
my $private = plan_of('today_bytes', 'processes');
my @sessions = map { $node->background_psql('postgres') } 1 .. 3;
$_->query_safe('SELECT 1') for @sessions;
ok(wait_for { counts_sessions(4) }, '... and those of three sessions more');
my $bytes = 64 * 1024 * 1024;
$sessions[0]->query_safe("SELECT length(set_config('a.b', repeat('x', $bytes), false))");
cmp_ok(plan_of('today_bytes', 'processes') - $private, '>', 0.9 * $bytes, 'what a session takes is seen');
rows_agree('with sessions');
$_->quit for @sessions;
ok(wait_for { plan_of('today_bytes', 'processes') < $private + 0.5 * $bytes }, '... and that it has given it back');

# ---------------------------------------------------------------------------
# Sizes that fit

# A larger size that fits leaves what is reserved of the page cache, and one that does not fit does not, give or take a few
# MB, since both were read at different times.
my $needed = q{(a.shared_buffers_bytes - p.pool) * 1.03 + p.reserved};
my $sizes = q{pgbufprobe_advice() AS a, (SELECT sum(today_bytes) FILTER (WHERE consumer = 'page cache') AS free,
	sum(reserved_bytes) FILTER (WHERE consumer = 'total') AS reserved, sum(most_bytes) FILTER (WHERE consumer = 'shared_buffers') AS pool
	FROM pgbufprobe_memory_consumers()) AS p WHERE a.size_factor > 1};
my $all_agree = "bool_and(CASE WHEN $needed < p.free - 128e6 THEN fits = 'yes' WHEN $needed > p.free + 128e6 THEN fits IN ('machine', 'cgroup') ELSE true END) FROM $sizes";

becomes_true($node, $all_agree, 'sizes fit that leave what is reserved');
# Four queries at least.
ask($node, q{ALTER SYSTEM SET work_mem = '1TB'});
$node->reload;
becomes_true($node, "min(p.reserved) >= 8 * 1024.0 ^ 4 FROM $sizes", 'what queries may need is reserved');
becomes_true($node, "bool_and(fits IN ('machine', 'cgroup')) AND count(*) >= 5 FROM $sizes", '... and where that is more than there is, no larger size fits');
becomes_true($node, $all_agree, '... which agrees');
is(ask($node, q{SELECT count(*) FROM pgbufprobe_advice() WHERE fits IN ('machine', 'cgroup') AND mark LIKE 'advised%'}), 0, '... nor is advised');
rows_agree('with large work_mem');
is(plan_of('most_bytes', 'page cache'), 0, '... and if all take the most, no page cache is left');
like(plan_of('note', 'page cache'), qr/if all take the most at once, \d+ TB are missing/, '... and its note says what is missing');
ask($node, 'ALTER SYSTEM RESET work_mem');
$node->reload;
becomes_true($node, $all_agree . " AND p.reserved < 1024.0 ^ 4", 'with another setting, that is over');

# ---------------------------------------------------------------------------
# Smaller sizes

# Buffers that each of 100 sessions may pin.
my $streams = $node->pg_version->major >= 17 ? q{(pg_size_bytes(current_setting('io_combine_limit')) / 8192 * (1 + (current_setting('effective_io_concurrency')::int > 0)::int))} : 0;
my $floor = "100 * (8 + $streams) * 8192";
becomes_true($node, "bool_and((fits = 'connections') = (size_factor < 1 AND shared_buffers_bytes < $floor)) AND count(*) FILTER (WHERE fits = 'connections') > 0 FROM pgbufprobe_advice()",
	'smaller sizes have buffers for all sessions, or do not fit for want of these');
is(ask($node, q{SELECT count(*) FROM pgbufprobe_advice() WHERE fits = 'connections' AND mark LIKE 'advised%'}), 0, '... and are not advised then');

# ---------------------------------------------------------------------------
# What the planner assumes

sub planner { return checkup($node, undef, "SET effective_cache_size = '$_[0]'")->{'planner cache'} }

SKIP:
{
	skip 'what the page cache holds is unknown', 7 if planner('1GB')->{verdict} eq 'unknown';
	my $small = planner('1MB');
	like($small->{says}, qr/^consider PLANNER Too low, 1 MB, [\d.]+ [MGT]B$/, 'effective_cache_size is far too small, and the answer says how far');
	is(($small->{detail} =~ sentence('MORE_PLANNER'))[0], '16 MB', '... and the detail which caches');
	# Others may have taken memory in between.
	my ($advised, $is_near);
	for (1 .. 10)
	{
		($advised) = planner('1MB')->{action} =~ sentence('SET_PLANNER');
		my ($held) = planner($advised)->{says} =~ /, ([^,]*)$/;
		$is_near = ask($node, "SELECT pg_size_bytes('$held') / pg_size_bytes('$advised')::float8 BETWEEN 0.9 AND 1.1");
		last if $is_near eq 't';
	}
	is(planner($advised)->{verdict}, 'fine', "with $advised, as advised, it is not");
	is($is_near, 't', '... and near what both caches can hold');
	my $large;
	wait_for { ($large = planner('10TB'))->{says} =~ / Right, / };
	like($large->{says}, qr/^fine PLANNER Right, 10 TB, /, 'where all relations fit, too much is fine');
	like($large->{detail}, sentence('MORE_THAN_ALL'), '... as it does no harm');
	# Without the worker it is unknown how large all relations are.
	set($node, sampler => 'off');
	is(planner('10TB')->{verdict}, 'consider', 'where their size is unknown, less is something to consider');
	is(planner($advised)->{verdict}, 'fine', '... and what was advised is not');
	set($node, sampler => 'on');
}

# ---------------------------------------------------------------------------
# Where the kernel may not be asked

set($node, os_cache => 'off');
becomes_true($node, q{count(today_bytes) = 1 AND count(reserved_bytes) = 0 AND count(*) FILTER (WHERE note LIKE '%pgbufprobe.os_cache is off%') = 7 FROM pgbufprobe_memory_consumers()},
	'without the kernel: what only the kernel knows is unknown, and why');
is(plan_of('most_bytes', 'work_mem'), 104 * 8 * 1024 * 1024, '... but not what settings allow');
is(planner('1MB')->{says}, 'unknown UNKNOWN pgbufprobe.os_cache is off', '... and what the caches can hold is unknown');

$node->stop;
done_testing();
