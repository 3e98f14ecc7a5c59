# The queries of every file for a collector run as they are, as a role with pg_monitor alone. The columns are those that the
# file declares, no value is NULL where the collector would make NaN of it, and all files have the same series.

use strict;
use warnings;
use utf8;

use Collectors;
use Sampler;
use Server;
use Test::More;

my $node = sampler_node('main', "autovacuum = off\n");
ask($node, q{
	CREATE SCHEMA pgbufprobe;
	ALTER EXTENSION pgbufprobe SET SCHEMA pgbufprobe;
	ALTER ROLE CURRENT_USER SET search_path = public, pgbufprobe;
	-- that of an operator, which has no search path of its own
	CREATE ROLE operator LOGIN IN ROLE pg_monitor;
	GRANT USAGE ON SCHEMA pgbufprobe TO pg_monitor;
});
give_role($node, 'monitor');
give_role($node, 'monitor');
make_pages($node);

my $learned = 'count(miss_ratio) >= 6 FROM pgbufprobe_advice()';
ok(load_until($node, 20, $learned), 'the advice knows sizes');
$node->adjust_conf('postgresql.conf', 'shared_buffers', 3072);
$node->restart;
ok(load_until($node, 20, $learned), 'again after a restart with another size');

# What the series say, as the checkup and the verdict do.
sub verdict_of
{
	my ($series) = @_;
	my ($verdict) = grep { $series->{"pgbufprobe_verdict_${_}{}"} } qw(fine consider change unknown);
	return join ', ', $verdict, map { $series->{"pgbufprobe_verdict_${_}_bytes{}"} // 'unknown' } 'today', 'advised';
}

# A verdict needs half a minute, and a load that ends now and then, since statistics are reported at the end of a statement.
my ($checkup, $verdict);
for (1 .. 200)
{
	ask($node, 'CALL load(20)');
	next if ask($node, q{SELECT verdict FROM pgbufprobe_verdict()}) eq 'unknown';
	$checkup = ask($node, q{
		SELECT concat_ws(', ', c.verdict, v.today_bytes, coalesce(v.advised_bytes::text, 'unknown'))
		FROM pgbufprobe_checkup() AS c, pgbufprobe_verdict() AS v WHERE c.topic = 'size'});
	$verdict = verdict_of(exported($node, 'monitor', 'pgwatch'));
	last if $checkup eq $verdict && $verdict !~ /^unknown/;
}
unlike($verdict, qr/^unknown/, 'there is a verdict');
is($verdict, $checkup, 'which is that of the checkup');

# The latest sample is one of the time when the hand moved, and of one when sizes are known.
my $load = start_psql($node, 'load', '-c', 'CALL load(100000)');
for (1 .. 10)
{
	set($node, history_interval => '100ms');
	await_samples($node, 3);
	set($node, history_interval => '1h');
	# the new interval is in force
	$node->poll_query_until('postgres', q{SELECT max(taken_at) < now() - interval '1 s' FROM pgbufprobe_history()});
	my @have_rows = map { "EXISTS (SELECT FROM pgbufprobe_metrics_$_)" } qw(advice gain prediction size);
	last if ask($node, 'SELECT ' . join ' AND ', @have_rows) eq 't';
}
ask($node, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'load'});
$load->{run}->finish;

my @odd = ("it's", 'a "quoted" one', "two\nlines", '</script>', 'a.b', '12345', 'ü' x 31, '{a="b"}\\');
utf8::encode($_) for @odd;
ask($node, join '', 'CREATE SCHEMA "odd.schema";',
	map { my $name = s/"/""/gr; qq{CREATE TABLE "odd.schema"."$name" AS SELECT repeat('x', 700) FROM generate_series(1, 1500);} } @odd);
ask($node, 'CHECKPOINT');

# Of relations, which move in the pool meanwhile, the names alone.
sub comparable
{
	my %series = map { /^(pgbufprobe_(?:relation|gain)_\w+)/ ? ($1 => 1) : ($_ => 1) } keys %{ $_[0] };
	return [ sort keys %series ];
}

# An estimate may become known or unknown between two questions.
my $all;
for my $format (grep { $_ ne 'pgwatch' } @formats)
{
	my ($these, $those);

	wait_for
	{
		$these = comparable(exported($node, $format eq 'cloudnativepg' ? 'operator' : 'monitor', $format));
		$all = exported($node, 'monitor', 'pgwatch');
		$those = comparable($all);
		return "@$these" eq "@$those";
	};
	is_deeply($these, $those, "$format has the same series as pgwatch");
}

sub sum_of { my ($pattern) = @_; my $sum = 0; $sum += $all->{$_} for grep { /^$pattern/ } keys %$all; return $sum }

# So may the advice between two queries of one file.
my ($advised, $of_verdict);
wait_for
{
	$all = exported($node, 'monitor', 'pgwatch');
	($advised) = map { /size_advised(.*)/ && $all->{$_} ? $all->{"pgbufprobe_size_shared_buffers_bytes$1"} : () } keys %$all;
	$of_verdict = $all->{'pgbufprobe_verdict_advised_bytes{}'};
	return ($advised // '') eq ($of_verdict // '') && sum_of('pgbufprobe_size_advised') == 1 - $all->{'pgbufprobe_verdict_unknown{}'};
};
is(queries_of($all) =~ s/ pgbufprobe_(working_set|memory)//gr, join(' ', sort split / /, "$of_sampler $of_pool"), 'each query has series');
is(sum_of('pgbufprobe_pool_bytes'), 3072 * 8192, 'the pool is all usage counts and what is unused');
is($all->{'pgbufprobe_clock_pool_size_bytes{}'}, 3072 * 8192, 'which is the size of the pool');
is(sum_of('pgbufprobe_caches_(shared|os)_bytes'), sum_of('pgbufprobe_caches_(both|distinct)_bytes'), 'both caches add up');
is(sum_of('pgbufprobe_verdict_(fine|consider|change|unknown)\{'), 1, 'there is one verdict');
is($all->{'pgbufprobe_verdict_today_bytes{}'}, 3072 * 8192, 'it is about the size of the pool');
is(sum_of('pgbufprobe_size_advised'), 1 - $all->{'pgbufprobe_verdict_unknown{}'}, 'one size is advised, unless the verdict is unknown');
is($advised, $of_verdict, 'which is that of the verdict');
is((scalar grep { /^pgbufprobe_size_shared/ } keys %$all), 11, 'of eleven');
is($all->{'pgbufprobe_size_shared_buffers_bytes{size_factor=0.25}'}, 768 * 8192, 'a quarter is the smallest');
is($all->{'pgbufprobe_sampler_running{}'}, 1, 'the sampler runs');
is_deeply([ map { $all->{"pgbufprobe_prediction_${_}_bytes{}"} } 'from', 'to' ], [ 2048 * 8192, 3072 * 8192 ], 'the prediction is that of the restart');
for my $name (@odd)
{
	my $quoted = ask($node, "SELECT format('%I.%I', 'odd.schema', " . ($name =~ s/'/''/gr =~ s/(.*)/'$1'/sr) . ')');
	utf8::decode($quoted);
	ok(exists $all->{"pgbufprobe_relation_bytes{datname=postgres,fork=main,relation=$quoted}"}, 'the series of an odd name')
	  or diag(join "\n", grep { /^pgbufprobe_relation_bytes/ } sort keys %$all);
}
is((grep { /^pgbufprobe_relation_bytes/ } keys %$all) <= 20, 1, 'at most 20 relations');

# Under other names and in other units, the views say what their functions say. A new report may come between both questions.
my %same = (
	size => q{bool_and((v.miss_ratio, v.miss_ratio_low, v.miss_ratio_high, v.storage_ratio, v.storage_ratio_low, v.storage_ratio_high,
			v.read_seconds_per_second, v.read_seconds_per_second_low, v.read_seconds_per_second_high) IS NOT DISTINCT FROM
		(f.miss_ratio, f.miss_ratio_low, f.miss_ratio_high, f.storage_ratio, f.storage_ratio_low, f.storage_ratio_high,
			f.read_ms_per_second / 1e3::float8, f.read_ms_low / 1e3::float8, f.read_ms_high / 1e3::float8))
		FROM pgbufprobe_metrics_size AS v JOIN pgbufprobe_advice() AS f USING (shared_buffers_bytes)},
	advice => q{(learned_ratio, v.reads_seen, v.self_error, v.storage_self_error, missed_loads_ratio) IS NOT DISTINCT FROM
		(learned_fraction, f.reads_seen, f.self_error, f.storage_self_error, missed_fraction) FROM pgbufprobe_metrics_advice AS v, pgbufprobe_status() AS f},
	clock => "ticks_total = $ticks FROM pgbufprobe_metrics_clock");
becomes_true($node, $same{$_}, "$_: as the function says") for sort keys %same;
is(ask($node, q{SELECT count(*), bool_and(search_seconds <= search_max_seconds) FROM pgbufprobe_metrics_victim}), '2|t', 'the longest search takes longest');

# ---------------------------------------------------------------------------
# In another schema

set($node, history_interval => '100ms');
my $schema = '"odd.schema"';
ask($node, "ALTER EXTENSION pgbufprobe SET SCHEMA $schema");
give_role($node, 'monitor');
my $names;
for (1 .. 10)
{
	$names = queries_of(exported($node, 'monitor', 'pgwatch', $schema)) =~ s/ pgbufprobe_(working_set|memory)//gr;
	last if $names eq join ' ', sort split / /, "$of_sampler $of_pool";
	ask($node, "SET search_path = public, $schema;\nCALL load(20);");
}
is($names, join(' ', sort split / /, "$of_sampler $of_pool"), 'in another schema: each query has series');

$node->stop;
has_no_crash($node);
done_testing();
