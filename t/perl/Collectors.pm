# The queries of every file for a collector, and the series that it would export.

package Collectors;

use strict;
use warnings;
use utf8;

use CPAN::Meta::YAML;
use Exporter 'import';
use JSON::PP;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

our @EXPORT = qw(@formats $of_sampler $of_pool give_role exported names_of queries_of);

our $of_sampler = 'pgbufprobe_advice pgbufprobe_gain pgbufprobe_prediction pgbufprobe_sampler pgbufprobe_size';
our $of_pool = 'pgbufprobe_caches pgbufprobe_clock pgbufprobe_pool pgbufprobe_relation pgbufprobe_scan pgbufprobe_verdict pgbufprobe_victim';

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

our @formats = sort keys %queries;

# ---------------------------------------------------------------------------
# Asked

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

# All series that a collector would export, with their labels: the value of each, of an extension in a schema. Tests that the
# columns are as declared.
sub exported
{
	my ($node, $role, $format, $schema) = @_;
	$schema //= 'pgbufprobe';
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

1;
