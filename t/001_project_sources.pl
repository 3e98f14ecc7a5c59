# Checks the sources without running them: the version is the same everywhere, and each layer keeps to itself.

use strict;
use warnings;
use JSON::PP;
use Test::More;

sub slurp
{
	my ($file) = @_;
	open my $handle, '<', $file or die "$file: $!";
	local $/;
	return scalar <$handle>;
}

# The control file says which version this is.
my ($version) = slurp('pgbufprobe.control') =~ /^default_version = '(.*)'$/m;
my $meta = decode_json(slurp('META.json'));
my ($newest_change) = slurp('CHANGELOG.md') =~ /^## (\S+)/m;

is($meta->{version}, "$version.0", 'META.json has the version of the control file');
is($meta->{provides}{pgbufprobe}{version}, "$version.0", 'so has what it provides');
is($meta->{provides}{pgbufprobe}{file}, "pgbufprobe--$version.sql", 'and names its script');
is($newest_change, $version, 'CHANGELOG.md begins with that version');
SKIP:
{
	skip 'an archive of a release has no debian/', 1 unless -e 'debian/changelog';
	like(slurp('debian/changelog'), qr/\A\S+ \(\Q$meta->{version}\E-/, 'the Debian package is of that version');
}

# The catalog does not show which marks are defaults, so the script is read.
my $script = slurp("pgbufprobe--$version.sql");
my @functions = $script =~ /^(CREATE FUNCTION .*?^LANGUAGE [^\n]+)/msg;
isnt(scalar @functions, 0, 'the script has functions');
for my $function (@functions)
{
	my ($name) = $function =~ /^CREATE FUNCTION (\w+)/;
	like($function, qr/\b(VOLATILE|STABLE|IMMUTABLE)\b/, "$name says its volatility");
	like($function, qr/\b(STRICT|CALLED ON NULL INPUT)\b/, "$name says what it does with NULL");
	like($function, qr/\bPARALLEL (SAFE|RESTRICTED|UNSAFE)\b/, "$name says its parallel safety");
	like(slurp('README.md'), qr/`$name\(/, "$name stands in the README");
}

# Differences between versions stand in one file; and each layer keeps to itself.
my @folders = qw(base os pool caches simulator statistics memory carry sampler answers);
my %code = map { $_ => slurp($_) =~ s{/\*.*?\*/}{}gsr } 'pgbufprobe.c', glob('src/*/*.[ch]');
is_deeply([ grep { !m{^(?:pgbufprobe\.c|src/(?:@{[ join '|', @folders ]})/[a-z]+\.[ch])$} } sort keys %code ],
	[], 'each file stands in one of the folders, and has a name of small letters');
is_deeply([ grep { $code{$_} =~ /PG_VERSION_NUM/ } sort keys %code ],
	['src/base/compat.h'], 'PG_VERSION_NUM stands in compat.h alone');
is_deeply([ grep { $code{$_} =~ /DefineCustom/ } sort keys %code ],
	['src/base/settings.c'], 'settings are defined in settings.c alone');

# The largest value of an enum that is saved stands beside its last one, and nowhere else.
my (%last, @not_last);
for my $file (sort keys %code)
{
	$last{$2} = $1 eq $3 or push @not_last, "$file: $2" while $code{$file} =~ /(\w+),\s*(PBP_LAST_\w+) = (\w+)\s*\}/g;
}
is_deeply(\@not_last, [], 'PBP_LAST_ is the last value of its enum');
my @bounds = $code{'src/sampler/savedvalues.c'} =~ /NUMBERS\(0, (PBP_LAST_\w+),/g;
cmp_ok(scalar @bounds, '>', 9, 'enums are saved');
is_deeply([ grep { !$last{$_} } @bounds ], [], 'and bounded by that');

# A folder includes only itself and the folders before it.
my %place = map { $folders[$_] => $_ } 0 .. $#folders;
my (@wrong_way, %includes);
for my $file (sort keys %code)
{
	my ($folder) = $file =~ m{^src/(\w+)/} or next;
	for my $included ($code{$file} =~ m{#include "((?:@{[ join '|', @folders ]})/\w+\.h)"}g)
	{
		push @wrong_way, "$file includes $included" if $place{ $included =~ s{/.*}{}r } > $place{$folder};
		$includes{ $file =~ s/\.[ch]$//r }{ "src/$included" =~ s/\.h$//r } = 1;
	}
}
is_deeply(\@wrong_way, [], 'no folder includes one after it');

# A file and its header are one. What includes nothing else that is left is no part of a circle.
delete $includes{$_}{$_} for keys %includes;
while (my @done = grep { !grep { $includes{$_} } keys %{ $includes{$_} } } keys %includes)
{
	delete @includes{@done};
}
is_deeply([ sort keys %includes ], [], 'no files include each other in a circle');

my @face = ('pgbufprobe.c', glob('src/base/{relations,sqlvalues,words}.[ch] src/*/*funcs.[ch] src/answers/*.[ch]'));
my %is_face = map { $_ => 1 } @face;
is_deeply(
	[ map { $code{$_} =~ /^.*\b(?:Datum\b(?! arg\b)|PG_FUNCTION_ARGS|HeapTuple).*$/mg } grep { !$is_face{$_} && $_ ne 'src/base/compat.h' } sort keys %code ],
	[], 'no engine sees a Datum or a tuple, but for the argument that the worker and a callback must take');
is_deeply([ grep { $code{$_} && $code{$_} =~ /GetBufferDescriptor|BufferDesc\b/ } @face ],
	[], 'the SQL face touches no descriptor');
for my $alone (glob('src/{simulator,statistics}/*.[ch]'))
{
	unlike($code{$alone}, qr/postgres\.h|palloc|ereport/, "$alone compiles without PostgreSQL");
}

# scripts/test passes over a name that is none.
is_deeply([ grep { !-e } split /\n/, slurp('t/longest') ], [], 'the tests that take longest are files');

# The first query stands with its output where a reader sees it.
my @lines = split /\n/, slurp('README.md');
my ($query) = grep { $lines[$_] =~ /pgbufprobe_\w+\(/ } 0 .. $#lines;
my ($output) = grep { $lines[$_] =~ /^-+\+-|^-\[ RECORD 1 \]|^\w+ +\| / } $query .. $#lines;
cmp_ok($query // 'inf', '<', 40, 'the first query stands in the first 40 lines of the README');
cmp_ok($output // 'inf', '<', 60, 'the first output in the first 60');
for my $command ('scripts/demo', 'scripts/test')
{
	ok((grep { /^\Q$command\E / } @lines[ 0 .. 14 ]), "$command stands in its first 15 lines");
}

done_testing();
