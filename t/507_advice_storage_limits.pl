# When storage reads are known, and how they follow the size of the page cache; and memory and time are bounded.

use strict;
use warnings;

use Programs;

run_unit_test('storage_limits', 't/unit/storage_model.c', 't/unit/advice_pool.c', 't/unit/advice_run.c', glob('src/advice*.c'));
