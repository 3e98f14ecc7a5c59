# Where values are in the file that survives a restart.

package StateFile;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw($state_hours $hour_values value_at with_values copy_of_cluster);

# Hours, and then samples of the history, come last.
our $state_hours = 4378;
our $hour_values = 373;

# A value by its number, behind the stamp.
sub value_at { return 48 + 8 * $_[0] }

# The same contents with other values, each packed, by their numbers. Without the checksum.
sub with_values
{
	my ($bytes, %values) = @_;

	substr $bytes, value_at($_), 8, $values{$_} for keys %values;
	return substr $bytes, 0, -4;
}

# What the stamp has for the copy of the cluster that wrote the file.
sub copy_of_cluster { return unpack 'Q', substr $_[0], 32, 8 }

1;
