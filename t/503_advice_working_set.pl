# Compares the estimates of src/advice_working_set.c with the true number of distinct pages of a trace.

use strict;
use warnings;

use Programs;

run_unit_test('working_set', 'src/advice_working_set.c');
