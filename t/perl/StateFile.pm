# Where values are in the file that survives a restart.

package StateFile;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw($state_hours $hour_values value_at with_checksum);

# Hours, and then samples of the history, come last.
our $state_hours = 4363;
our $hour_values = 372;

# A value by its number, behind the stamp.
sub value_at { return 48 + 8 * $_[0] }

# CRC-32C, as the server computes it.
my @table = map { my $crc = $_; $crc = $crc & 1 ? $crc >> 1 ^ 0x82F63B78 : $crc >> 1 for 1 .. 8; $crc } 0 .. 255;

sub with_checksum
{
	my ($bytes) = @_;
	my $crc = 0xFFFFFFFF;

	$crc = $table[ ($crc ^ $_) & 0xFF ] ^ $crc >> 8 for unpack 'C*', $bytes;
	return $bytes . pack 'L', $crc ^ 0xFFFFFFFF;
}

1;
