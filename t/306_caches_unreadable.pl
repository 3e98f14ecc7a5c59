# Files that the server cannot open: a tablespace whose directory may not be searched or is a plain file, a file that
# may not be read, or is a directory, a FIFO, a socket or a device. A question about the whole database still answers for all other relations, with
# NULLs for these and one warning. A question about such a file alone is an error.

use strict;
use warnings;

use PageCache;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# The user that runs the server may open anything.
plan skip_all => 'nothing is unreadable to root' if $> == 0;

my $pool = 512;
my $node = start_server('main', "shared_buffers = $pool\n$no_background_writes");

# Two relations and an index in the tablespace, the partition of a third, and some elsewhere.
my $directory = PostgreSQL::Test::Utils::tempdir_short() . '/space';
mkdir $directory or die $!;
ask($node, "CREATE TABLESPACE space LOCATION '$directory'");
ask($node, q(
CREATE EXTENSION pgbufprobe;
CREATE TABLE far (n integer PRIMARY KEY USING INDEX TABLESPACE space) TABLESPACE space;
CREATE TABLE parts (n integer) PARTITION BY RANGE (n);
CREATE TABLE far_part PARTITION OF parts FOR VALUES FROM (0) TO (1000) TABLESPACE space;
CREATE TABLE near_part PARTITION OF parts FOR VALUES FROM (1000) TO (2000);
CREATE TABLE near (n integer);
INSERT INTO far SELECT generate_series(1, 1000);
INSERT INTO parts SELECT generate_series(1, 1999);
INSERT INTO near SELECT generate_series(1, 1000);
VACUUM (FREEZE, ANALYZE) far;
VACUUM (FREEZE, ANALYZE) parts;
VACUUM (FREEZE, ANALYZE) near;
CHECKPOINT;
));
my %path = map { split /\|/ } split /\n/, ask($node, q{SELECT oid::regclass, pg_relation_filepath(oid) FROM pg_class WHERE relname IN ('far', 'far_pkey', 'far_part', 'near')});
my $data = $node->data_dir;

# The answer, and the lines that were said beside it, of a new session.
sub asked
{
	my ($out, $messages) = answer_and_messages($node, @_);
	return ($out, split /\n/, $messages);
}

# Page cache counts are left out, since other programs need memory, too, and what is in shared buffers of
# catalogs, which each session reads.
my $counts = 'relation, fork, blocks, CASE WHEN relation::oid < 16384 THEN -1 ELSE shared_blocks END, os_blocks IS NULL';
my $everything = "SELECT $counts FROM pgbufprobe_residency() ORDER BY relation::text, fork";

# In any order; only rows that differ are shown.
sub same_rows
{
	my ($got, $expected, $what) = @_;
	my %rows;

	$rows{$_}++ for split /\n/, $got;
	$rows{$_}-- for split /\n/, $expected;
	return is_deeply([ grep { $rows{$_} > 0 } sort keys %rows ], [ grep { $rows{$_} < 0 } sort keys %rows ], $what);
}

sub unknown { return map { join '|', @$_, '', '', 't' } @_ }

# All relations but some are reported as before, and these are unknown. A warning names the first of their files.
sub is_unreadable
{
	my ($what, $before, $error, @unreadable) = @_;
	my ($relation, $fork) = @{ $unreadable[0] };
	my ($after, @said) = asked($everything);
	my %unreadable = map { ("$_->[0]|$_->[1]" => 1, $_->[2] ? ("$_->[0]|*" => 1) : ()) } @unreadable;
	my @others = grep {
		my ($one, $its_fork) = split /\|/;
		!$unreadable{"$one|$its_fork"} && !$unreadable{"$one|*"}
	} split /\n/, $before;

	same_rows($after, join("\n", @others, unknown(map { [ @$_[ 0, 1 ] ] } @unreadable)),
		"$what: NULLs for what cannot be read, and all other rows as before");
	my $file = qr/(?:@{[ join '|', map { quotemeta($path{ $_->[0] } . ($_->[1] eq 'main' ? '' : "_$_->[1]")) } @unreadable ]})/;
	like($said[0] // '', qr/^WARNING:  $error->{code}: could not open file "$file": $error->{text}$/,
		"$what: a warning names a file");
	is_deeply(
		[ @said[ 1 .. $#said ] ],
		[ @unreadable > 1 ? 'DETAIL:  Files of ' . (@unreadable - 1) . ' other relations could not be opened either.' : () ],
		"$what: and nothing else is said, but how many there are");

	for my $buckets (1, 10)
	{
		($after, @said) = asked("SELECT $counts FROM pgbufprobe_residency('$relation', $buckets) WHERE fork = '$fork'");
		is($after, (unknown([ $relation, $fork ]))[0], "$what: the relation alone, buckets: $buckets: NULLs");
		like("@said", qr/^WARNING:  $error->{code}: could not open file "$file": $error->{text}$/,
			"$what: the relation alone, buckets: $buckets: one warning");
	}

	($after, @said) = asked('SELECT database, shared_bytes, os_bytes, both_bytes, duplicate_fraction FROM pgbufprobe_double_buffering');
	is($after, 'postgres||||', "$what: the sums of the database are unknown");
	($after, @said) = asked(q{SELECT count(*), count(topic), count(answer), count(verdict) FROM pgbufprobe_checkup()});
	is("$after @said", '9|9|9|9 ', "$what: the checkup answers all questions and says nothing else");
	return fails_for_the_file($what, $error, $relation, $fork);
}

# What needs this file alone fails, and names it; what asks the pool does not need it.
sub fails_for_the_file
{
	my ($what, $error, $relation, $fork) = @_;
	my $file = $path{$relation} . ($fork eq 'main' ? '' : "_$fork");
	my $failure = qr/^ERROR:  $error->{code}: could not open file "\Q$file\E": $error->{text}$/;

	for my $call (
		"pgbufprobe_os_cache('$relation', '$fork')",
		"pgbufprobe_os_cache('$relation', '$fork', 'mincore')",
		"pgbufprobe_cache_map('$relation', '$fork')",
		"pgbufprobe_os_advise('$relation', 'willneed', '$fork')")
	{
		my ($out, @said) = asked("SELECT * FROM $call");
		like(join("\n", @said), $failure, "$what: $call: an error that names the file");
		is($out, '', "$what: $call: no rows");
	}
	my ($out, @said) = asked(
		"SELECT count(*), sum(buffers) > 0 FROM pgbufprobe_usagecount_histogram('$relation');
		 SELECT count(*) > 1 FROM pgbufprobe_relations();
		 SELECT pgbufprobe_snapshot() IS NOT NULL");
	is("$out @said", (split /\|/, ask($node, 'SELECT count(*) FROM pgbufprobe_usagecount_histogram()'))[0]
		  . "|t\nt\nt ", "$what: what is in shared buffers is still known");
	return;
}

my %denied = (code => '42501', text => 'Permission denied');
my %no_directory = (code => '42809', text => 'Not a directory');
my %is_directory = (code => '42809', text => 'Is a directory');
my %is_special = (code => 'XX000', text => 'No such device or address');
# Nobody can know which other forks these have.
my @in_space = map { [ $_, 'main', 'all forks' ] } 'far', 'far_pkey', 'far_part';

my ($before) = asked($everything);
like($before, qr/^far\|main\|\d+\|\d+\|f\n.*^near\|vm\|/ms, 'at first all is known');
unlike($before, qr/\|\|/, 'of each relation');

# ---------------------------------------------------------------------------
# A tablespace

chmod 0000, $directory or die $!;
is_unreadable('directory', $before, \%denied, @in_space);
my ($parts, @said) = asked(q{SELECT relation, blocks > 0, os_blocks IS NOT NULL FROM pgbufprobe_residency('parts') WHERE fork = 'main' ORDER BY 1});
is($parts, "far_part||f\nnear_part|t|t", 'directory: one partition is unknown, the other is not');
is(scalar(grep { /^WARNING/ } @said), 1, 'directory: which is one warning');
chmod 0700, $directory or die $!;
same_rows((asked($everything))[0], $before, 'directory: all is known again');

rename $directory, "$directory.kept" or die $!;
append_to_file($directory, "not a directory\n");
is_unreadable('plain file', $before, \%no_directory, @in_space);
unlink $directory or die $!;
rename "$directory.kept", $directory or die $!;
same_rows((asked($everything))[0], $before, 'plain file: all is known again');

# ---------------------------------------------------------------------------
# A file, and what may be in its place

my %made = (
	'unreadable file' => [ \%denied, sub { append_to_file($_[0], ''); chmod 0000, $_[0] } ],
	directory => [ \%is_directory, sub { mkdir $_[0] } ],
	FIFO => [ \%is_special, sub { mkfifo($_[0], 0600) } ],
	device => [ \%is_special, sub { symlink '/dev/zero', $_[0] } ],
	socket => [ \%is_special, sub { make_socket($_[0]) } ]);
for my $fork ('main', 'fsm')
{
	my $file = "$data/$path{near}" . ($fork eq 'main' ? '' : "_$fork");

	rename $file, "$file.kept" or die $!;
	for my $kind (sort keys %made)
	{
		my ($error, $make) = @{ $made{$kind} };
		$make->($file) or die $!;
		is_unreadable("$kind, $fork", $before, $error, [ 'near', $fork ]);
		-d $file ? rmdir $file : unlink $file or die $!;
	}
	rename "$file.kept", $file or die $!;
}
same_rows((asked($everything))[0], $before, 'file: all is known again');

# The second file of a relation, of which the first can be read: no count is known, nor is it when the page
# cache is unknown for another reason.
my $segment_bytes = ask($node, q{SELECT pg_size_bytes(current_setting('segment_size'))});
my $bytes = -s "$data/$path{near}";
truncate "$data/$path{near}", $segment_bytes or die $!;
append_to_file("$data/$path{near}.1", 'x');
chmod 0000, "$data/$path{near}.1" or die $!;
for my $os_cache ('on', 'off')
{
	$node->append_conf('postgresql.conf', "pgbufprobe.os_cache = $os_cache");
	$node->restart;
	my ($out) = asked("SELECT $counts FROM pgbufprobe_residency('near') WHERE fork = 'main'");
	is($out, (unknown([ 'near', 'main' ]))[0], "second file, os_cache $os_cache: NULLs");
}
chmod 0600, "$data/$path{near}.1" or die $!;
unlink "$data/$path{near}.1" or die $!;
truncate "$data/$path{near}", $bytes or die $!;

$node->stop;

# ---------------------------------------------------------------------------
# The worker, which looks up pages of both tables in the page cache

my $pages = 2 * $pool;
$node->append_conf(
	'postgresql.conf', qq(
shared_preload_libraries = pgbufprobe
pgbufprobe.os_cache = on
pgbufprobe.history_interval = 100ms
pgbufprobe.max_cpu_fraction = 1
log_statement = none
pgbufprobe.advice_memory = 256kB
));
# Its processes would open the files again.
$node->append_conf('postgresql.conf', 'io_method = sync') if $node->pg_version->major >= 18;
$node->start;
ask($node, one_row_a_page('far_pages', $pages, '', 'space') . one_row_a_page('near_pages', $pages));
ask($node, 'VACUUM FREEZE far_pages, near_pages; CHECKPOINT; SELECT pgbufprobe_history_reset()');

# Sessions that read pages of both at random, and so have opened both.
my $script = write_script($node, 'read', "\\set n random(0, $pages - 1)\n"
	  . join '', map { "SELECT FROM $_ WHERE ctid = '(:n,1)';\n" } 'far_pages', 'near_pages');
my $load = start_pgbench($node, 'load', 300, '-R', '100', '-c', '2', '-f', $script);
my $log_before = -s $node->logfile;
# Who is at the second table has opened the first.
$node->poll_query_until('postgres', q{SELECT count(*) = 2 FROM pg_stat_activity
	WHERE application_name = 'load' AND now() - backend_start > '1 s' AND query LIKE '%near!_pages%' ESCAPE '!'}) or die 'no load';
chmod 0000, $directory or die $!;

my $worker = ask($node, q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pgbufprobe sampler'});
SKIP:
{
	skip 'the kernel does not count reads', 1 unless bytes_read($worker);
	# Of pages that it looks up, it also reads one now and then. After an error it would pause for minutes.
	ok(!(grep { my ($before) = bytes_read($worker); !within(20, sub { (bytes_read($worker))[0] > $before }) } 1 .. 20),
		'the worker goes on with the pages of the other table');
}
is(ask($node, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'load'}), 2,
	'while both are read') or diag($load->{out});
$load->{run}->signal('TERM');
$load->{run}->finish;
is_deeply([ substr(slurp_file($node->logfile), $log_before) =~ /(.*could not open file.*)/g ], [], 'and logs no error');
chmod 0700, $directory or die $!;

$node->stop;
has_no_crash($node);

done_testing();
