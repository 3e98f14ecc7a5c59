# Reads cache maps without the extension.

package CacheMap;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(read_map);

# From the hexadecimal digits of a map: the states of all blocks, each [usage count or undef, in the page cache].
sub read_map
{
	my ($hex) = @_;
	my $map = pack('H*', $hex);
	my ($magic, $version, $block_bytes, $fork, $flags, $nblocks) = unpack('a8 L<4 Q<', $map);
	my @bytes = unpack('C*', substr($map, 32, length($map) - 36));
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
		my $state = $number % 14;
		my $level = $state % 7;
		push @blocks, ([ $level ? $level - 1 : undef, $state >= 7 ? 1 : 0 ]) x (int($number / 14) + 1);
	}
	return { blocks => \@blocks, nblocks => $nblocks, block_bytes => $block_bytes, fork => $fork, os_known => $flags & 1 };
}

1;
