# From tables of estimates to the size that src/decision.c advises.

use strict;
use warnings;

use Programs;

run_unit_test('size_decision', 't/unit/advice_pool.c', 't/unit/advice_run.c', 'src/decision.c', glob('src/advice*.c'));
