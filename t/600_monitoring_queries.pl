# The queries of every file for a collector run as they are: as a role with pg_monitor alone, on primary and standby, with
# and without the sampler, and wherever the extension is. The columns are those that the file declares, no value is NULL
# where the collector would make NaN of it, and all files have the same series.

use strict;
use warnings;
use utf8;

use CPAN::Meta::YAML;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

# ---------------------------------------------------------------------------
# The files

# What these formats have in common: entries with a query, and the usage of each column.
sub entries_with_usage
{
	my ($entries) = @_;
	my @queries;

	for my $key (sort keys %$entries)
	{
		my ($entry, %columns) = ($entries->{$key}, map { %$_ } @{ $entries->{$key}{metrics} });
		my $name = $entry->{name} // $key;
		push @queries, {
			name => $key,
			sql => $entry->{query},
			labels => { map { $_ => $_ } grep { $columns{$_}{usage} eq 'LABEL' } keys %columns },
			series => { map { $_ => "${name}_$_" } grep { $columns{$_}{usage} ne 'LABEL' } keys %columns } };
	}
	return @queries;
}

# The text within the ConfigMap is YAML, too.
sub text_in_config_map
{
	my ($text) = $_[0] =~ /^  queries: \|\n(.*)/ms;
	return $text =~ s/^ {4}//mgr;
}

sub sql_exporter_queries
{
	my ($collector) = @_;
	my %queries = map { $_->{query_name} => { name => $_->{query_name}, sql => $_->{query} } } @{ $collector->{queries} };

	for my $metric (@{ $collector->{metrics} })
	{
		my $query = $queries{ $metric->{query_ref} };
		$query->{labels} = { map { $_ => $_ } @{ $metric->{key_labels} // [] } };
		$query->{series}{ $metric->{values}[0] } = $metric->{metric_name};
	}
	return map { $queries{$_} } sort keys %queries;
}

# A file says nothing about counters, whose names end in _total, and labels begin with tag_.
sub pgwatch_queries
{
	my ($file) = @_;
	my @queries;

	for my $name (sort keys %{ $file->{metrics} })
	{
		my $sql = $file->{metrics}{$name}{sqls}{15};
		push @queries, {
			name => $name,
			sql => $sql,
			labels => { map { ("tag_$_" => $_) } $sql =~ /AS tag_(\w+)/g },
			ignored => { epoch_ns => 1 },
			series => { map { $_ => "${name}_$_" } @{ $file->{metrics}{$name}{gauges} }, $sql =~ /(\w+_total)\b/g } };
	}
	return @queries;
}

sub otel_queries
{
	my ($file) = @_;
	my @queries;

	for my $receiver (sort keys %{ $file->{receivers} })
	{
		for my $query (@{ $file->{receivers}{$receiver}{queries} })
		{
			my @metrics = @{ $query->{metrics} };
			push @queries, {
				name => $metrics[0]{metric_name},
				sql => $query->{sql},
				labels => { map { $_ => $_ } @{ $metrics[0]{attribute_columns} // [] } },
				series => { map { $_->{value_column} => $_->{metric_name} } @metrics } };
		}
	}
	return @queries;
}

sub yaml { return CPAN::Meta::YAML->read_string($_[0])->[0] }

my %files = map { my $text = slurp_file("monitoring/$_"); utf8::decode($text); $_ => $text }
  map { s{^monitoring/}{}r } glob('monitoring/*/*.{yaml,yml}');
my %queries = (
	postgres_exporter => [ entries_with_usage(yaml($files{'postgres_exporter/queries.yaml'})) ],
	pg_exporter => [ entries_with_usage(yaml($files{'pg_exporter/pgbufprobe.yml'})) ],
	cloudnativepg => [ entries_with_usage(yaml(text_in_config_map($files{'cloudnativepg/configmap.yaml'}))) ],
	sql_exporter => [ map { sql_exporter_queries(yaml($files{$_})) } grep { m{^sql_exporter/} } sort keys %files ],
	pgwatch => [ pgwatch_queries(yaml($files{'pgwatch/pgbufprobe.yaml'})) ],
	opentelemetry => [ otel_queries(yaml($files{'opentelemetry/pgbufprobe.yaml'})) ]);
# These collectors leave a NULL out; the others make NaN of it, or report an error.
my %leaves_null_out = map { $_ => 1 } 'pgwatch', 'sql_exporter';

# ---------------------------------------------------------------------------
# Asked

# As the files are for an extension in this schema.
my $schema = 'pgbufprobe';

# The answers to some queries: the types of the columns, and the rows.
sub answers
{
	my ($node, $role, @queries) = @_;
	my $script = join "\n", 'BEGIN READ ONLY;',
	  map { ('\echo @', "$_->{sql} \\gdesc", "SELECT coalesce(jsonb_agg(q), '[]') FROM (\n$_->{sql}\n) AS q;") } @queries;
	my ($status, $out, $error) = $node->psql('postgres', $script, extra_params => [ '-U', $role ], on_error_stop => 1);
	is($status, 0, "$role: all queries run") or diag($error);

	my ($begin, @parts) = split /^\@\n/m, $out;
	return map {
		my @lines = split /\n/;
		my $rows = pop @lines;
		{ rows => decode_json($rows), types => { map { split /\|/ } @lines } };
	} @parts;
}

# All series that a collector would export, with their labels: the value of each. Tests that the columns are as declared.
sub exported
{
	my ($node, $role, $format) = @_;
	my @queries = map { { %$_, sql => $_->{sql} =~ s/\bpgbufprobe\.(?=pgbufprobe_)/$schema./gr } } @{ $queries{$format} };
	my @answers = answers($node, $role, @queries);
	my (%values, @wrong);

	for my $query (@queries)
	{
		my $answer = shift @answers // last;
		my %declared = ((map { $_ => 'text' } keys %{ $query->{labels} }), map { $_ => 'number' } keys %{ $query->{series} });
		my %found = map { $_ => $answer->{types}{$_} =~ /^(bigint|integer|double precision)$/ ? 'number' : $answer->{types}{$_} }
		  grep { !$query->{ignored}{$_} } keys %{ $answer->{types} };
		is_deeply(\%found, \%declared, "$format, $query->{name}: the columns are as declared");
		for my $row (@{ $answer->{rows} })
		{
			my $labels = join ',', sort map { "$query->{labels}{$_}=" . ($row->{$_} // 'NULL') } keys %{ $query->{labels} };
			for my $column (sort keys %{ $query->{series} })
			{
				my $series = "$query->{series}{$column}\{$labels}";
				push @wrong, "$series is there twice" if exists $values{$series};
				push @wrong, "$series is NULL" if !defined $row->{$column} && !$leaves_null_out{$format};
				$values{$series} = $row->{$column} if defined $row->{$column};
			}
		}
	}
	push @wrong, grep { /=(NULL)?[,}]/ } keys %values;
	is_deeply(\@wrong, [], "$format: each series is there once, with a value, and with all labels");
	return \%values;
}

sub names_of { my %names = map { s/\{.*//sr => 1 } keys %{ $_[0] }; return sort keys %names }
sub queries_of { my %names = map { /^(pgbufprobe_(?:working_set|[a-z]+))/ => 1 } keys %{ $_[0] }; return join ' ', sort keys %names }

sub give_role
{
	my ($node, $role) = @_;
	$node->command_ok([ 'psql', '-X', '-v', "role=$role", '-f', 'monitoring/role.sql', $node->connstr('postgres') ],
		"role.sql for $role");
}

# ---------------------------------------------------------------------------
# A server where as much as possible is known

my $of_sampler = 'pgbufprobe_advice pgbufprobe_gain pgbufprobe_prediction pgbufprobe_sampler pgbufprobe_size';
my $of_pool = 'pgbufprobe_caches pgbufprobe_clock pgbufprobe_pool pgbufprobe_relation pgbufprobe_scan pgbufprobe_verdict pgbufprobe_victim';

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

sub learn
{
	for (1 .. 60)
	{
		ask($node, 'CALL load(20)');
		return 1 if ask($node, 'SELECT count(miss_ratio) >= 6 FROM pgbufprobe_advice()') eq 't';
	}
	return 0;
}
ok(learn(), 'the advice knows sizes');
$node->adjust_conf('postgresql.conf', 'shared_buffers', 3072);
$node->restart;
ok(learn(), 'again after a restart with another size');

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
	ask($node, q{SELECT pg_sleep(1)});
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
for my $format (grep { $_ ne 'pgwatch' } sort keys %queries)
{
	my ($these, $those);

	for (1 .. 10)
	{
		$these = comparable(exported($node, $format eq 'cloudnativepg' ? 'operator' : 'monitor', $format));
		$all = exported($node, 'monitor', 'pgwatch');
		$those = comparable($all);
		last if "@$these" eq "@$those";
		ask($node, 'SELECT pg_sleep(1)');
	}
	is_deeply($these, $those, "$format has the same series as pgwatch");
}
is(queries_of($all) =~ s/ pgbufprobe_(working_set|memory)//gr, join(' ', sort split / /, "$of_sampler $of_pool"), 'each query has series');

sub sum_of { my ($pattern) = @_; my $sum = 0; $sum += $all->{$_} for grep { /^$pattern/ } keys %$all; return $sum }

is(sum_of('pgbufprobe_pool_bytes'), 3072 * 8192, 'the pool is all usage counts and what is unused');
is($all->{'pgbufprobe_clock_pool_size_bytes{}'}, 3072 * 8192, 'which is the size of the pool');
is(sum_of('pgbufprobe_caches_(shared|os)_bytes'), sum_of('pgbufprobe_caches_(both|distinct)_bytes'), 'both caches add up');
is(sum_of('pgbufprobe_verdict_(fine|consider|change|unknown)\{'), 1, 'there is one verdict');
is($all->{'pgbufprobe_verdict_today_bytes{}'}, 3072 * 8192, 'it is about the size of the pool');
is(sum_of('pgbufprobe_size_advised'), 1 - $all->{'pgbufprobe_verdict_unknown{}'}, 'one size is advised, unless the verdict is unknown');
my ($advised) = map { /size_advised(.*)/ && $all->{$_} ? $all->{"pgbufprobe_size_shared_buffers_bytes$1"} : () } keys %$all;
is($advised, $all->{'pgbufprobe_verdict_advised_bytes{}'}, 'which is that of the verdict');
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

# ---------------------------------------------------------------------------
# Elsewhere

set($node, history_interval => '100ms');
my $standby = init_standby($node);
$standby->start;
await_samples($standby, 2);
my $there = exported($standby, 'monitor', 'pgwatch');
is_deeply([ grep { !/^(pgbufprobe_(advice|gain|memory|size|prediction|working_set))$/ } split / /, queries_of($there) ],
	[ sort split / /, "$of_pool pgbufprobe_sampler" ], 'standby: all but what its own workload has to show');
is($there->{'pgbufprobe_sampler_running{}'}, 1, 'standby: it has a sampler of its own');
$standby->stop;

$schema = '"odd.schema"';
ask($node, "ALTER EXTENSION pgbufprobe SET SCHEMA $schema");
give_role($node, 'monitor');
my $names;
for (1 .. 10)
{
	$names = queries_of(exported($node, 'monitor', 'pgwatch')) =~ s/ pgbufprobe_(working_set|memory)//gr;
	last if $names eq join ' ', sort split / /, "$of_sampler $of_pool";
	ask($node, "SET search_path = public, $schema;\nCALL load(20);");
}
is($names, join(' ', sort split / /, "$of_sampler $of_pool"), 'in another schema: each query has series');

set($node, sampler => 'off');
for my $format ('pgwatch', 'postgres_exporter')
{
	my $without = exported($node, 'monitor', $format);
	is(queries_of($without), join(' ', sort split / /, "$of_pool pgbufprobe_sampler"), "$format, sampler switched off: its series are absent");
	is_deeply([ grep { /sampler/ } names_of($without) ], ['pgbufprobe_sampler_running'], "$format: but for one");
	is($without->{'pgbufprobe_sampler_running{}'}, 0, "$format: which says so");
	is_deeply([ map { $without->{"pgbufprobe_verdict_${_}{}"} } qw(unknown fine consider change advised_bytes) ], [ 1, 0, 0, 0, undef ],
		"$format: the verdict is unknown, and names no size");
}

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->restart;
for my $format ('pgwatch', 'postgres_exporter')
{
	my $without = exported($node, 'monitor', $format);
	is(queries_of($without), join(' ', sort split / /, "$of_pool pgbufprobe_sampler"), "$format, not preloaded: the same");
	is($without->{'pgbufprobe_sampler_running{}'}, 0, "$format: no sampler runs");
	is_deeply([ map { $without->{"pgbufprobe_verdict_${_}{}"} } qw(unknown fine) ], [ 1, 0 ], "$format: nothing is fine that nobody watches");
}

$node->stop;
has_no_crash($node);
done_testing();
