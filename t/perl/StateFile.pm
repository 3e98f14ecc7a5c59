# The file that survives a restart: a stamp, PbpResults, the length of both, a checksum.
#
# Values have the names of the structs' members: stamp.copy, hours[1].seconds, and others of PbpResults. As in messages, its members
# "advice" and "fine" are called report and samples. Without a number, it is the first hour or sample.

package StateFile;

use strict;
use warnings;

use CacheMap;
use Exporter 'import';
use PostgreSQL::Test::Utils;
use Programs;

our @EXPORT = qw(state_file locate place_of value_of with_values copy_of_cluster);

sub state_file { return $_[0]->data_dir . '/pg_stat/pgbufprobe.stat' }

my %array_of = (hours => [ 'hours', 'PbpHour' ], samples => [ 'fine', 'PbpSample' ]);

# By struct and member: the offset, and how it is packed. By struct: its bytes.
my %member;
my %bytes_of;

# The struct, its member, perhaps of the first item of an array, the number of the item, and its struct.
sub parsed
{
	my ($name) = @_;
	return ('PbpFileStamp', $1, 0, 'PbpHour') if $name =~ /^stamp\.(.+)/;
	return ('PbpResults', $name =~ s/^report/advice/r, 0, 'PbpHour') if $name !~ /^(hours|samples)(?:\[(\d+)\])?\.(.+)/;
	return ('PbpResults', "$array_of{$1}[0]\[0].$3", $2 // 0, $array_of{$1}[1]);
}

# Finds these values, all at once: that takes a compiler.
sub locate
{
	my %wanted = map { my ($struct, $member) = parsed($_); ("$struct $member" => [ $struct, $member ]) } @_;
	my @new = map { $wanted{$_} } grep { !$member{$_} } sort keys %wanted or return;
	my $source = PostgreSQL::Test::Utils::tempdir() . '/layout.c';

	append_to_file($source, join "\n", '#include "postgres.h"', '#include <stdio.h>', '#include "base/ownfile.h"', '#include "sampler/history.h"',
		'#undef printf',
		'#define PACKED(m) _Generic(m, double: "d", float: "f", int64: "q", uint64: "Q", int: "l", uint32: "L", bool: "C", uint8: "C")',
		'#define MEMBER(s, m) printf(#s " " #m " %zu %s\n", offsetof(s, m), PACKED(((s *) 0)->m));',
		'int main(void) {', (map { "MEMBER($_->[0], $_->[1])" } @new),
		(map { qq{printf("$_  %zu -\\n", sizeof($_));} } qw(PbpFileStamp PbpHour PbpSample)), 'return 0; }', '');
	chomp(my $include = `pg_config --includedir-server`);
	my $program = build_from($source, '-std=gnu11', '-Isrc', '-isystem', $include);
	for (split /\n/, `$program`)
	{
		my ($struct, $member, $at, $packed) = split / /;
		$member eq '' ? $bytes_of{$struct} = $at : ($member{"$struct $member"} = [ $at, $packed ]);
	}
	unlink $source;
	return;
}

# Where a value is in a file, and how it is packed.
sub place_of
{
	my ($name) = @_;
	my ($struct, $member, $number, $item) = parsed($name);

	locate($name);
	my ($at, $packed) = @{ $member{"$struct $member"} };
	$at += $bytes_of{PbpFileStamp} if $struct ne 'PbpFileStamp';
	return ($at + $number * $bytes_of{$item}, $packed);
}

sub value_of
{
	my ($bytes, $name) = @_;
	my ($at, $packed) = place_of($name);
	return (unpack $packed, substr $bytes, $at, 8)[0];
}

# The file with other values.
sub with_values
{
	my ($bytes, %values) = @_;

	locate(keys %values);
	for my $name (keys %values)
	{
		my ($at, $packed) = place_of($name);
		my $value = pack $packed, $values{$name};
		substr $bytes, $at, length $value, $value;
	}
	return with_checksum(substr $bytes, 0, -4);
}

# What the stamp has for the copy of the cluster that wrote the file.
sub copy_of_cluster { return value_of($_[0], 'stamp.copy') }

1;
