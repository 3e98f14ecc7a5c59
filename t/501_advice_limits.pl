# What the advice does not know, it does not say; and its memory and time are bounded.

use strict;
use warnings;

use Programs;

run_unit_test('advice_limits', 't/unit/advice_pool.c', 't/unit/advice_run.c', glob('src/advice*.c'));
