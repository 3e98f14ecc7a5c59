# Reads and writes cache maps without the extension, and what other files of it share with them.

package CacheMap;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw($map_states read_map write_map with_checksum changed);

# A level of 7, and what the page cache has: nothing, the block, or the block that it also had some time before.
our $map_states = 21;

my @crc_table = map {
	my $crc = $_;
	$crc = $crc >> 1 ^ ($crc & 1 ? 0x82F63B78 : 0) for 1 .. 8;
	$crc;
} 0 .. 255;

# From the hexadecimal digits of a map: the states of all blocks, each [usage count or undef, 1 if the page cache has it or 2 if it
# also had it before].
sub read_map
{
	my ($hex) = @_;
	my $map = pack('H*', $hex);
	my ($magic, $version, $block_bytes, $fork, $flags, $nblocks, $system, $database, $relation) = unpack('a8 L<4 Q<2 L<2', $map);
	my @bytes = unpack('C*', substr($map, 48, length($map) - 52));
	my @blocks;

	$magic eq 'pbpcache' && $version == 1 or die 'no map';
	while (@bytes)
	{
		my ($number, $shift, $byte) = (0, 0);
		do
		{
			$byte = shift @bytes;
			$number |= ($byte & 0x7F) << $shift;
			$shift += 7;
		} while ($byte & 0x80);
		my $state = $number % $map_states;
		my $level = $state % 7;
		push @blocks, ([ $level ? $level - 1 : undef, int($state / 7) ]) x (int($number / $map_states) + 1);
	}
	return {
		blocks => \@blocks, nblocks => $nblocks, block_bytes => $block_bytes, fork => $fork, os_known => $flags & 1,
		system => $system, database => $database, relation => $relation
	};
}

# Other bytes from this offset on.
sub changed
{
	my ($bytes, $offset, $replacement) = @_;
	substr $bytes, $offset, length $replacement, $replacement;
	return $bytes;
}

# Appends the checksum, CRC-32C, to the other bytes of a file.
sub with_checksum
{
	my ($bytes) = @_;
	my $crc = 0xFFFFFFFF;

	$crc = $crc >> 8 ^ $crc_table[ ($crc ^ $_) & 0xFF ] for unpack 'C*', $bytes;
	return $bytes . pack('L<', $crc ^ 0xFFFFFFFF);
}

# A map with the header of one that was read, and runs of its own, each [number of blocks, state].
sub write_map
{
	my ($header, @runs) = @_;
	my ($bytes, $nblocks) = ('', 0);

	for my $run (@runs)
	{
		my $number = ($run->[0] - 1) * $map_states + $run->[1];
		$nblocks += $run->[0];
		for (; $number > 0x7F; $number >>= 7)
		{
			$bytes .= chr($number & 0x7F | 0x80);
		}
		$bytes .= chr $number;
	}
	return with_checksum(pack('a8 L<4 Q<2 L<2', 'pbpcache', 1, @$header{qw(block_bytes fork os_known)}, $nblocks, @$header{qw(system database relation)}) . $bytes);
}

1;
