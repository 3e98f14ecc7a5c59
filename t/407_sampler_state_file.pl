# The file that survives a restart is refused if it is damaged in any way, or belongs elsewhere.

use strict;
use warnings;

use Programs;

run_unit_test('state_file', 'src/stateformat.c');
