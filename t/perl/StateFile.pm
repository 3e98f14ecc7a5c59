# The file that survives a restart: a stamp, PbpSavedState, hours, samples, the length of all, a checksum.
#
# Values have the names of the structs' members: stamp.copy, hours[1].seconds, samples[0].reads, and those of PbpSavedState, as
# report.rows[5].miss_ratio. Without a number, it is the first hour or sample.

package StateFile;

use strict;
use warnings;

use CacheMap;
use Exporter 'import';
use PostgreSQL::Test::Utils;
use Programs;

our @EXPORT = qw(state_file locate place_of value_of with_values whole_state copy_of_cluster $end_bytes);

sub state_file { return $_[0]->data_dir . '/pg_stat/pgbufprobe.stat' }

# The length and the checksum.
our $end_bytes = 12;

my %struct_of = (stamp => 'PbpFileStamp', hours => 'PbpHour', samples => 'PbpSample');

# By struct and member: the offset, and how it is packed. By struct: its bytes.
my %member;
my %bytes_of;

sub parsed
{
	my ($name) = @_;
	return $name =~ /^(stamp|hours|samples)(?:\[(\d+)\])?\.(.+)/ ? ($struct_of{$1}, $2 // 0, $3) : ('PbpSavedState', 0, $name);
}

# Finds these values, all at once: that takes a compiler.
sub locate
{
	my %wanted = map { my ($struct, undef, $member) = parsed($_); ("$struct $member" => [ $struct, $member ]) } @_;
	my @new = map { $wanted{$_} } grep { !$member{$_} } sort keys %wanted or return;
	my $source = PostgreSQL::Test::Utils::tempdir() . '/layout.c';

	append_to_file($source, join "\n", '#include "postgres.h"', '#include <stdio.h>', '#include "base/ownfile.h"', '#include "sampler/history.h"',
		'#undef printf',
		'#define PACKED(m) _Generic(m, double: "d", float: "f", int64: "q", uint64: "Q", int: "l", uint32: "L", bool: "C", uint8: "C")',
		'#define MEMBER(s, m) printf(#s " " #m " %zu %s\n", offsetof(s, m), PACKED(((s *) 0)->m));',
		'int main(void) {', (map { "MEMBER($_->[0], $_->[1])" } @new),
		(map { qq{printf("$_  %zu -\\n", sizeof($_));} } values %struct_of, 'PbpSavedState'), 'return 0; }', '');
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

# Where a value is in these contents, or an hour, or a sample, and how it is packed.
sub place_of
{
	my ($bytes, $name) = @_;
	my ($struct, $number, $member) = parsed($name);

	locate('nhours', $name);
	my ($at, $packed) = @{ $member{"$struct $member"} };
	$at += $bytes_of{PbpFileStamp} if $struct ne 'PbpFileStamp';
	$at += $bytes_of{PbpSavedState} if $struct =~ /Hour|Sample/;
	$at += $bytes_of{PbpHour} * value_of($bytes, 'nhours') if $struct eq 'PbpSample';
	return ($at + $number * $bytes_of{$struct}, $packed);
}

sub value_of
{
	my ($bytes, $name) = @_;
	my ($at, $packed) = place_of($bytes, $name);
	return (unpack $packed, substr $bytes, $at, 8)[0];
}

# The file with other values.
sub with_values
{
	my ($bytes, %values) = @_;

	locate(keys %values);
	for my $name (keys %values)
	{
		my ($at, $packed) = place_of($bytes, $name);
		my $value = pack $packed, $values{$name};
		substr $bytes, $at, length $value, $value;
	}
	return with_checksum(substr $bytes, 0, -4);
}

# A file of a stamp and of what comes between it and the length.
sub whole_state { return with_checksum($_[0] . pack 'q', $end_bytes + length $_[0]) }

# What the stamp has for the copy of the cluster that wrote the file.
sub copy_of_cluster { return value_of($_[0], 'stamp.copy') }

1;
