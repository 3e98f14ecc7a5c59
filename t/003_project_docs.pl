# The examples of every document run as they are, and print the columns that the document shows. Links between
# documents lead somewhere.

use strict;
use warnings;

use Encode qw(decode_utf8);
use IPC::Run;
use List::Util qw(max);
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('main', "shared_buffers = 16MB\n");

# What the examples take for granted: the extension as the README installs it, and some tables.
my $databases = 0;

sub new_database
{
	my ($with_extension) = @_;
	my $name = 'db' . ++$databases;
	ask($node, "CREATE DATABASE $name");
	ask($node, q{
		CREATE SCHEMA pgbufprobe;
		CREATE EXTENSION pgbufprobe SCHEMA pgbufprobe;
		SELECT pgbufprobe.pgbufprobe_start();
		DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET search_path = public, pgbufprobe', current_database());
		END $$;
		CREATE TABLE pgbench_accounts AS SELECT i AS aid, repeat('a', 90) AS filler FROM generate_series(1, 20000) i;
		CREATE TABLE orders AS SELECT i AS id FROM generate_series(1, 1000) i;
		CREATE TABLE x (i int) PARTITION BY LIST (i);
	}, $name) if $with_extension;
	return $name;
}

# Runs of lines between fences, each with its language.
sub fenced_blocks
{
	my ($text) = @_;
	my @blocks;
	push @blocks, { language => $1, text => $2 } while $text =~ /^ *```(\w*)\n(.*?)^ *```$/msg;
	return @blocks;
}

# The columns of each table in psql's output: aligned, expanded, or expanded and unaligned.
sub columns_in
{
	my ($output) = @_;
	my @tables;
	my @lines = split /\n/, $output;

	for my $i (0 .. $#lines)
	{
		if ($i > 0 && $lines[$i] =~ /^ *-+(\+-+)*$/ && $lines[ $i - 1 ] !~ /^ *$/)
		{
			push @tables, [ map { s/^\s+|\s+$//gr } split /\|/, $lines[ $i - 1 ] ];
		}
		elsif ($lines[$i] =~ /^-\[ RECORD 1 \]/)
		{
			my @names;
			for my $line (@lines[ $i + 1 .. $#lines ])
			{
				last if $line =~ /^-\[ RECORD/;
				push @names, $1 if $line =~ /^(\w+) *\|/;
			}
			push @tables, \@names;
		}
		elsif ($lines[$i] =~ /^\w+ \| / && ($i == 0 || $lines[ $i - 1 ] eq ''))
		{
			my @names;
			for my $line (@lines[ $i .. $#lines ])
			{
				last if $line eq '';
				push @names, $1 if $line =~ /^(\w+) \| /;
			}
			push @tables, \@names;
		}
	}
	return @tables;
}

is_deeply([ columns_in(" a | b \n---+---\n 1 | 2\n") ], [ [ 'a', 'b' ] ], 'an aligned table is understood');
is_deeply([ columns_in("-[ RECORD 1 ]---\nfirst | 1\n      | more\nother | 2\n-[ RECORD 2 ]---\nfirst | 3\n") ],
	[ [ 'first', 'other' ] ], 'so is an expanded one');

is_deeply([ columns_in("first | 1\nmore\nother | 2\n\nfirst | 3\nother | 4\n") ], [ ([ 'first', 'other' ]) x 2 ],
	'so is one that is folded');

my @documents = ('README.md', 'CONTRIBUTING.md', glob('docs/*.md'));
my $examples = 0;
for my $document (@documents)
{
	my @blocks = fenced_blocks(slurp_file($document));
	my $database = new_database(1);

	for my $i (0 .. $#blocks)
	{
		next unless $blocks[$i]{language} eq 'sql';
		my $sql = $blocks[$i]{text};
		my ($first) = $sql =~ /(\S.*)/;
		my $what = "$document: $first";
		my $shown = $i < $#blocks && $blocks[ $i + 1 ]{language} eq '' ? $blocks[ $i + 1 ]{text} : '';
		unlike($shown, qr/^ *\|\./m, "$what: cuts no figure in two") if $shown ne '';
		my $in = $sql =~ /CREATE EXTENSION/ ? new_database(0) : $database;

		$examples++;
		$sql = "\\x on\n$sql" if $shown =~ /^-\[ RECORD/m;
		my ($output, $errors);
		IPC::Run::run([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($in), '-f', '-' ],
			'<', \$sql, '>', \$output, '2>', \$errors);
		is($? >> 8, 0, "$what: runs") or diag($errors);
		cmp_ok(max(map { length } split /\n/, decode_utf8($output)), '<=', 100, "$what: is not too wide") if $sql =~ /at most 100 columns/;
		# One of several results may be left out, such as that of pg_sleep().
		my @shown = columns_in($shown);
		my %printed = map { join('|', @$_) => 1 } columns_in($output);
		is_deeply([ grep { !$printed{ join('|', @$_) } } @shown ], [], "$what: prints the columns shown") if @shown;
	}
}
cmp_ok($examples, '>=', 15, 'the documents have examples');

# The anchors of a document's headings, as GitHub makes them.
sub anchors_in
{
	my ($file) = @_;
	return map { lc s/[^\w -]//gr =~ tr/ /-/r } slurp_file($file) =~ /^#+ (.*)/mg;
}

# Links that lead to no file, or to no heading in it.
sub broken_links
{
	my ($document, $text) = @_;
	my ($folder) = $document =~ m{^(.*/|)};
	my @broken;
	for my $link (grep { !/^\w+:/ } $text =~ /\]\(([^)\s]+)\)/g)
	{
		my ($file, $anchor) = $link =~ /^([^#]*)#?(.*)/;
		$file = $file eq '' ? $document : "$folder$file";
		push @broken, $link if !-e $file || $anchor ne '' && !grep { $_ eq $anchor } anchors_in($file);
	}
	return @broken;
}

is_deeply([ broken_links('docs/x.md', '[a](none.md) [b](cost.md#none) [c](cost.md#cost) [d](../README.md)') ],
	[ 'none.md', 'cost.md#none' ], 'broken links are found');
is_deeply([ broken_links($_, slurp_file($_)) ], [], "$_: links lead somewhere")
	for @documents, 'bench/RESULTS.md', 'lab/README.md', 'report/README.md', 'monitoring/README.md';

# reference.md has each column of each function in a table.
my %in_tables = map { $_ => 1 } map { /\w+/g } map { /`([^`]+)`/g } slurp_file('docs/reference.md') =~ /^\|.*/mg;
is_deeply([ grep { !$in_tables{$_} } map { slurp_file($_) =~ /^ *OUT (\w+)/mg } glob('pgbufprobe--*.sql') ], [], 'reference.md explains each column');

# architecture.md has each folder of src.
my $architecture = slurp_file('docs/architecture.md');
is_deeply([ sort $architecture =~ m{^\*\*`(src/\w+)/`\*\*}mg ], [ glob('src/*') ], 'architecture.md has a paragraph about each folder of src/');

# The messages that troubleshooting.md explains are those that the sources print; the server's own are left out. What is
# between the parts that vary must be there.
my $sources = join '', map { slurp_file($_) =~ s/"(?: \\)?\n\s*"//gr =~ s/\\"/"/gr } glob('src/*/*.[ch]');
my @messages = grep { / / && !/^(permission denied|could not access|function )/ }
	slurp_file('docs/troubleshooting.md') =~ /^\*\*`([^`]+)`/mg;
cmp_ok(scalar @messages, '>=', 8, 'troubleshooting.md explains messages');
for my $message (@messages)
{
	my @parts = grep { /\w/ } split /"[^"]*"|\d+|^WARNING: /, $message;
	is_deeply([ grep { index($sources, $_) < 0 } @parts ], [], "a message of ours: $message");
}

# Each reason for an unknown size has an entry there.
my ($reasons) = slurp_file('src/answers/reasons.c') =~ /^words_of_reason\(.*?\{(.*?)^}/ms;
my @explained = slurp_file('docs/troubleshooting.md') =~ /\*\*`([^`]+)`\*\*/g;
my @reasons = grep { / / } $reasons =~ s/"\n\s*"//gr =~ /"([^"]+)"/g;
cmp_ok(scalar @reasons, '>=', 9, 'reasons for unknown sizes are found');
for my $reason (@reasons)
{
	ok(scalar(grep { index($reason, $_) >= 0 } @explained), "troubleshooting.md explains: $reason");
}

# So has what the workers log, up to what varies.
my $workers = join '', map { slurp_file($_) =~ s/\\"/'/gr } glob('src/{carry,sampler}/*.c src/base/ownfile.c');
my @logged = map { s/\W+$//r =~ tr/'/"/r }
  $workers =~ /ereport\((?:LOG|WARNING),\s+(?:\(errcode\w*\(\w*\),\s+)?\(?errmsg(?:_plural)?\("([^"%]+)/g;
cmp_ok(scalar @logged, '>=', 15, 'messages of the workers are found');
for my $message (@logged)
{
	ok(scalar(grep { index($_, $message) >= 0 } @explained), "troubleshooting.md explains: $message");
}

$node->stop;
done_testing();
