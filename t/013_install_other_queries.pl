# The queries of the laboratory and the benches, which few tests run, name functions and columns that there are: the server
# can plan them.

use strict;
use warnings;

use File::Find qw(find);
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# The values of quoted strings; adjacent ones are one, as in Python.
sub strings_in
{
	my ($text) = @_;
	my $string = qr/"""(?:.*?)"""|"(?:[^"\\]|\\.)*"/s;
	my @strings;

	while ($text =~ /($string(?:\s*$string)*)/g)
	{
		push @strings, join '', map { s/^"+|"+$//gr } $1 =~ /$string/g;
	}
	return @strings;
}

# Those that are queries of the extension as a whole, without a part that is known only when they run.
sub queries_in { return grep { /^\s*SELECT\b.*\bpgbufprobe_\w+/s && !/[{\$]/ } strings_in($_[0]) }

is_deeply([ queries_in(qq{x("SELECT a " "FROM pgbufprobe_b()"); y("SELECT 1"); z("""SELECT "c"\nFROM pgbufprobe_d(%s)""")}) ],
	[ 'SELECT a FROM pgbufprobe_b()', qq{SELECT "c"\nFROM pgbufprobe_d(%s)} ], 'queries are found');

my $node = start_server('main');
ask($node, 'CREATE EXTENSION pgbufprobe');

my @files = map { "bench/$_" } qw(advice carry-over scale split);
find({ no_chdir => 1, wanted => sub { push @files, $_ if /\.py$/ } }, 'lab/pgbufprobe_lab/measure');
my %found;
for my $file (sort @files)
{
	for my $query (queries_in(slurp_file($file)))
	{
		my ($status, undef, $error) = $node->psql('postgres', 'EXPLAIN ' . $query =~ s/%s/NULL/gr);
		is($status == 0 ? '' : $error, '', "$file: " . $query =~ s/\s+/ /gr);
		$found{ $file =~ s{/.*}{}r }++;
	}
}
cmp_ok($found{lab}, '>=', 9, 'the laboratory has queries');
cmp_ok($found{bench}, '>=', 4, 'the benches have queries');
$node->stop;

done_testing();
