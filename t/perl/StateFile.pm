# Where values are in the file that survives a restart.

package StateFile;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw($state_hours $hour_values value_at);

# Hours, and then samples of the history, come last.
our $state_hours = 4376;
our $hour_values = 372;

# A value by its number, behind the stamp.
sub value_at { return 48 + 8 * $_[0] }

1;
